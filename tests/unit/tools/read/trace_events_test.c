/*
 * trace_events_test.c - converts the rows of old, new and damaged files to events, in the order of
 * enqueue. Each case in event_cases/ is a separate test. A line is a row, in which single quotes
 * become double quotes. The line `own` before the rows says that syncline wrote the file. In the
 * expected output, counters that are not 0 follow the events.
 */
#include "unit/cases.h"

#include <inttypes.h>

#include "../text.h"
#include "read/trace_events.h"
#include "read/trace_file.h"

static struct sl_trace_events *events;
static int is_own;

static void say_word(const char *word, uint64_t number)
{
    if (number)
        say(" %s %" PRIu64, word, number);
}

static void say_text(const char *word, uint32_t id)
{
    if (id)
        say(" %s'%s'", word, sl_intern_get(events->names, id, NULL));
}

static void say_shape(uint32_t id)
{
    const struct sl_shape *shape = sl_shape_get(events->shapes, id);

    if (!shape)
        return;
    say_word("copy", shape->copy_kind);
    say_word("from", shape->src_memory);
    say_word("to", shape->dst_memory);
}

static void say_call(const struct sl_event *ev)
{
    const struct sl_trace_call *call = sl_trace_events_call(events, ev->correlation);

    say_word("thread", ev->thread);
    say_word("cbid", ev->u.call.cbid);
    say_word("result", ev->u.call.result);
    if (ev->flags & SL_EVF_LAUNCH)
        say(" launches");
    if (!call)
        return;
    say_text("in ", call->place);
    say_text("step ", call->step);
}

static void say_event(const struct sl_event *ev)
{
    static const char *const kinds[SL_EV_KIND_COUNT] = {
        [SL_EV_KERNEL] = "kernel", [SL_EV_MEMCPY] = "memcpy",     [SL_EV_RUNTIME] = "call",
        [SL_EV_SYNC] = "sync",     [SL_EV_CUDA_EVENT] = "record", [SL_EV_META_STREAM] = "stream",
    };
    uint64_t id = sl_trace_events_correlation(events, ev->correlation);
    uint64_t start_ns = ev->start_ns - (ev->start_ns ? SL_TRACE_EVENTS_ORIGIN_NS : 0);

    say("%s %" PRIu64, kinds[ev->kind], id);
    if (ev->correlation != id + (is_own ? 0 : 1ull << 32)) /* the 32-bit id has wrapped */
        say(" as %" PRIu64, ev->correlation);
    say_text("", ev->name);
    if (ev->flags & SL_EVF_NO_TIME)
        say(" without a time");
    else
        say(" %" PRIu64 "+%" PRIu64, start_ns, ev->end_ns - ev->start_ns);
    if (ev->kind == SL_EV_RUNTIME) {
        say_call(ev);
        say("\n");
        return;
    }
    if (ev->device == SL_DEVICE_NONE)
        say(" no device");
    else
        say_word("device", ev->device);
    say_word("context", ev->context);
    say_word("stream", ev->stream);
    if (ev->kind == SL_EV_KERNEL || ev->kind == SL_EV_MEMCPY) {
        say_word("graph", ev->graph);
        say_word("node", ev->u.op.graph_node);
        say_word("bytes", ev->u.op.bytes);
        say_shape(ev->shape);
    } else if (ev->kind == SL_EV_META_STREAM) {
        say_word("flags", ev->u.meta.flags);
    } else {
        say_word("type", ev->u.sync.type);
        say_word("event", ev->u.sync.event_id);
        say_word("record", ev->u.sync.event_sync_id);
        say_word("result", ev->u.sync.result);
    }
    say("\n");
}

static void say_counts(void)
{
    const struct sl_trace_events_counts c = events->counts;

    say("counts:");
    say_word("calls", c.calls);
    say_word("unusable", c.unusable);
    say_word("negative", c.negative);
    say_word("of_others", c.of_others);
    say_word("strange", c.strange);
    say("\n");
}

static void run(const char *given)
{
    static const char own[] = "own\n";
    char text[8192] = "{\"traceEvents\":[", line[1024];
    struct text_reader source;
    struct sl_trace_item *item;
    struct sl_event ev;
    struct sl_trace *t;

    is_own = strncmp(given, own, strlen(own)) == 0;
    given += is_own ? strlen(own) : 0;
    for (int rows = 0; next_line(&given, line, sizeof(line)); rows++)
        strcat(strcat(text, rows ? "," : ""), line);
    strcat(text, "]}");
    for (char *quote = text; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    source = text_reader(text, 0);
    assert_int_equal(sl_trace_open_reader(&t, text_read, &source), 0);
    assert_int_equal(sl_trace_events_create(&events), 0);
    if (is_own)
        events->own = 1;
    while (sl_trace_next(t, &item)) {
        if (item->span.kind != SL_SPAN_EVENT)
            continue;
        assert_int_equal(item->status, 0);
        assert_int_equal(sl_trace_events_row(events, &item->row), 0);
    }
    sl_trace_close(t);
    assert_int_equal(sl_trace_events_end(events), 0);
    if (events->first_ns)
        say("from %" PRIu64 "\n", events->first_ns - SL_TRACE_EVENTS_ORIGIN_NS);
    while (sl_trace_events_next(events, &ev))
        say_event(&ev);
    assert_null(sl_trace_events_call(events, 0));
    say_counts();
    sl_trace_events_destroy(events);
}

int main(void)
{
    return run_cases(SYNCLINE_SOURCE_DIR "/tests/unit/tools/read/event_cases/*.txt", run, NULL,
                     NULL);
}
