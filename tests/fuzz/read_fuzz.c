/*
 * read_fuzz.c - reads any bytes with the tool's trace reader.
 *
 * For any input, the reader must terminate without a crash or a sanitizer report. The spans and the
 * texts before them must together equal the whole input, byte for byte. All edges must be
 * printable, and no call may end before its source. The seeds are the files of corpus/read. With
 * libFuzzer, name that folder:
 *   build/fuzz/tests/fuzz/read_fuzz /tmp/found tests/fuzz/corpus/read
 *
 * Threads: one, and the helper that decompresses. Memory: the input, and the reader's.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"
#include "corpus.h"
#include "edges/edges.h"
#include "edges/print.h"
#include "edges/wait_blame.h"
#include "fuzz.h"
#include "read/trace_events.h"
#include "read/trace_file.h"
#include "sync/edge.h"

struct source {
    const uint8_t *data;
    size_t size, at, piece;
};

static size_t give(void *user, void *to, size_t room)
{
    struct source *s = user;
    size_t n = s->size - s->at;

    if (n > room)
        n = room;
    if (n > s->piece)
        n = s->piece;
    memcpy(to, s->data + s->at, n);
    s->at += n;
    return n;
}

static FILE *nowhere;
static struct sl_wait_blame *blame;

static void print_edges(void *user, const struct sl_edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sl_edge_where where = sl_edges_where(user, &edges[i]);

        if (!edges[i].at_start) /* old files have times in whole microseconds */
            assert(edges[i].source.end_ns <= edges[i].dst_end_ns + 1000);
        sl_edges_print_json(nowhere, NULL, user, &edges[i], &where);
        sl_edges_print_text(nowhere, user, &edges[i], &where);
        sl_wait_blame_edge(blame, &edges[i]);
        sl_wait_blame_wait(blame, &edges[i], &where);
    }
}

static void count_wait(void *user, const struct sl_edge *edge, const struct sl_edge_where *where)
{
    assert(edge->wait_ns == 0 || !edge->at_start || where->spent_on == edge->source.name);
    ++*(uint64_t *)user;
}

/* Finds the edges of the events that were read. */
static void find_edges(struct sl_trace_events *events)
{
    struct sl_edges_options opt = {
        .foreign = 1, .shapes = events->shapes, .sink = print_edges, .sink_user = events};
    struct sl_edges *engine;
    uint64_t waits = 0;
    struct sl_event ev;

    if (sl_trace_events_end(events) != 0)
        abort();
    opt.recording_since_ns = events->first_ns;
    if (sl_edges_create(&engine, &opt) != 0 || sl_wait_blame_create(&blame) != 0)
        abort();
    while (sl_trace_events_next(events, &ev) == 1) {
        sl_wait_blame_event(blame, &ev);
        sl_edges_event(engine, &ev);
    }
    sl_edges_flush(engine);
    if (sl_wait_blame_end(blame, count_wait, &waits) != 0)
        abort();
    sl_wait_blame_destroy(blame);
    sl_edges_destroy(engine);
    sl_trace_events_destroy(events);
}

/* Reads and checks a trace to its end and discards the reports. `text` is NULL if the content is
 * not known. */
static void check_all(struct sl_trace *t, const uint8_t *text)
{
    struct sl_trace_events *events;
    struct sl_input_status status;
    struct sl_trace_item *item;
    struct sl_check *c;
    uint64_t seen = 0;
    int more;

    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!nowhere || sl_check_create(&c) != 0 || sl_trace_events_create(&events) != 0)
        abort();
    do {
        more = sl_trace_next(t, &item);
        assert(item->span.offset - item->span.lead == seen);
        seen += item->span.lead + item->span.size;
        if (text)
            assert(memcmp(item->span.text - item->span.lead,
                          text + seen - item->span.size - item->span.lead,
                          item->span.lead + item->span.size) == 0);
        if (more)
            sl_check_item(c, t, item);
        if (more && item->span.kind == SL_SPAN_EVENT && item->status == 0)
            sl_trace_events_row(events, &item->row);
    } while (more);
    sl_trace_get_status(t, &status);
    sl_check_end(c, &item->span, &status);
    sl_check_print_text(nowhere, "fuzz", c, &status);
    sl_check_print_verbose(nowhere, "fuzz", c, &status);
    sl_check_print_json(nowhere, "fuzz", c, &status);
    sl_check_destroy(c);
    sl_trace_close(t);
    find_edges(events);
}

/* Passes the bytes as a file, so that decompression is tested. */
static void check_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct sl_trace *t;
    char path[64], why[256];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sl_trace_open(&t, path, why, sizeof(why)) == 0)
        check_all(t, NULL);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = {data, size, 0, 1 + size % 97};
    struct sl_trace *t;

    if (size >= 4 && (data[0] == 0x28 || data[0] == 0x1f)) {
        check_file(data, size);
        return 0;
    }
    if (sl_trace_open_reader(&t, give, &source) != 0)
        abort();
    check_all(t, data);
    return 0;
}

size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    return corpus_seed(seed, data, cap);
}
