/*
 * trace_events.c - rows -> events -> sorted twice.
 *
 * The first order is by thread and time: calls and the ranges around them, so that each call learns
 * its place. The second is by correlation id, which GPU operations and waits join.
 *
 * Threads, memory: see trace_events.h.
 */
#include "read/trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "collect/cupti_decode.h"
#include "read/event_sort.h"
#include "read/unescape.h"
#include "write/wire.h"

#define PLAIN_MAX    (64u << 10)
#define RUN_EVENTS   (512u << 10) /* 32 MiB */
#define NAMES_BYTES  (40u << 20)
#define SHAPES_BYTES (1u << 20)
#define INPUTS_BYTES (32u << 20)
#define INPUT_MAX    4096u /* of each list of an operator's: a longer one is left out */
#define CALLS        131072u
#define STEPS        65536u
#define DEPTH        256u

/* Times of a trace may be relative and begin at 0, which no event may: 0 is "no time". */
#define TIME_ORIGIN_NS SL_TRACE_EVENTS_ORIGIN_NS

/* A range around calls, in the first order only. */
#define RANGE SL_EV_NONE

struct step {
    uint64_t start_ns, end_ns;
    uint32_t name;
};

struct range {
    uint64_t end_ns;
    uint32_t name, collective;
};

struct sl_trace_events {
    struct sl_intern *names;
    struct sl_shape_table *shapes;
    struct sl_event_sort *by_time, *by_correlation;
    struct sl_event_sort *by_start; /* rows that are kept; NULL: they are not */
    struct sl_event row;            /* the next of those, if has_row */
    int has_row;
    struct sl_intern *inputs;
    struct sl_collectives *collectives;
    char *plain;                /* a name without its escapes */
    struct sl_trace_call *call; /* CALLS, by the correlation id's low bits */
    struct step *step;          /* STEPS, as they come; sorted at the end */
    size_t steps;
    int own;
    uint64_t ranges;
    uint64_t newest;      /* the correlation id seen last, widened */
    uint64_t first_ns;    /* UINT64_MAX: no event */
    struct sl_event last; /* the event given out last */
    struct sl_trace_events_counts counts;
};

/* ---- order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Thread, time, the outer before the inner. Ranges have their number in the file for a correlation
 * id: of two with the same times the first is the outer one. */
static int order_by_time(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;
    int c = compare(a->thread, b->thread);

    if (c == 0)
        c = compare(a->start_ns, b->start_ns);
    if (c == 0)
        c = compare(a->kind != RANGE, b->kind != RANGE);
    if (c == 0)
        c = compare(b->end_ns, a->end_ns);
    if (c == 0 && a->kind == RANGE)
        c = compare(a->correlation, b->correlation);
    return c ? c : memcmp(a, b, sizeof(*a));
}

static int class_of(const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        return 0;
    case SL_EV_CUDA_EVENT:
        return 1;
    case SL_EV_SYNC:
        return 2;
    case SL_EV_FLOW:
        return 4;
    default:
        return 3;
    }
}

/* Correlation id, then call, record, wait, operations, edges; of calls the outer first. */
static int order_by_correlation(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;
    int c = compare(a->correlation, b->correlation);

    if (c == 0)
        c = class_of(a) - class_of(b);
    if (c == 0)
        c = compare(a->start_ns, b->start_ns);
    if (c == 0)
        c = compare(b->end_ns, a->end_ns);
    if (c == 0 && a->kind == SL_EV_CUDA_EVENT) /* a wait may lack the event's id */
        c = compare(b->u.sync.event_id, a->u.sync.event_id);
    return c ? c : memcmp(a, b, sizeof(*a));
}

static int order_by_start(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;
    int c = compare(a->start_ns, b->start_ns);

    if (c == 0)
        c = compare(b->end_ns, a->end_ns);
    return c ? c : compare(a->stream, b->stream);
}

static int order_of_steps(const void *x, const void *y)
{
    return compare(((const struct step *)x)->start_ns, ((const struct step *)y)->start_ns);
}

/* ---- rows -> events ---- */

static int text_begins(struct sl_text text, const char *with)
{
    size_t size = strlen(with);

    return text.size >= size && memcmp(text.data, with, size) == 0;
}

static uint32_t intern(struct sl_trace_events *t, struct sl_text name)
{
    uint32_t id;

    if (t->plain && name.data && name.size <= PLAIN_MAX && memchr(name.data, '\\', name.size)) {
        name.size = sl_unescape(t->plain, name.data, name.size);
        name.data = t->plain;
    }
    id = name.data ? sl_intern_put(t->names, name.data, name.size) : 0;

    if (name.data && !id)
        t->counts.names_lost++;
    return id;
}

/* Values that are no id of CUDA's are the row's fault: `fallback`. */
static uint32_t id32(uint32_t has, uint32_t bit, int64_t value, uint32_t fallback)
{
    return (has & bit) && value >= 0 && value <= UINT32_MAX ? (uint32_t)value : fallback;
}

/* CUPTI's ids have 32 bits and wrap: those of one file lie within 2^31 of each other. The first
 * gets 2^32 added, so that there is room below. */
static uint64_t widen(struct sl_trace_events *t, int64_t correlation)
{
    uint64_t id = (uint64_t)correlation;

    if (t->own)
        return id;
    if (!t->newest)
        t->newest = id + (1ull << 32);
    t->newest += (uint64_t)(int64_t)(int32_t)((uint32_t)id - (uint32_t)t->newest);
    return t->newest;
}

/* What all events have in common. 0, or -EINVAL: the row is of no use. */
static int begin_event(struct sl_trace_events *t, const struct sl_trace_row *row, int kind,
                       struct sl_event *ev)
{
    int64_t start = row->ts_ns, end;

    *ev = (struct sl_event){.kind = (uint8_t)kind};
    if (!(row->has & SL_HAS_TS) || start < 0)
        return -EINVAL;
    end = (row->has & SL_HAS_DUR) && row->dur_ns > 0 ? start + row->dur_ns : start;
    ev->start_ns = (uint64_t)start + TIME_ORIGIN_NS;
    ev->end_ns = (uint64_t)end + TIME_ORIGIN_NS;
    if (kind == RANGE)
        return 0;
    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 ||
        (row->correlation > UINT32_MAX && !t->own))
        return -EINVAL;
    ev->correlation = widen(t, row->correlation);
    if (ev->start_ns < t->first_ns)
        t->first_ns = ev->start_ns;
    return 0;
}

static char *put_list(char *at, uint32_t field, struct sl_text list)
{
    return list.data && list.size <= INPUT_MAX ? sl_wire_bytes(at, field, list.data, list.size)
                                               : at;
}

/* An operator's inputs, as the field of Chakra's Node: most operators have those of another. */
static uint32_t put_inputs(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    enum {
        NODE_INPUTS = 8,
        IO_VALUES = 1,
        IO_SHAPES = 2,
        IO_TYPES = 3
    };
    char info[3 * (INPUT_MAX + 16)], node[sizeof(info) + 16];
    char *end = put_list(info, IO_VALUES, row->values);
    uint32_t id;

    end = put_list(end, IO_SHAPES, row->dims);
    end = put_list(end, IO_TYPES, row->types);
    if (end == info)
        return 0;
    end = sl_wire_bytes(node, NODE_INPUTS, info, (size_t)(end - info));
    id = sl_intern_put(t->inputs, node, (size_t)(end - node));
    t->counts.inputs_lost += id == 0;
    return id;
}

/* The row of a range, which stands in the order of time already. */
static int keep_row(struct sl_trace_events *t, const struct sl_trace_row *row,
                    const struct sl_event *range)
{
    struct sl_event ev = *range;

    ev.kind = row->category == SL_CAT_CPU_OP ? SL_EV_CPU_OP : SL_EV_RANGE;
    ev.correlation = 0;
    ev.stream = (uint32_t)t->ranges;
    ev.context = id32(row->has, SL_HAS_FORWARD_THREAD, row->forward_thread, 0);
    ev.shape = put_inputs(t, row);
    ev.u.row.record_function = row->has & SL_HAS_RECORD_FUNCTION && row->record_function > 0
                                   ? (uint64_t)row->record_function
                                   : 0;
    ev.u.row.sequence = row->has & SL_HAS_SEQUENCE && row->sequence >= 0 ? row->sequence : -1;
    return sl_event_sort_put(t->by_start, &ev);
}

static int take_range(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;
    int rc = 0;

    if (!row->tid.is_number || begin_event(t, row, RANGE, &ev) != 0)
        return 0;
    ev.thread = (uint32_t)row->tid.number;
    ev.name = intern(t, row->name);
    ev.correlation = ++t->ranges;
    if (text_begins(row->name, "ProfilerStep#") && t->steps < STEPS)
        t->step[t->steps++] = (struct step){ev.start_ns, ev.end_ns, ev.name};
    if (t->by_start)
        rc = keep_row(t, row, &ev);
    if (t->collectives)
        ev.shape = sl_collectives_row(t->collectives, row);
    return rc ? rc : sl_event_sort_put(t->by_time, &ev);
}

static int take_call(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    int kind = row->category == SL_CAT_DRIVER ? SL_EV_DRIVER : SL_EV_RUNTIME;
    struct sl_event ev;

    if (!row->tid.is_number || begin_event(t, row, kind, &ev) != 0) {
        t->counts.unusable++;
        return 0;
    }
    ev.thread = (uint32_t)row->tid.number;
    ev.name = intern(t, row->name);
    ev.u.call.cbid = id32(row->has, SL_HAS_CBID, row->cbid, 0);
    ev.u.call.result = id32(row->has, SL_HAS_RESULT, row->result, 0);
    if (row->pid.is_number)
        ev.u.call.pid = (uint32_t)row->pid.number;
    if (sl_decode_api_launches((enum sl_event_kind)kind, ev.u.call.cbid))
        ev.flags |= SL_EVF_LAUNCH;
    return sl_event_sort_put(t->by_time, &ev);
}

/* "Memcpy DtoH (Device -> Pageable)": CUPTI's numbers for these words. */
static uint32_t number_of(const char *const *words, uint32_t count, const char *text, size_t size)
{
    for (uint32_t i = 1; i < count; i++) {
        if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0)
            return i;
    }
    return 0;
}

static void copy_kinds(struct sl_text name, struct sl_shape *shape)
{
    static const char *const copies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    static const char *const memories[] = {"Unknown",       "Pageable",      "Pinned",
                                           "Device",        "Array",         "Managed",
                                           "Device Static", "Managed Static"};
    const char *end = name.data + name.size, *open, *arrow, *close;

    if (!text_begins(name, "Memcpy "))
        return;
    open = memmem(name.data, name.size, " (", 2);
    arrow = open ? memmem(open, (size_t)(end - open), " -> ", 4) : NULL;
    close = arrow ? memchr(arrow, ')', (size_t)(end - arrow)) : NULL;
    if (!close || open < name.data + 7)
        return;
    shape->copy_kind = number_of(copies, 11, name.data + 7, (size_t)(open - name.data) - 7);
    shape->src_memory = number_of(memories, 8, open + 2, (size_t)(arrow - open) - 2);
    shape->dst_memory = number_of(memories, 8, arrow + 4, (size_t)(close - arrow) - 4);
}

static int take_operation(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    int kind = row->category == SL_CAT_KERNEL   ? SL_EV_KERNEL
               : row->category == SL_CAT_MEMCPY ? SL_EV_MEMCPY
                                                : SL_EV_MEMSET;
    struct sl_shape shape;
    struct sl_event ev;

    if (begin_event(t, row, kind, &ev) != 0 || !(row->has & SL_HAS_STREAM) || row->stream < 0 ||
        row->stream >= SL_STREAM_NONE || (row->has & SL_HAS_DEVICE && row->device < 0)) {
        t->counts.unusable++;
        return 0;
    }
    ev.device = (uint16_t)id32(row->has, SL_HAS_DEVICE, row->device, 0);
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = (uint32_t)row->stream;
    ev.name = intern(t, row->name);
    ev.graph = id32(row->has, SL_HAS_GRAPH, row->graph, 0);
    if ((row->has & SL_HAS_GRAPH_NODE) && row->graph_node > 0)
        ev.u.op.graph_node = (uint64_t)row->graph_node;
    if ((row->has & SL_HAS_BYTES) && row->bytes > 0)
        ev.u.op.bytes = (uint64_t)row->bytes;
    if (row->has & SL_HAS_STILL_RUNNING)
        ev.flags |= SL_EVF_STILL_RUNNING;
    if (t->collectives && kind == SL_EV_KERNEL)
        sl_collectives_join(t->collectives, ev.correlation,
                            sl_collectives_row(t->collectives, row));
    if (kind == SL_EV_MEMCPY) {
        memset(&shape, 0, sizeof(shape));
        shape.kind = SL_EV_MEMCPY;
        shape.device = ev.device;
        shape.context = ev.context;
        shape.stream = ev.stream;
        copy_kinds(row->name, &shape);
        ev.shape = sl_shape_put(t->shapes, &shape);
    }
    return sl_event_sort_put(t->by_correlation, &ev);
}

static enum sl_sync_type sync_type(struct sl_text name)
{
    if (text_begins(name, "Event Sync"))
        return SL_SYNC_EVENT;
    if (text_begins(name, "Stream Wait Event"))
        return SL_SYNC_STREAM_WAIT;
    if (text_begins(name, "Stream Sync"))
        return SL_SYNC_STREAM;
    return text_begins(name, "Context Sync") ? SL_SYNC_CONTEXT : SL_SYNC_UNKNOWN;
}

/* The record that a wait names. */
static int put_record(struct sl_trace_events *t, const struct sl_trace_row *row,
                      const struct sl_event *wait)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .flags = SL_EVF_NO_TIME};

    ev.correlation = wait->u.sync.event_sync_id;
    ev.device = wait->device;
    ev.context = id32(row->has, SL_HAS_WAIT_CONTEXT, row->wait_context, wait->context);
    ev.stream = id32(row->has, SL_HAS_WAIT_STREAM, row->wait_stream, SL_STREAM_NONE);
    ev.u.sync = wait->u.sync;
    ev.u.sync.type = SL_SYNC_UNKNOWN;
    ev.u.sync.result = 0;
    return ev.stream == SL_STREAM_NONE ? 0 : sl_event_sort_put(t->by_correlation, &ev);
}

static int take_wait(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;
    int rc = 0;

    if (begin_event(t, row, SL_EV_SYNC, &ev) != 0) {
        t->counts.unusable++;
        return 0;
    }
    ev.device = (uint16_t)id32(row->has, SL_HAS_DEVICE, row->device, 0);
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = id32(row->has, SL_HAS_STREAM, row->stream, SL_STREAM_NONE);
    ev.u.sync.type = (uint8_t)sync_type(row->name);
    ev.u.sync.event_id = id32(row->has, SL_HAS_WAIT_EVENT, row->wait_event, 0);
    ev.u.sync.result = (uint16_t)id32(row->has, SL_HAS_RESULT, row->result, 0);
    if ((row->has & SL_HAS_WAIT_RECORD) && row->wait_record > 0) {
        uint64_t newest = t->newest;

        ev.u.sync.event_sync_id = widen(t, row->wait_record);
        t->newest = newest;
        rc = put_record(t, row, &ev);
    }
    return rc ? rc : sl_event_sort_put(t->by_correlation, &ev);
}

static int take_metadata(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev = {.kind = SL_EV_META_STREAM};

    if (!(row->has & SL_HAS_STREAM_FLAGS) || !row->tid.is_number || !row->pid.is_number)
        return 0;
    ev.device = (uint16_t)row->pid.number;
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = (uint32_t)row->tid.number;
    ev.u.meta.flags = id32(row->has, SL_HAS_STREAM_FLAGS, row->stream_flags, 0);
    return sl_event_sort_put(t->by_correlation, &ev);
}

int sl_trace_events_row(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    if (row->phase == 'M')
        return take_metadata(t, row);
    if (row->phase != 'X')
        return 0;
    switch (row->category) {
    case SL_CAT_CPU_OP:
    case SL_CAT_USER_ANNOTATION:
        return take_range(t, row);
    case SL_CAT_RUNTIME:
    case SL_CAT_DRIVER:
        return take_call(t, row);
    case SL_CAT_KERNEL:
    case SL_CAT_MEMCPY:
    case SL_CAT_MEMSET:
        return take_operation(t, row);
    case SL_CAT_SYNC:
        return take_wait(t, row);
    default:
        return 0;
    }
}

void sl_trace_events_note_call(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    uint64_t correlation = (uint64_t)row->correlation;

    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 || !row->wait_in.data)
        return;
    t->call[correlation % CALLS] = (struct sl_trace_call){
        .correlation = correlation,
        .name = intern(t, row->name),
        .place = intern(t, row->wait_in),
        .thread = row->tid.is_number ? (uint32_t)row->tid.number : 0,
    };
}

/* ---- the first order: places ---- */

/* The last step that began before `ns`, if it had not ended. */
int sl_trace_events_edge(struct sl_trace_events *t, const struct sl_event *edge)
{
    return sl_event_sort_put(t->by_correlation, edge);
}

static uint32_t step_at(const struct sl_trace_events *t, uint64_t ns)
{
    size_t low = 0, high = t->steps;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (t->step[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && t->step[low - 1].end_ns > ns ? t->step[low - 1].name : 0;
}

int sl_trace_events_end(struct sl_trace_events *t)
{
    struct range stack[DEPTH];
    uint32_t thread = 0;
    unsigned depth = 0;
    struct sl_event ev;
    int rc = sl_event_sort_end(t->by_time);

    if (t->steps)
        qsort(t->step, t->steps, sizeof(*t->step), order_of_steps);
    while (rc == 0 && (rc = sl_event_sort_next(t->by_time, &ev)) == 1) {
        rc = 0;
        if (ev.thread != thread)
            depth = 0;
        thread = ev.thread;
        while (depth && stack[depth - 1].end_ns <= ev.start_ns)
            depth--;
        if (ev.kind == RANGE) {
            if (depth < DEPTH) {
                /* What a collective's operator calls belongs to it. */
                if (!ev.shape && depth)
                    ev.shape = stack[depth - 1].collective;
                stack[depth++] = (struct range){ev.end_ns, ev.name, ev.shape};
            }
            continue;
        }
        if (depth && stack[depth - 1].collective)
            sl_collectives_join(t->collectives, ev.correlation, stack[depth - 1].collective);
        /* The fields that a call has no use for carry its place through the second order. */
        ev.context = depth ? stack[depth - 1].name : 0;
        ev.stream = step_at(t, ev.start_ns);
        rc = sl_event_sort_put(t->by_correlation, &ev);
        if (rc == 0)
            continue;
    }
    /* Its memory is the engine's now. */
    sl_event_sort_destroy(t->by_time);
    t->by_time = NULL;
    if (rc == 0 && t->by_start)
        rc = sl_event_sort_end(t->by_start);
    return rc ? rc : sl_event_sort_end(t->by_correlation);
}

/* ---- the second order ---- */

/* Calls inside a call with the same id, records that several waits name, rows written twice. */
static int is_repeated(const struct sl_event *last, const struct sl_event *ev)
{
    if (ev->correlation == 0 || ev->correlation != last->correlation ||
        class_of(ev) != class_of(last))
        return 0;
    switch (ev->kind) {
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
    case SL_EV_CUDA_EVENT:
        return 1;
    case SL_EV_SYNC:
        return ev->context == last->context && ev->stream == last->stream;
    default:
        return memcmp(ev, last, sizeof(*ev)) == 0;
    }
}

static void give_call(struct sl_trace_events *t, struct sl_event *ev)
{
    t->counts.calls++;
    t->call[ev->correlation % CALLS] =
        (struct sl_trace_call){ev->correlation, ev->name, ev->context, ev->stream, ev->thread};
    ev->context = 0;
    ev->stream = 0;
}

int sl_trace_events_next(struct sl_trace_events *t, struct sl_event *out)
{
    int rc;

    do {
        rc = sl_event_sort_next(t->by_correlation, out);
        if (rc != 1)
            return rc;
        if (!is_repeated(&t->last, out))
            break;
        /* A record is made once for each wait that names it. */
        t->counts.twice += out->kind != SL_EV_CUDA_EVENT;
    } while (1);
    t->last = *out;
    switch (class_of(out)) {
    case 0:
        give_call(t, out);
        break;
    case 2:
        t->counts.waits++;
        break;
    case 3:
        t->counts.operations += out->kind != SL_EV_META_STREAM;
        break;
    default:
        break;
    }
    return 1;
}

int sl_trace_events_next_row(struct sl_trace_events *t, uint64_t until_ns, struct sl_event *out)
{
    int rc;

    if (!t->by_start)
        return 0;
    if (!t->has_row) {
        rc = sl_event_sort_next(t->by_start, &t->row);
        if (rc != 1)
            return rc;
        t->has_row = 1;
    }
    if (t->row.start_ns > until_ns)
        return 0;
    *out = t->row;
    t->has_row = 0;
    return 1;
}

/* ---- the rest ---- */

int sl_trace_events_keep_rows(struct sl_trace_events *t, struct sl_collectives *collectives)
{
    int rc = sl_event_sort_create(&t->by_start, RUN_EVENTS, order_by_start);

    if (rc == 0)
        rc = sl_intern_create(&t->inputs, INPUTS_BYTES);
    t->plain = malloc(PLAIN_MAX);
    t->collectives = collectives;
    return rc || t->plain ? rc : -ENOMEM;
}

const char *sl_trace_events_inputs(const struct sl_trace_events *t, uint32_t shape, size_t *size)
{
    return t->inputs ? sl_intern_get(t->inputs, shape, size) : NULL;
}

int sl_trace_events_create(struct sl_trace_events **out)
{
    struct sl_trace_events *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->first_ns = UINT64_MAX;
    t->call = sl_pages_map(CALLS * sizeof(*t->call));
    t->step = sl_pages_map(STEPS * sizeof(*t->step));
    if (!t->call || !t->step || sl_intern_create(&t->names, NAMES_BYTES) ||
        sl_shape_create(&t->shapes, SHAPES_BYTES) ||
        sl_event_sort_create(&t->by_time, RUN_EVENTS, order_by_time) ||
        sl_event_sort_create(&t->by_correlation, RUN_EVENTS, order_by_correlation)) {
        sl_trace_events_destroy(t);
        return -ENOMEM;
    }
    *out = t;
    return 0;
}

void sl_trace_events_destroy(struct sl_trace_events *t)
{
    if (!t)
        return;
    sl_event_sort_destroy(t->by_correlation);
    sl_event_sort_destroy(t->by_time);
    sl_event_sort_destroy(t->by_start);
    sl_intern_destroy(t->inputs);
    free(t->plain);
    sl_shape_destroy(t->shapes);
    sl_intern_destroy(t->names);
    sl_pages_unmap(t->step, STEPS * sizeof(*t->step));
    sl_pages_unmap(t->call, CALLS * sizeof(*t->call));
    free(t);
}

void sl_trace_events_own(struct sl_trace_events *t)
{
    t->own = 1;
}

const struct sl_trace_call *sl_trace_events_call(const struct sl_trace_events *t,
                                                 uint64_t correlation)
{
    const struct sl_trace_call *call = &t->call[correlation % CALLS];

    return correlation && call->correlation == correlation ? call : NULL;
}

uint64_t sl_trace_events_count(const struct sl_trace_events *t)
{
    return sl_event_sort_count(t->by_correlation);
}

uint64_t sl_trace_events_correlation(const struct sl_trace_events *t, uint64_t correlation)
{
    return t->own ? correlation : (uint32_t)correlation;
}

struct sl_intern *sl_trace_events_names(const struct sl_trace_events *t)
{
    return t->names;
}

const struct sl_shape_table *sl_trace_events_shapes(const struct sl_trace_events *t)
{
    return t->shapes;
}

uint64_t sl_trace_events_first_ns(const struct sl_trace_events *t)
{
    return t->first_ns == UINT64_MAX ? 0 : t->first_ns;
}

void sl_trace_events_get_counts(const struct sl_trace_events *t, struct sl_trace_events_counts *out)
{
    *out = t->counts;
}
