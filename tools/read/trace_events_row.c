/*
 * trace_events_row.c - turns the rows of a trace into events and adds them to the first or second
 * order.
 *
 * Threads, memory: see trace_events.h.
 */
#include "read/trace_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event/call_name.h"
#include "event/device.h"
#include "read/python_row.h"
#include "read/row_usable.h"
#include "read/unescape.h"
#include "write/chakra/et_inputs.h"
#include "write/copy_name.h"

/* Times in a trace may be relative and begin at 0, but 0 means "no time" in an event. */
#define TIME_ORIGIN_NS SL_TRACE_EVENTS_ORIGIN_NS

static uint32_t intern(struct sl_trace_events *t, struct sl_text name)
{
    uint32_t id;

    if (t->plain)
        name = sl_unescaped(name, t->plain, SL_TRACE_PLAIN_MAX);
    id = name.data ? sl_intern_put(t->names, name.data, name.size) : 0;
    if (name.data && !id)
        t->counts.names_lost++;
    return id;
}

/* Returns a member's value as an id. Returns `fallback` if the member is missing, or if the file is
 * wrong and the value is outside CUDA's range of ids. */
static uint32_t id32(uint32_t has, uint32_t bit, int64_t value, uint32_t fallback)
{
    return (has & bit) && value >= 0 && value <= UINT32_MAX ? (uint32_t)value : fallback;
}

/* Widens a correlation id to 64 bits. CUPTI correlation ids have 32 bits and wrap, and successive
 * ids differ by less than 2^31. 2^32 is added to the first id, so that an id below the first stays
 * above 0. */
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

static void set_times(struct sl_trace_events *t, const struct sl_trace_row *row,
                      struct sl_event *ev)
{
    int64_t start = row->ts_ns, end;

    end = (row->has & SL_HAS_DUR) && row->dur_ns > 0 ? start + row->dur_ns : start;
    t->counts.negative += (row->has & SL_HAS_DUR) && row->dur_ns < 0;
    ev->start_ns = (uint64_t)start + TIME_ORIGIN_NS;
    ev->end_ns = (uint64_t)end + TIME_ORIGIN_NS;
}

/* Returns 0, or -EINVAL if the row is unusable. */
static int begin_range(struct sl_trace_events *t, const struct sl_trace_row *row,
                       struct sl_event *ev)
{
    *ev = (struct sl_event){.kind = SL_TRACE_RANGE};
    if (!(row->has & SL_HAS_TS) || row->ts_ns < 0)
        return -EINVAL;
    set_times(t, row, ev);
    return 0;
}

/* Sets the members that calls, operations and waits have in common. The caller has checked that the
 * row is usable. */
static void begin_event(struct sl_trace_events *t, const struct sl_trace_row *row, int kind,
                        struct sl_event *ev)
{
    *ev = (struct sl_event){.kind = (uint8_t)kind};
    set_times(t, row, ev);
    ev->correlation = widen(t, row->correlation);
    if (ev->start_ns < t->first_ns)
        t->first_ns = ev->start_ns;
}

static struct sl_et_inputs_list list_of(struct sl_text text)
{
    return (struct sl_et_inputs_list){text.data, text.size};
}

/* Stores an operator's inputs as fields of a Chakra Node. Most operators have the same inputs as an
 * earlier operator, so equal inputs are stored once. */
static uint32_t put_inputs(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    char node[SL_ET_INPUTS_MOST];
    size_t size =
        sl_et_inputs_put(node, list_of(row->values), list_of(row->dims), list_of(row->types));
    uint32_t id = size ? sl_intern_put(t->inputs, node, size) : 0;

    t->counts.inputs_lost += size && !id;
    return id;
}

/* Returns whether the row is an asynchronous operator. Syncline sets the arg "async" on record
 * functions. An NVTX range does not count, because the program may use an arg of that name. */
static int is_async(const struct sl_trace_events *t, const struct sl_trace_row *row)
{
    return t->own && row->has & SL_HAS_ASYNC && row->has & SL_HAS_RECORD_FUNCTION;
}

/* Adds the row of a range to the kept rows. The event of the range has already been added to the
 * first sort order. */
static int keep_row(struct sl_trace_events *t, const struct sl_trace_row *row,
                    const struct sl_event *range)
{
    struct sl_event ev = *range;

    ev.kind = row->category == SL_CAT_CPU_OP ? SL_EV_CPU_OP : SL_EV_RANGE;
    ev.flags = is_async(t, row) ? SL_EVF_ASYNC : 0;
    ev.forward_thread = id32(row->has, SL_HAS_FORWARD_THREAD, row->forward_thread, 0);
    ev.inputs = put_inputs(t, row);
    ev.u.row.record_function = row->has & SL_HAS_RECORD_FUNCTION && row->record_function > 0
                                   ? (uint64_t)row->record_function
                                   : 0;
    ev.u.row.sequence = row->has & SL_HAS_SEQUENCE && row->sequence >= 0 ? row->sequence : -1;
    return sl_event_sort_put(t->by_start, &ev);
}

static void note_step(struct sl_trace_events *t, const struct sl_trace_row *row,
                      const struct sl_event *range)
{
    if (!sl_text_begins(row->name, "ProfilerStep#"))
        return;
    if (t->steps == SL_TRACE_STEPS) {
        t->counts.steps_lost++;
        return;
    }
    t->step[t->steps++] = (struct sl_trace_step){range->start_ns, range->end_ns, range->name};
}

/* Sets the event's thread. Returns -ENOSPC beyond the limit of threads. */
static int set_thread(struct sl_trace_events *t, const struct sl_trace_row *row,
                      struct sl_event *ev)
{
    ev->thread = sl_thread_ids_put(&t->threads, row->tid.number);
    t->counts.threads_lost += ev->thread == 0;
    return ev->thread ? 0 : -ENOSPC;
}

/* Begins a range as begin_range() does, and also sets thread and name. The event is for the first
 * sort order. */
static int begin_named(struct sl_trace_events *t, const struct sl_trace_row *row,
                       struct sl_event *ev)
{
    if (begin_range(t, row, ev) != 0 || set_thread(t, row, ev) != 0)
        return -EINVAL;
    ev->name = intern(t, row->name);
    ev->order = ++t->ranges;
    ev->correlation = row->has & SL_HAS_EXTERNAL_ID ? (uint64_t)row->external_id : 0;
    return 0;
}

static int take_python(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;

    if (t->by_start || !row->tid.is_number || !sl_python_row_is_users(row->name) ||
        begin_named(t, row, &ev) != 0)
        return 0;
    ev.kind = SL_TRACE_PYTHON;
    return sl_event_sort_put(t->by_time, &ev);
}

static int take_range(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;
    int rc = 0;

    if (begin_named(t, row, &ev) != 0)
        return 0;
    if (row->category == SL_CAT_USER_ANNOTATION)
        ev.kind = SL_TRACE_ANNOTATION;
    note_step(t, row, &ev);
    if (t->by_start)
        rc = keep_row(t, row, &ev);
    if (t->collectives)
        ev.collective = sl_row_collectives_row(t->collectives, row);
    return rc ? rc : sl_event_sort_put(t->by_time, &ev);
}

#define NAMED (1ull << 63) /* not a valid process number */

/* Stores which process the row belongs to. A tool that merges files of several ranks may identify
 * processes by text, such as "[TP00] 4711". */
static void note_process(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    uint64_t process;

    if (!row->pid.text.data)
        return;
    process = row->pid.is_number ? (uint64_t)row->pid.number : NAMED | intern(t, row->pid.text);
    if (!t->has_process)
        t->process = process;
    t->has_process = 1;
    t->counts.of_others += process != t->process;
}

static int take_call(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    int kind = row->category == SL_CAT_DRIVER ? SL_EV_DRIVER : SL_EV_RUNTIME;
    struct sl_event ev;

    begin_event(t, row, kind, &ev);
    if (set_thread(t, row, &ev) != 0)
        return 0;
    note_process(t, row);
    t->counts.numbered += (row->has & SL_HAS_CBID) != 0;
    ev.name = intern(t, row->name);
    ev.around = intern(t, row->wait_in);
    ev.around_line = intern(t, row->wait_at);
    ev.u.call.cbid = id32(row->has, SL_HAS_CBID, row->cbid, 0);
    ev.u.call.result = id32(row->has, SL_HAS_RESULT, row->result, 0);
    if (sl_call_name_launches((enum sl_event_kind)kind, ev.u.call.cbid))
        ev.flags |= SL_EVF_LAUNCH;
    else if (row->correlation == 1)
        t->has_first_call = 1;
    sl_event_records_see(&t->records, &ev, 0);
    return sl_event_sort_put(t->by_time, &ev);
}

/* In files of torch.profiler, such rows have thread 0. */
static void take_overhead(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;
    enum sl_overhead_type type =
        sl_text_is(row->name, "Command Buffer Full")                ? SL_OVERHEAD_QUEUE_FULL
        : sl_text_is(row->name, "Runtime Triggered Module Loading") ? SL_OVERHEAD_MODULE_LOAD
        : sl_text_is(row->name, "Lazy Function Loading")            ? SL_OVERHEAD_FUNCTION_LOAD
                                                                    : SL_OVERHEAD_OTHER;

    if (type == SL_OVERHEAD_OTHER || begin_range(t, row, &ev) != 0)
        return;
    if (row->tid.is_number && row->tid.number > 0 && set_thread(t, row, &ev) != 0)
        return;
    ev.u.overhead.type = type;
    sl_overheads_put(&t->overheads, &ev);
}

/* Kineto names a copy "Memcpy DtoH (Device -> Pageable)". The words stand for the numbers of
 * CUPTI's enums for copy kinds and memory kinds. */
/* Returns the number of a word, or 0 if the word is unknown. After its end, `word` returns the
 * words from the start again. */
static uint32_t number_of(const char *(*word)(uint32_t), const char *text, const char *end)
{
    const struct sl_text wanted = {text, (size_t)(end - text)};

    for (uint32_t i = 1; word(i) != word(0); i++)
        if (sl_text_is(wanted, word(i)))
            return i;
    return 0;
}

/* Sets the copy kind and the two memory kinds by the name of a copy. Some writers escape the
 * '>'. */
static void copy_kinds(struct sl_text raw, struct sl_shape *shape)
{
    char room[128];
    struct sl_text name = sl_unescaped(raw, room, sizeof(room));
    const char *end = name.data + name.size, *open, *arrow, *close;

    if (!sl_text_begins(name, "Memcpy "))
        return;
    open = memmem(name.data, name.size, " (", 2);
    arrow = open ? memmem(open, (size_t)(end - open), " -> ", 4) : NULL;
    close = arrow ? memchr(arrow, ')', (size_t)(end - arrow)) : NULL;
    if (!close || open < name.data + 7)
        return;
    shape->copy_kind = number_of(sl_copy_name_kind, name.data + 7, open);
    shape->src_memory = number_of(sl_copy_name_memory, open + 2, arrow);
    shape->dst_memory = number_of(sl_copy_name_memory, arrow + 4, close);
}

/* Sets the memory kind by the name of a memset, such as "Memset (Device)". */
static void memset_kind(struct sl_text name, struct sl_shape *shape)
{
    static const char begin[] = "Memset (";
    const size_t at = sizeof(begin) - 1;

    if (sl_text_begins(name, begin) && name.data[name.size - 1] == ')')
        shape->dst_memory =
            number_of(sl_copy_name_memory, name.data + at, name.data + name.size - 1);
}

/* Returns the kind of event for the row of a GPU operation. */
static enum sl_event_kind operation_kind(const struct sl_trace_row *row)
{
    return row->category == SL_CAT_KERNEL   ? SL_EV_KERNEL
           : row->category == SL_CAT_MEMCPY ? SL_EV_MEMCPY
                                            : SL_EV_MEMSET;
}

/* Returns the device of a GPU row, which is the row's pid. A number that no GPU can have does not
 * count as a device. */
static uint8_t device_of(const struct sl_trace_row *row)
{
    if (row->has & SL_HAS_DEVICE)
        return sl_event_device((uint64_t)row->device);
    return row->pid.is_number && row->pid.number >= 0 && row->pid.number < SL_DEVICE_MAX
               ? (uint8_t)row->pid.number
               : SL_DEVICE_NONE;
}

/* Sets all members except the shape. */
static void begin_operation(struct sl_trace_events *t, const struct sl_trace_row *row,
                            struct sl_event *ev)
{
    begin_event(t, row, operation_kind(row), ev);
    ev->device = device_of(row);
    ev->context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev->stream = sl_stream_home_number(&t->home, row->stream);
    ev->name = intern(t, row->name);
    ev->graph = id32(row->has, SL_HAS_GRAPH, row->graph, 0);
    if ((row->has & SL_HAS_GRAPH_NODE) && row->graph_node > 0)
        ev->u.op.graph_node = (uint64_t)row->graph_node;
    if ((row->has & SL_HAS_BYTES) && row->bytes > 0)
        ev->u.op.bytes = (uint64_t)row->bytes;
    if (row->has & SL_HAS_STILL_RUNNING)
        ev->flags |= SL_EVF_STILL_RUNNING;
}

static int take_operation(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_shape shape = {.kind = (uint8_t)operation_kind(row)};
    struct sl_event ev;

    begin_operation(t, row, &ev);
    if (ev.stream == SL_STREAM_NONE) {
        t->counts.unusable++;
        return 0;
    }
    sl_stream_home_see_operation(&t->home, ev.device, ev.context, ev.stream);
    sl_event_records_see(&t->records, &ev, 0);
    if (t->collectives && ev.kind == SL_EV_KERNEL)
        sl_row_collectives_join(t->collectives, ev.correlation,
                                sl_row_collectives_row(t->collectives, row));
    if (ev.kind != SL_EV_KERNEL) {
        shape.device = ev.device;
        shape.context = ev.context;
        shape.stream = ev.stream;
        copy_kinds(row->name, &shape);
        memset_kind(row->name, &shape);
        ev.shape = sl_shape_put(t->shapes, &shape);
    }
    return sl_event_sort_put(t->by_correlation, &ev);
}

static enum sl_sync_type sync_type(struct sl_text name)
{
    if (sl_text_begins(name, "Event Sync"))
        return SL_SYNC_EVENT;
    if (sl_text_begins(name, "Stream Wait Event"))
        return SL_SYNC_STREAM_WAIT;
    if (sl_text_begins(name, "Stream Sync"))
        return SL_SYNC_STREAM;
    return sl_text_begins(name, "Context Sync") ? SL_SYNC_CONTEXT : SL_SYNC_UNKNOWN;
}

/* Adds an event for the event record that a wait names. If the file does not state the record's
 * context, place_record() sets it after the last row. */
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
    if (ev.stream == SL_STREAM_NONE)
        return 0;
    sl_event_records_see(&t->records, &ev, 0);
    return sl_event_sort_put(t->by_correlation, &ev);
}

/* Adds an event for a row of a cudaEventRecord. Its type is set, so that its context is kept. */
static int take_record(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .flags = SL_EVF_NO_TIME};

    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 ||
        row->correlation > UINT32_MAX || !(row->has & SL_HAS_CONTEXT))
        return 0;
    ev.correlation = widen(t, row->correlation);
    ev.device = sl_event_device(id32(row->has, SL_HAS_DEVICE, row->device, 0));
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = id32(row->has, SL_HAS_STREAM, row->stream, SL_STREAM_NONE);
    ev.u.sync.event_id = id32(row->has, SL_HAS_WAIT_EVENT, row->wait_event, 0);
    ev.u.sync.event_sync_id = ev.correlation;
    ev.u.sync.type = SL_SYNC_STREAM;
    if (ev.stream == SL_STREAM_NONE || !ev.u.sync.event_id)
        return 0;
    sl_event_records_see(&t->records, &ev, 1);
    return sl_event_sort_put(t->by_correlation, &ev);
}

static int take_wait(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;
    int rc = 0;

    begin_event(t, row, SL_EV_SYNC, &ev);
    ev.device = sl_event_device(id32(row->has, SL_HAS_DEVICE, row->device, 0));
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = id32(row->has, SL_HAS_STREAM, row->stream, SL_STREAM_NONE);
    sl_stream_home_see(&t->home, ev.context, ev.stream);
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

/* Keeps the name of a thread. The rows of streams have names too, and other numbers. */
static void note_thread_name(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    uint64_t *place;

    if (!sl_text_is(row->name, "thread_name") || !row->tid.is_number || !row->args_name.data ||
        row->tid.number < 0 || sl_text_begins(row->args_name, "stream "))
        return;
    place = sl_map_put(&t->thread_name, (uint64_t)row->tid.number + 1);
    if (place)
        *place = intern(t, row->args_name);
}

/* Keeps the time at which viewers begin to show the trace. */
static void note_first_slice(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    if (row->has & SL_HAS_TS && row->ts_ns >= 0 &&
        (uint64_t)row->ts_ns + TIME_ORIGIN_NS < t->first_slice_ns)
        t->first_slice_ns = (uint64_t)row->ts_ns + TIME_ORIGIN_NS;
}

static int take_metadata(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev = {.kind = SL_EV_META_STREAM};

    note_thread_name(t, row);
    if (!(row->has & SL_HAS_STREAM_FLAGS) || !row->tid.is_number || !row->pid.is_number ||
        row->pid.number < 0 || row->pid.number >= SL_DEVICE_NONE)
        return 0;
    ev.device = (uint8_t)row->pid.number;
    ev.context = id32(row->has, SL_HAS_CONTEXT, row->context, 0);
    ev.stream = (uint32_t)row->tid.number;
    ev.u.meta.flags = id32(row->has, SL_HAS_STREAM_FLAGS, row->stream_flags, 0);
    return sl_event_sort_put(t->by_correlation, &ev);
}

/* Keeps the names of the first categories that are not CUDA's, joined by ", ". */
static void note_category(struct sl_trace_events *t, struct sl_text name)
{
    size_t used = strlen(t->others);

    if (used + name.size + 3 > sizeof(t->others) ||
        memmem(t->others, used, name.data, name.size) != NULL)
        return;
    snprintf(t->others + used, sizeof(t->others) - used, "%s%.*s", used ? ", " : "", (int)name.size,
             name.data);
}

int sl_trace_events_row(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    if (row->phase == 'M')
        return take_metadata(t, row);
    if (row->phase != 'X')
        return 0;
    note_first_slice(t, row);
    if (row->category == SL_CAT_OTHER)
        note_category(t, row->category_text);
    if (sl_row_unusable(row, t->own)) {
        t->counts.unusable++;
        return 0;
    }
    if (sl_row_is_gpu(row))
        return take_operation(t, row);
    if (sl_row_is_call(row))
        return take_call(t, row);
    if (row->category == SL_CAT_CPU_OP || row->category == SL_CAT_USER_ANNOTATION)
        return take_range(t, row);
    if (row->category == SL_CAT_PYTHON)
        return take_python(t, row);
    if (row->category == SL_CAT_EVENT_RECORD)
        return t->own ? 0 : take_record(t, row);
    if (row->category == SL_CAT_OVERHEAD)
        take_overhead(t, row);
    return row->category == SL_CAT_SYNC ? take_wait(t, row) : 0;
}

static void note_call(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_trace_call *calls = row->has_waited ? t->call : t->other_call;
    uint64_t correlation = (uint64_t)row->correlation;

    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 || row->ts_ns < 0)
        return;
    calls[correlation % SL_TRACE_CALLS] = (struct sl_trace_call){
        .correlation = correlation,
        .name = intern(t, row->name),
        .place = intern(t, row->wait_in),
        .line = intern(t, row->wait_at),
        .start_ns = (uint64_t)row->ts_ns + TIME_ORIGIN_NS,
    };
}

void sl_trace_events_note(struct sl_trace_events *t, const struct sl_trace_row *row)
{
    struct sl_event ev;

    if (row->phase == 'M' && !row->edge)
        note_thread_name(t, row);
    if (row->phase != 'X')
        return;
    note_first_slice(t, row);
    if (sl_row_is_call(row))
        note_call(t, row);
    if (row->category != SL_CAT_USER_ANNOTATION || begin_range(t, row, &ev) != 0 ||
        !sl_text_begins(row->name, "ProfilerStep#"))
        return;
    ev.name = intern(t, row->name);
    note_step(t, row, &ev);
}

int sl_trace_events_operation(struct sl_trace_events *t, const struct sl_trace_row *row,
                              struct sl_event *out)
{
    if (row->phase != 'X' || !sl_row_is_gpu(row) || sl_row_unusable(row, t->own))
        return -EINVAL;
    begin_operation(t, row, out);
    return 0;
}
