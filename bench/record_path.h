/*
 * record_path.h - the path of CUPTI records from a buffer to text. It connects the runtime's
 * modules in the same way as the runtime.
 *
 * Threads: any, one at a time. Memory: path_free() frees the memory of path_init() and
 * path_output(), and p->edges. The ring and the writer belong to the caller.
 */
#ifndef BENCH_RECORD_PATH_H
#define BENCH_RECORD_PATH_H

#include "collect/cupti/decode.h"
#include "event/assemble.h"
#include "event/ring.h"
#include "mix.h"
#include "must.h"
#include "trace.h"
#include "write/edge_rows.h"
#include "write/kineto/output.h"
#include "write/writer.h"

enum {
    EVENTS_MAX = 65536 /* maximum number of events in one buffer */
};

struct path {
    struct trace trace;
    struct sl_decode *decode;
    struct sl_assemble *assemble;
    struct sl_folder folder;
    struct sl_outputs outputs;
    struct sl_edge_rows *edges; /* NULL if no edges are written */

    struct sl_event *decoded, *assembled; /* in the part `stages`: the events between two stages */
    size_t decoded_count, assembled_count;
    struct sl_ring *ring; /* in the paced part: the ring that receives the assembled events */
    struct sl_writer *writer;
};

static inline void keep_decoded(void *user, const struct sl_event *ev)
{
    struct path *p = user;

    p->decoded[p->decoded_count++] = *ev;
}

static inline int keep_assembled(void *user, const struct sl_event *ev)
{
    struct path *p = user;

    p->assembled[p->assembled_count++] = *ev;
    return 0;
}

static inline int push_assembled(void *user, const struct sl_event *ev)
{
    return sl_ring_push(((struct path *)user)->ring, ev);
}

/* If `ring` is not NULL, assembled events are pushed to the ring. If it is NULL, the path keeps the
 * events. */
static inline void path_init(struct path *p, enum sl_detail detail, struct sl_ring *ring)
{
    struct sl_decode_options decode = {.version = MIX_CUPTI_VERSION};
    struct sl_assemble_options assemble = {.flows = detail != SL_DETAIL_LEAN, .sink_user = p};

    memset(p, 0, sizeof(*p));
    p->ring = ring;
    p->decoded = calloc(EVENTS_MAX, sizeof(*p->decoded));
    p->assembled = calloc(2 * EVENTS_MAX, sizeof(*p->assembled));
    trace_open(&p->trace, detail);
    decode.intern = p->trace.intern;
    decode.shapes = p->trace.shapes;
    decode.devices = p->trace.devices;
    must(sl_decode_create(&p->decode, &decode), "decode");
    assemble.sink = ring ? push_assembled : keep_assembled;
    must(sl_assemble_create(&p->assemble, &assemble), "assemble");
}

/* Opens the file of a recording window in the same way as the runtime. */
static inline void path_output(struct path *p, enum sl_detail detail, int level, const char *folder)
{
    const struct sl_window_file_options file = {
        .folder = &p->folder, .compression = SL_COMPRESS_ZSTD, .level = level};
    const struct sl_kineto_options opt = trace_options(&p->trace, detail);
    struct sl_output output;

    must(sl_folder_open(&p->folder, folder, 0600), folder);
    must(sl_kineto_output_create(&output, &opt, file), "output");
    sl_outputs_add(&p->outputs, &output);
    sl_outputs_events(&p->outputs, &trace_device, 1);
}

static inline void path_free(struct path *p)
{
    sl_edge_rows_destroy(p->edges);
    sl_outputs_destroy(&p->outputs);
    sl_assemble_destroy(p->assemble);
    sl_decode_destroy(p->decode);
    trace_close(&p->trace);
    free(p->assembled);
    free(p->decoded);
}

static inline void run_decode(struct path *p, const uint8_t *buffer, size_t valid)
{
    p->decoded_count = 0;
    sl_decode_buffer(p->decode, buffer, valid, keep_decoded, p);
}

static inline void run_assemble(struct path *p, uint64_t now_ns)
{
    p->assembled_count = 0;
    for (size_t i = 0; i < p->decoded_count; i++)
        sl_assemble_event(p->assemble, &p->decoded[i], now_ns);
    sl_assemble_tick(p->assemble, now_ns);
}

#endif
