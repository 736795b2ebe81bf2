/*
 * trace_events.c - sorts events twice.
 *
 * The first order is by thread and time, and has calls and ranges. In this order the innermost
 * range around each call is found; it is the call's place. The second order is by correlation id,
 * and has GPU operations and waits too.
 *
 * Threads, memory: see trace_events.h.
 */
#include "read/trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "sync/call_class.h"

#define RUN_EVENTS         (512u << 10) /* 32 MiB */
#define NAMES_BYTES        (40u << 20)
#define SHAPES_BYTES       (1u << 20)
#define INPUTS_BYTES       (32u << 20)
#define THREAD_NAMES_BYTES (2u << 20)
#define DEPTH              256u
#define ROUNDED_NS         2000u /* in ns; times in old files are rounded to whole microseconds */

struct range {
    uint64_t end_ns;
    uint32_t name, collective, line;
    uint32_t number; /* 0: not passed on, or a Python function */
    uint64_t start_ns;
    uint8_t kind;
};

/* ---- comparison functions of the two orders ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int is_range(const struct sl_event *ev)
{
    return ev->kind >= SL_TRACE_RANGE && ev->kind <= SL_TRACE_PYTHON;
}

/* Compares two events by thread, then by start, so that an outer range precedes an inner range. Of
 * two ranges with the same times, the outer one has the lower id of PyTorch's (`correlation`, 0 if
 * it has none), or is the first in the file (`order`). */
static int order_by_time(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;
    int c = compare(a->thread, b->thread);

    if (c == 0)
        c = compare(a->start_ns, b->start_ns);
    if (c == 0)
        c = compare(!is_range(a), !is_range(b));
    if (c == 0)
        c = compare(b->end_ns, a->end_ns);
    if (c == 0 && is_range(a))
        c = compare(a->correlation, b->correlation);
    if (c == 0 && is_range(a))
        c = compare(a->order, b->order);
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
    case SL_TRACE_EDGE:
        return 4;
    default:
        return 3;
    }
}

/* Compares two events by correlation id. Events with the same id have the order call, record, wait,
 * operations, edges. Outer calls come first. */
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
    if (c == 0 && a->kind == SL_EV_CUDA_EVENT) /* a wait may lack the event id */
        c = compare(b->u.sync.event_id, a->u.sync.event_id);
    return c ? c : memcmp(a, b, sizeof(*a));
}

static int order_by_start(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;
    int c = compare(a->start_ns, b->start_ns);

    if (c == 0)
        c = compare(b->end_ns, a->end_ns);
    return c ? c : compare(a->order, b->order);
}

static int order_of_steps(const void *x, const void *y)
{
    return compare(((const struct sl_trace_step *)x)->start_ns,
                   ((const struct sl_trace_step *)y)->start_ns);
}

/* A step may have several rows: an operator and a range, or rows of several threads. */
static void sort_steps(struct sl_trace_events *t)
{
    size_t i, kept = 0;

    if (t->steps_sorted == t->steps)
        return;
    qsort(t->step, t->steps, sizeof(*t->step), order_of_steps);
    for (i = 0; i < t->steps; i++) {
        struct sl_trace_step *last = kept ? &t->step[kept - 1] : NULL;

        if (last && last->name == t->step[i].name && t->step[i].start_ns < last->end_ns) {
            if (t->step[i].end_ns > last->end_ns)
                last->end_ns = t->step[i].end_ns;
            continue;
        }
        t->step[kept++] = t->step[i];
    }
    t->steps = t->steps_sorted = kept;
}

/* ---- end of the first order: the range around each call ---- */

/* Returns the name of the last step that began before `ns`, or 0 if that step had ended by `ns`. */
uint32_t sl_trace_events_step(struct sl_trace_events *t, uint64_t ns)
{
    size_t low = 0, high;

    sort_steps(t);
    high = t->steps;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (t->step[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && t->step[low - 1].end_ns > ns ? t->step[low - 1].name : 0;
}

/* Returns the range of an event. If the event has no name, source line or collective, these are
 * taken from the range around it. */
static struct range inside(const struct range *around, const struct sl_event *ev)
{
    struct range r = {.end_ns = ev->end_ns,
                      .name = ev->name,
                      .collective = ev->collective,
                      .start_ns = ev->start_ns,
                      .kind = ev->kind};

    if (ev->kind == SL_TRACE_PYTHON) {
        r.line = ev->name;
        r.name = around ? around->name : 0;
    } else if (around) {
        r.line = around->line;
    }
    /* A call inside the operator of a collective belongs to that collective, even if an inner range
     * does not name it. */
    if (!r.collective && around)
        r.collective = around->collective;
    return r;
}

/* Returns the number of the innermost range of a stack that lasts until `end_ns`, or 0. */
static uint32_t number_around(const struct range *stack, unsigned depth, uint64_t end_ns)
{
    while (depth && (!stack[depth - 1].number || stack[depth - 1].end_ns < end_ns))
        depth--;
    return depth ? stack[depth - 1].number : 0;
}

/* Passes on the operators and ranges of a stack that were not passed on yet. Returns the number of
 * the innermost. `*count` is the number of all that were passed on. */
static uint32_t give_ranges(const struct sl_trace_events *t, struct range *stack, unsigned depth,
                            uint32_t thread, uint32_t *count)
{
    unsigned first = depth;

    while (first && !stack[first - 1].number)
        first--;
    for (unsigned i = first; i < depth; i++) {
        const struct sl_event range = {.kind = stack[i].kind,
                                       .start_ns = stack[i].start_ns,
                                       .end_ns = stack[i].end_ns,
                                       .thread = thread,
                                       .name = stack[i].name,
                                       .order = *count + 1};

        if (range.kind == SL_TRACE_PYTHON)
            continue;
        t->give_range(t->range_user, &range, number_around(stack, i, range.end_ns));
        stack[i].number = ++*count;
    }
    return number_around(stack, depth, 0);
}

int sl_trace_events_end(struct sl_trace_events *t)
{
    struct range stack[DEPTH];
    uint32_t thread = 0, ranges = 0;
    unsigned depth = 0;
    struct sl_event ev;
    size_t at = 0;
    int rc = sl_event_sort_end(t->by_time);

    if (t->first_ns == UINT64_MAX)
        t->first_ns = 0;
    sort_steps(t);
    while (rc == 0 && (rc = sl_event_sort_next(t->by_time, &ev)) == 1) {
        rc = 0;
        if (ev.thread != thread)
            depth = 0;
        thread = ev.thread;
        while (depth && stack[depth - 1].end_ns <= ev.start_ns)
            depth--;
        if (is_range(&ev)) {
            if (depth < DEPTH) {
                stack[depth] = inside(depth ? &stack[depth - 1] : NULL, &ev);
                depth++;
            }
            continue;
        }
        if (depth && stack[depth - 1].collective)
            sl_row_collectives_join(t->collectives, ev.correlation, stack[depth - 1].collective);
        if (ev.flags & SL_EVF_LAUNCH)
            sl_overheads_call(&t->overheads, &ev);
        if (t->give_range)
            ev.u.call.range = give_ranges(t, stack, depth, thread, &ranges);
        if (depth)
            ev.around = stack[depth - 1].name;
        if (!ev.around_line && depth) /* the row of a call that waited names its line itself */
            ev.around_line = stack[depth - 1].line;
        ev.around_step = sl_trace_events_step(t, ev.start_ns);
        rc = sl_event_sort_put(t->by_correlation, &ev);
    }
    while (rc == 0 && sl_overheads_next(&t->overheads, &at, &ev))
        rc = sl_event_sort_put(t->by_correlation, &ev);
    sl_overheads_free(&t->overheads);
    /* The memory is freed now, because the edge engine needs memory. */
    sl_event_sort_destroy(t->by_time);
    t->by_time = NULL;
    if (rc == 0 && t->by_start)
        rc = sl_event_sort_end(t->by_start);
    return rc ? rc : sl_event_sort_end(t->by_correlation);
}

/* ---- clocks ---- */

enum {
    DTOH = 2,    /* a value of CUpti_ActivityMemcpyKind */
    PAGEABLE = 1 /* a value of CUpti_ActivityMemoryKind */
};

static enum sl_clock_own own_of(const struct sl_trace_events *t, const struct sl_event *ev)
{
    const struct sl_shape *shape =
        ev->kind == SL_EV_MEMCPY ? sl_shape_get(t->shapes, ev->shape) : NULL;

    return !shape || shape->copy_kind != DTOH ? SL_CLOCK_OWN_NONE
           : shape->dst_memory == PAGEABLE    ? SL_CLOCK_OWN_ANY
                                              : SL_CLOCK_OWN_BLOCKING;
}

/* Returns the context of all operations, or SL_CLOCK_FIT_CONTEXTS. */
static uint32_t only_context(const struct sl_trace_events *t)
{
    uint32_t context, other;
    uint8_t device;
    size_t at = 0;

    return sl_stream_home_next(&t->home, &at, &context, &device) &&
                   !sl_stream_home_next(&t->home, &at, &other, &device)
               ? context
               : SL_CLOCK_FIT_CONTEXTS;
}

int sl_trace_events_fit_clock(struct sl_trace_events *t)
{
    struct sl_event ev;
    int rc;

    sl_clock_fit_init(&t->clock, only_context(t));
    while ((rc = sl_event_sort_next(t->by_correlation, &ev)) == 1)
        sl_clock_fit_event(&t->clock, &ev, own_of(t, &ev));
    sl_clock_fit_end(&t->clock);
    t->skew_ns = sl_clock_fit_skew_ns(&t->clock);
    return rc ? rc : sl_event_sort_rewind(t->by_correlation);
}

/* Returns a time of an operation on the clock of the calls. */
static uint64_t corrected(const struct sl_trace_events *t, uint64_t ns)
{
    return t->skew_ns < 0 && ns <= (uint64_t)-t->skew_ns ? 1 : ns + (uint64_t)t->skew_ns;
}

/* ---- events of the second order ---- */

/* Returns whether an event repeats the previous event. Three cases exist: a call inside a call with
 * the same id, an event record that several waits name, and a row that was written twice. */
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

/* Returns whether a call resets its device. CUPTI then begins to count anew, so the call may have
 * the id of the synchronization before it. */
static int resets(const struct sl_event *call)
{
    return sl_call_class_of((enum sl_event_kind)call->kind, call->u.call.cbid) == SL_CALL_UNLOAD;
}

/* Returns whether a call comes from another process. Such a call has the id of an earlier call but
 * was not made inside that call. */
static int is_strange(const struct sl_event *last, const struct sl_event *ev)
{
    return class_of(ev) == 0 && (ev->thread != last->thread ||
                                 (ev->start_ns > last->end_ns + ROUNDED_NS && !resets(ev)));
}

static void give_call(struct sl_trace_events *t, struct sl_event *ev)
{
    t->counts.calls++;
    t->call[ev->correlation % SL_TRACE_CALLS] =
        (struct sl_trace_call){.correlation = ev->correlation,
                               .name = ev->name,
                               .place = ev->around,
                               .line = ev->around_line,
                               .step = ev->around_step,
                               .start_ns = ev->start_ns};
    ev->around = ev->around_line = ev->around_step = 0;
}

/* Sets the device of an operation whose row has no device, and corrects the times. */
static void give_operation(const struct sl_trace_events *t, struct sl_event *ev)
{
    ev->start_ns = corrected(t, ev->start_ns);
    ev->end_ns = corrected(t, ev->end_ns);
    if (ev->device == SL_DEVICE_NONE)
        (void)sl_stream_home_find_device(&t->home, ev->context, &ev->device);
}

/* Sets the device of a wait, which is missing or wrong in files of torch.profiler. */
static void place_wait(const struct sl_trace_events *t, struct sl_event *ev)
{
    if (!t->own)
        (void)sl_stream_home_find_device(&t->home, ev->context, &ev->device);
}

/* Sets the context and the device of an event record. Unless the record has a row (its type is
 * set), it was made from a wait, which does not state the record's context. A record without a
 * stream may be on any stream. */
static void place_record(const struct sl_trace_events *t, struct sl_event *ev)
{
    if (!t->own && !ev->u.sync.type && sl_stream_home_find(&t->home, ev->stream, &ev->context) != 0)
        ev->stream = SL_STREAM_NONE;
    place_wait(t, ev);
}

int sl_trace_events_next(struct sl_trace_events *t, struct sl_event *out)
{
    int rc;

    if (t->has_made) {
        *out = t->last = t->made;
        t->has_made = 0;
        return 1;
    }
    do {
        rc = sl_event_sort_next(t->by_correlation, out);
        if (rc != 1)
            return rc;
        if (!is_repeated(&t->last, out))
            break;
        t->counts.strange += (uint64_t)is_strange(&t->last, out);
    } while (1);
    t->last = *out;
    switch (class_of(out)) {
    case 0:
        give_call(t, out);
        t->has_made = !t->own && sl_event_records_call(&t->records, out, &t->made);
        break;
    case 1:
        place_record(t, out);
        sl_event_records_record(&t->records, out);
        break;
    case 2:
        place_wait(t, out);
        if (!t->own)
            sl_event_records_wait(&t->records, out, t->has_first_call);
        break;
    case 3:
        if (out->kind != SL_EV_OVERHEAD)
            give_operation(t, out);
        break;
    default:
        break;
    }
    return 1;
}

int sl_trace_events_next_context(const struct sl_trace_events *t, size_t *at, struct sl_event *out)
{
    *out = (struct sl_event){.kind = SL_EV_META_STREAM, .stream = SL_STREAM_NONE};
    return sl_stream_home_next(&t->home, at, &out->context, &out->device);
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

/* ---- creation, and lookup of calls ---- */

int sl_trace_events_keep_collectives(struct sl_trace_events *t,
                                     struct sl_row_collectives *collectives)
{
    t->plain = malloc(SL_TRACE_PLAIN_MAX);
    t->collectives = collectives;
    return t->plain ? 0 : -ENOMEM;
}

int sl_trace_events_keep_rows(struct sl_trace_events *t)
{
    int rc = sl_event_sort_create(&t->by_start, RUN_EVENTS, order_by_start);

    return rc ? rc : sl_intern_create(&t->inputs, INPUTS_BYTES);
}

int sl_trace_events_create(struct sl_trace_events **out)
{
    struct sl_trace_events *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->first_ns = t->first_slice_ns = UINT64_MAX;
    t->store.cap_bytes = THREAD_NAMES_BYTES;
    sl_map_init(&t->thread_name, &t->store);
    sl_thread_ids_init(&t->threads);
    sl_stream_home_init(&t->home);
    t->call = sl_pages_map(SL_TRACE_CALLS * sizeof(*t->call));
    t->other_call = sl_pages_map(SL_TRACE_CALLS * sizeof(*t->other_call));
    t->step = sl_pages_map(SL_TRACE_STEPS * sizeof(*t->step));
    if (!t->call || !t->other_call || !t->step || sl_intern_create(&t->names, NAMES_BYTES) ||
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
    sl_map_free(&t->thread_name);
    sl_stream_home_free(&t->home);
    sl_thread_ids_free(&t->threads);
    sl_overheads_free(&t->overheads);
    sl_intern_destroy(t->inputs);
    free(t->plain);
    sl_shape_destroy(t->shapes);
    sl_intern_destroy(t->names);
    sl_pages_unmap(t->step, SL_TRACE_STEPS * sizeof(*t->step));
    sl_pages_unmap(t->other_call, SL_TRACE_CALLS * sizeof(*t->other_call));
    sl_pages_unmap(t->call, SL_TRACE_CALLS * sizeof(*t->call));
    free(t);
}

uint32_t sl_trace_events_thread_name(const struct sl_trace_events *t, int64_t thread)
{
    const uint64_t *name = sl_map_find(&t->thread_name, (uint64_t)thread + 1);

    return name ? (uint32_t)*name : 0;
}

const struct sl_trace_call *sl_trace_events_call(const struct sl_trace_events *t,
                                                 uint64_t correlation)
{
    const struct sl_trace_call *call = &t->call[correlation % SL_TRACE_CALLS];

    if (call->correlation != correlation)
        call = &t->other_call[correlation % SL_TRACE_CALLS];
    return correlation && call->correlation == correlation ? call : NULL;
}

uint64_t sl_trace_events_correlation(const struct sl_trace_events *t, uint64_t correlation)
{
    return t->own ? correlation : (uint32_t)correlation;
}
