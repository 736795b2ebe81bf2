/*
 * rows_test.c - gives events and edges to the Kineto writer, and prints the rows of the file. Each
 * case in cases/ is a separate test (cases/README.md describes the format).
 */
#include "unit/cases.h"
#include "unit/write/kineto/fixture.h"

#include <ctype.h>

#include "event/op_detail.h"
#include "event/ops.h"
#include "event/pattern.h"
#include "sync/edge.h"

/* ---- words of a line, and the members that they set ---- */

struct field {
    const char *word;
    size_t at, size;
};

#define EVENT(word, member)                                                                        \
    {                                                                                              \
        word, offsetof(struct sl_event, member), sizeof(((struct sl_event *)0)->member)            \
    }
#define SHAPE(word, member)                                                                        \
    {                                                                                              \
        word, offsetof(struct sl_shape, member), sizeof(uint32_t)                                  \
    }
#define EDGE(word, member)                                                                         \
    {                                                                                              \
        word, offsetof(struct sl_edge, member), sizeof(((struct sl_edge *)0)->member)              \
    }

static const struct field event_fields[] = {
    EVENT("id", correlation),
    EVENT("thread", thread),
    EVENT("graph", graph),
    EVENT("device", device),
    EVENT("context", context),
    EVENT("stream", stream),
    EVENT("bytes", u.op.bytes),
    EVENT("node", u.op.graph_node),
    EVENT("cbid", u.call.cbid),
    EVENT("result", u.call.result),
    EVENT("operator", u.call.op),
    EVENT("sync", u.sync.type),
    EVENT("event", u.sync.event_id),
    EVENT("event_sync", u.sync.event_sync_id),
    EVENT("record_function", u.row.record_function),
    EVENT("sequence", u.row.sequence),
    EVENT("value", u.note.value),
    EVENT("stream_flags", u.meta.flags),
    EVENT("forward_thread", forward_thread),
    EVENT("value_type", value_type),
    EVENT("index", u.meta.index),
    EVENT("head_thread", u.flow.head_thread),
};

static const struct field shape_fields[] = {
    SHAPE("grid", grid),
    SHAPE("block", block),
    SHAPE("cluster", cluster),
    SHAPE("registers", registers),
    SHAPE("static", static_shared),
    SHAPE("dynamic", dynamic_shared),
    SHAPE("priority", priority),
    SHAPE("copy", copy_kind),
    SHAPE("from", src_memory),
    SHAPE("to", dst_memory),
    SHAPE("peer", is_peer),
    SHAPE("from_device", src_device),
    SHAPE("from_context", src_context),
    SHAPE("to_device", dst_device),
    SHAPE("to_context", dst_context),
};

static const struct field edge_fields[] = {
    EDGE("at_start", at_start),
    EDGE("released", released),
    EDGE("wait", wait_ns),
    EDGE("wake", wake_ns),
    EDGE("source", source.correlation),
    EDGE("source_stream", source.stream),
    EDGE("source_node", source.graph_node),
    EDGE("to", dst_correlation),
    EDGE("to_thread", dst_thread),
    EDGE("to_cbid", dst_cbid),
    EDGE("to_domain", dst_domain),
    EDGE("to_stream", dst_op.stream),
    EDGE("to_device", dst_op.device),
};

static const struct {
    const char *word;
    unsigned flag;
} flags[] = {
    {"first", SL_EVF_FLOW_FIRST},    {"still_running", SL_EVF_STILL_RUNNING},
    {"cut_start", SL_EVF_CUT_START}, {"cut_end", SL_EVF_CUT_END},
    {"begun", SL_EVF_BEGUN},         {"async", SL_EVF_ASYNC},
};

/* Sets the member with this name, if the event has such a member. Numbers between commas fill an
 * array. */
static int set_field(const struct field *fields, size_t count, void *to, const char *word,
                     const char *value)
{
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)to + fields[i].at;

        if (strcmp(fields[i].word, word) != 0)
            continue;
        for (;; value++) {
            uint64_t number = strtoull(value, (char **)&value, 0);

            memcpy(at, &number, fields[i].size); /* little-endian */
            at += fields[i].size;
            if (*value != ',')
                return 1;
        }
    }
    return 0;
}

#define SET(fields, to, word, value)                                                               \
    set_field(fields, sizeof(fields) / sizeof((fields)[0]), to, word, value)

/* Splits "word", "word=value" or "word='a text'" from the beginning of the line. */
static int next_word(char **line, char **word, char **value)
{
    char *at = *line + strspn(*line, " "), *end;

    if (!*at)
        return 0;
    *word = at;
    at += strcspn(at, " =");
    *value = at;
    if (*at == '=') {
        *at++ = '\0';
        end = *at == '\'' ? strchr(at + 1, '\'') : at + strcspn(at, " ");
        *value = at + (*at == '\'');
        assert_non_null(end);
    } else {
        end = at;
    }
    *line = end + (*end != '\0');
    *end = '\0';
    return 1;
}

/* ---- texts, interned as in an event ---- */

static uint32_t pattern(const char *written, uint64_t *numbers)
{
    uint32_t number[SL_PATTERN_NUMBERS] = {0};
    char made[256];
    size_t length = sl_pattern_make(made, written, strlen(written), number);

    *numbers = sl_pattern_pack(number);
    return sl_intern_put(f.intern, made, length);
}

static uint32_t detail(const char *members)
{
    static const uint8_t inputs[] = {7}; /* SL_OP_INPUT_FALSE */
    const struct sl_op_detail d = {members, strlen(members), inputs, sizeof(inputs), 0};
    char packed[512];

    return sl_intern_put(f.intern, packed, sl_op_detail_pack(packed, &d));
}

static int set_text(struct sl_event *ev, struct sl_op_place *place, const char *word,
                    const char *written)
{
    int is_note = ev->kind == SL_EV_NVTX_RANGE || ev->kind == SL_EV_NVTX_RANGE_MARK ||
                  ev->kind == SL_EV_NVTX_RANGE_GPU;

    if (strcmp(word, "name") == 0)
        ev->name = is_note ? pattern(written, &ev->name_numbers) : intern(written);
    else if (strcmp(word, "members") == 0)
        ev->more = intern(written);
    else if (strcmp(word, "payload") == 0)
        ev->payload = pattern(written, &ev->u.note.payload_numbers);
    else if (strcmp(word, "detail") == 0)
        ev->inputs = detail(written);
    else if (strcmp(word, "line") == 0)
        place->line = intern(written);
    else if (strcmp(word, "collective") == 0)
        place->collective = detail(written);
    else
        return 0;
    return 1;
}

/* ---- the lines of a case ---- */

static const struct {
    const char *word;
    enum sl_event_kind kind;
    const char *usual; /* members that lines of this kind may leave out */
} kinds[] = {
    {"runtime", SL_EV_RUNTIME, "thread=4300"},
    {"driver", SL_EV_DRIVER, "thread=4300"},
    {"kernel", SL_EV_KERNEL, "context=1 stream=7"},
    {"memcpy", SL_EV_MEMCPY, "context=1 stream=7"},
    {"memset", SL_EV_MEMSET, "context=1 stream=7"},
    {"graph_launch", SL_EV_GRAPH, "context=1 stream=7"},
    {"sync", SL_EV_SYNC, "context=1 stream=7"},
    {"event_record", SL_EV_CUDA_EVENT, "context=1 stream=7"},
    {"flow", SL_EV_FLOW, "context=1 stream=7 thread=4300"},
    {"flow_back", SL_EV_FLOW_BACK, "thread=10 head_thread=20"},
    {"op", SL_EV_CPU_OP, "thread=77 sequence=-1"},
    {"range", SL_EV_NVTX_RANGE, "thread=4300"},
    {"mark", SL_EV_NVTX_RANGE_MARK, "thread=4300"},
    {"gpu_range", SL_EV_NVTX_RANGE_GPU, ""},
    {"overhead", SL_EV_OVERHEAD, "thread=4300"},
    {"process_name", SL_EV_META_PROCESS, ""},
    {"thread_name", SL_EV_META_THREAD, "thread=4300"},
    {"context_name", SL_EV_META_CONTEXT, "context=1"},
    {"stream_name", SL_EV_META_STREAM, "context=1 stream=7"},
    {"event_name", SL_EV_META_EVENT, ""},
    {"device", SL_EV_META_DEVICE, ""},
};

/* Times are microseconds after BASE. */
static int set_times(const char *word, uint64_t *start_ns, uint64_t *end_ns)
{
    double start, end;

    if (!isdigit(*word) || sscanf(word, "%lf-%lf", &start, &end) != 2)
        return 0;
    *start_ns = BASE + (uint64_t)(start * 1000 + 0.5);
    *end_ns = BASE + (uint64_t)(end * 1000 + 0.5);
    return 1;
}

static void read_event(struct sl_event *ev, char *words)
{
    struct sl_op_place place = {0};
    struct sl_shape shape = {0};
    char *word, *value;
    int has_shape = 0;

    while (next_word(&words, &word, &value)) {
        int known = set_times(word, &ev->start_ns, &ev->end_ns) ||
                    set_text(ev, &place, word, value) || SET(event_fields, ev, word, value);

        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            if (strcmp(flags[i].word, word) == 0) {
                ev->flags |= flags[i].flag;
                known = 1;
            }
        if (!known) {
            has_shape = 1;
            if (!SET(shape_fields, &shape, word, value))
                fail_msg("what is %s?", word);
        }
    }
    if (ev->kind == SL_EV_FLOW || ev->kind == SL_EV_FLOW_BACK) {
        ev->u.flow.head_ns = ev->end_ns;
        ev->end_ns = 0;
    }
    if (place.line || place.collective)
        ev->place = sl_intern_put(f.intern, (const char *)&place, sizeof(place));
    if (!has_shape)
        return;
    shape.kind = ev->kind;
    shape.name = ev->name;
    shape.device = ev->device;
    shape.context = ev->context;
    shape.stream = ev->stream;
    ev->shape = sl_shape_put(f.shapes, &shape);
}

static struct sl_edge read_edge(char *words)
{
    struct sl_edge edge = {.source = {.context = 1, .stream = 7, .kind = SL_EV_KERNEL}};
    char *word, *value;

    while (next_word(&words, &word, &value)) {
        if (strcmp(word, "kind") == 0) {
            while (strcmp(sl_edge_kind_name((enum sl_edge_kind)edge.kind), value) != 0)
                edge.kind++;
        } else if (strcmp(word, "basis") == 0) {
            while (strcmp(sl_edge_basis_name((enum sl_edge_basis)edge.basis), value) != 0)
                edge.basis++;
        } else if (strcmp(word, "name") == 0) {
            edge.source.name = intern(value);
        } else if (!set_times(word, edge.source.end_ns ? &edge.dst_start_ns : &edge.source.start_ns,
                              edge.source.end_ns ? &edge.dst_end_ns : &edge.source.end_ns) &&
                   !SET(edge_fields, &edge, word, value)) {
            fail_msg("what is %s?", word);
        }
    }
    if (edge.at_start) {
        struct sl_edge_op to = edge.source;

        to.stream = edge.dst_op.stream;
        to.device = edge.dst_op.device;
        edge.dst_op = to;
    }
    return edge;
}

static int is_open, with_names;

static void say_rows(void)
{
    const char *text, *line, *at;
    const void *data;
    size_t size;

    assert_int_equal(sl_kineto_end(f.kineto, OPENED + 1000000000), 0);
    is_open = 0;
    sl_sink_memory_get(f.sink, &data, &size);
    json_free(f.trace);
    f.trace = json_parse(data, size); /* every file is valid */
    assert_non_null(f.trace);
    text = data;
    at = strstr(text, "\"traceEvents\":[\n") + strlen("\"traceEvents\":[\n");
    for (line = at; *line == '{'; line += strcspn(line, "\n") + 1) {
        int length = (int)strcspn(line, "\n") - (line[strcspn(line, "\n") - 1] == ',');
        int is_name = memmem(line, (size_t)length, "\"name\":\"process_", 16) ||
                      memmem(line, (size_t)length, "\"name\":\"thread_", 15);

        if ((!is_name || with_names) && !memmem(line, (size_t)length, "Record Window End", 17))
            say("%.*s\n", length, line);
    }
    assert_int_equal(f.sink->close(f.sink, 1), 0);
}

static void run_line(char *line)
{
    static struct sl_edge waited[4];
    static size_t edges;
    char *words = line + strcspn(line, " ");
    struct sl_event ev = {0};
    int only_expect = strncmp(line, "expect ", 7) == 0;
    unsigned number;
    char usual[64];

    if (only_expect)
        line = words + 1;
    words = line + strcspn(line, " ");

    if (sscanf(line, "complete %u", &number) == 1) {
        const struct sl_output_progress progress = {.rows_ns = BASE + 1000 * number};

        assert_int_equal(sl_kineto_complete(f.kineto, &progress), 0);
        return;
    }
    if (sscanf(line, "written %u", &number) == 1) {
        assert_int_equal(sl_kineto_written(f.kineto), number);
        return;
    }
    words += *words == ' ';
    if (strncmp(line, "edge ", 5) == 0 || strncmp(line, "arrow ", 6) == 0) {
        struct sl_edge edge = read_edge(words);

        assert_int_equal(sl_kineto_edge(f.kineto, &edge, 1, *line == 'a'), 0);
        return;
    }
    if (strncmp(line, "waited ", 7) == 0) {
        waited[edges++] = read_edge(words);
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(kinds[i].word, line, strlen(kinds[i].word)) == 0 &&
            line[strlen(kinds[i].word)] == ' ') {
            ev.kind = (uint8_t)kinds[i].kind;
            strcpy(usual, kinds[i].usual);
            read_event(&ev, usual);
        }
    if (!ev.kind)
        fail_msg("not a row: %s", line);
    read_event(&ev, words);
    if (only_expect)
        sl_kineto_expect(f.kineto, &ev);
    else if (edges)
        assert_int_equal(
            sl_kineto_call(f.kineto, &ev,
                           &(struct sl_output_edges){.edge = waited, .count = edges, .by = waited}),
            0);
    else
        put(ev);
    edges = 0;
}

static void run(const char *given)
{
    enum sl_detail detail_wanted = SL_DETAIL_DEFAULT;
    char line[1024];

    is_open = with_names = 0;
    if (strncmp(given, "lean\n", 5) == 0)
        detail_wanted = SL_DETAIL_LEAN;
    if (strncmp(given, "full\n", 5) == 0)
        detail_wanted = SL_DETAIL_FULL;
    given += detail_wanted == SL_DETAIL_DEFAULT ? 0 : 5;
    sl_kineto_destroy(f.kineto);
    f.details = f.intern;
    make_kineto(detail_wanted, 0);
    if (!strstr(given, "file\n"))
        begin();
    is_open = !strstr(given, "file\n");
    while (next_line(&given, line, sizeof(line))) {
        if (strcmp(line, "with names") == 0) {
            with_names = 1;
        } else if (strcmp(line, "file") == 0) {
            if (is_open)
                say_rows();
            if (said_size)
                say("next file\n");
            begin();
            is_open = 1;
        } else {
            run_line(line);
        }
    }
    say_rows();
}

int main(void)
{
    return run_cases(SYNCLINE_SOURCE_DIR "/tests/unit/write/kineto/cases/*.txt", run, set_up,
                     tear_down);
}
