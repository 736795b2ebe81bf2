/*
 * decode_cpu.c - decodes CPU-side records: calls, waits, CUDA event records, CUPTI's overhead.
 *
 * Threads: the recorder thread. Memory: the decoder's.
 */
#include <stdio.h>

#include "base/stats.h"
#include "collect/cupti/decode_impl.h"
#include "event/call_name.h"

#define INVALID_VALUE UINT32_MAX /* value of CUPTI_SYNCHRONIZATION_INVALID_VALUE */

/* Calls whose callback id is outside the table get a name made from the id. */
static uint32_t call_name(struct sl_decode *d, enum sl_event_kind domain, uint32_t cbid)
{
    uint32_t once = 0, *names = domain == SL_EV_RUNTIME ? d->runtime_name : d->driver_name;
    uint32_t *slot = cbid < SL_DECODE_CALLS ? &names[cbid] : &once;
    const char *name;
    char text[48];

    if (*slot)
        return *slot;
    name = sl_call_name(domain, cbid);
    if (!name) {
        snprintf(text, sizeof text, "%s call %u", domain == SL_EV_RUNTIME ? "cuda" : "cu", cbid);
        name = text;
    }
    return sl_decode_own_text(d, name, slot);
}

int sl_decode_api(struct sl_decode *d, const uint8_t *record)
{
    enum sl_event_kind domain =
        sl_load32(record) == SL_CUPTI_KIND_RUNTIME ? SL_EV_RUNTIME : SL_EV_DRIVER;
    const struct sl_cupti_api_layout *at = d->layout->api;
    uint32_t cbid = sl_load32(record + at->cbid), pid = sl_load32(record + at->pid);
    struct sl_event ev = {
        .kind = (uint8_t)domain,
        .correlation = sl_load32(record + at->correlation),
        .thread = sl_load32(record + at->thread),
    };

    if (d->opt.filter_api && !sl_call_name_is_wanted(domain, cbid)) {
        sl_stats_add(SL_STAT_RECORDS_FILTERED, 1);
        return 0;
    }
    if (sl_decode_times(&ev, sl_load64(record + at->start), sl_load64(record + at->end)) != 0)
        return -1;
    if (!d->asked_early)
        sl_decode_ask_early(d); /* this call may be the trace's first event, when no context exists
                                 * yet */
    if (sl_call_name_launches(domain, cbid))
        ev.flags |= SL_EVF_LAUNCH;
    ev.name = call_name(d, domain, cbid);
    ev.u.call.cbid = cbid;
    ev.u.call.result = sl_load32(record + at->result);
    sl_cupti_objects_thread(d->seen, pid, ev.thread);
    sl_decode_emit(d, &ev);
    return 0;
}

static uint32_t valid_or_zero(uint32_t value)
{
    return value == INVALID_VALUE ? 0 : value;
}

/* An invalid 64-bit id has its lower 32 bits or all 64 bits set, depending on CUPTI's version. */
static uint64_t sync_id(uint64_t value)
{
    return value == INVALID_VALUE || value == UINT64_MAX ? 0 : value;
}

int sl_decode_sync(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_sync_layout *at = d->layout->sync;
    uint32_t type = sl_load32(record + at->type);
    uint32_t result = sl_load32_if(record, at->result);
    struct sl_event ev = {
        .kind = SL_EV_SYNC,
        .correlation = sl_load32(record + at->correlation),
        .context = sl_load32(record + at->context),
        .stream = sl_load32(record + at->stream),
    };

    /* A query that found work pending did not wait for that work. */
    if (result == SL_RESULT_NOT_READY) {
        sl_stats_add(SL_STAT_RECORDS_FILTERED, 1);
        return 0;
    }
    if (sl_decode_times(&ev, sl_load64(record + at->start), sl_load64(record + at->end)) != 0)
        return -1;
    if (!at->result)
        ev.flags |= SL_EVF_NO_RESULT;
    ev.u.sync.type = type <= SL_SYNC_CONTEXT ? (uint8_t)type : SL_SYNC_UNKNOWN;
    ev.u.sync.result = result < UINT16_MAX ? (uint16_t)result : UINT16_MAX;
    ev.u.sync.event_id = valid_or_zero(sl_load32(record + at->event));
    ev.u.sync.event_sync_id = sync_id(sl_load64_if(record, at->event_sync));
    sl_decode_in_context(d, &ev);
    return 0;
}

int sl_decode_cuda_event(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_cuda_event_layout *at = d->layout->cuda_event;
    struct sl_event ev = {
        .kind = SL_EV_CUDA_EVENT,
        .correlation = sl_load32(record + at->correlation),
        .context = sl_load32(record + at->context),
        .stream = sl_load32(record + at->stream),
    };

    ev.start_ns = ev.end_ns = sl_load64_if(record, at->device_ns); /* CUPTI fills this time only on
                                                                    * request, so it is usually 0 */
    if (ev.start_ns == 0)
        ev.flags |= SL_EVF_NO_TIME;
    ev.u.sync.event_id = valid_or_zero(sl_load32(record + at->event));
    ev.u.sync.event_sync_id = sync_id(sl_load64_if(record, at->event_sync));
    sl_decode_in_context(d, &ev);
    return 0;
}

/* The names that libkineto uses, because tools that read traces know them. */
static const char *overhead_text(uint32_t type)
{
    static const struct {
        uint32_t type;
        const char *text;
    } known[] = {
        {SL_CUPTI_OVERHEAD_DRIVER_COMPILER, "Driver Compiler"},
        {SL_CUPTI_OVERHEAD_CUPTI_BUFFER_FLUSH, "Buffer Flush"},
        {SL_CUPTI_OVERHEAD_CUPTI_INSTRUMENTATION, "Instrumentation"},
        {SL_CUPTI_OVERHEAD_CUPTI_RESOURCE, "Resource"},
        {SL_CUPTI_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "Runtime Triggered Module Loading"},
        {SL_CUPTI_OVERHEAD_LAZY_FUNCTION_LOADING, "Lazy Function Loading"},
        {SL_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL, "Command Buffer Full"},
        {SL_CUPTI_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "Activity Buffer Request"},
        {SL_CUPTI_OVERHEAD_UVM_ACTIVITY_INIT, "UVM Activity Init"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type)
            return known[i].text;
    return "Unknown";
}

static enum sl_overhead_type overhead_type(uint32_t type)
{
    return type == SL_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL                ? SL_OVERHEAD_QUEUE_FULL
           : type == SL_CUPTI_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING ? SL_OVERHEAD_MODULE_LOAD
           : type == SL_CUPTI_OVERHEAD_LAZY_FUNCTION_LOADING            ? SL_OVERHEAD_FUNCTION_LOAD
                                                                        : SL_OVERHEAD_OTHER;
}

int sl_decode_overhead(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_overhead_layout *at = d->layout->overhead;
    uint32_t type = sl_load32(record + at->type), once = 0;
    /* CUPTI's own types have their numbers in the upper 16 bits, the driver's types in the lower 16
     * bits. */
    uint32_t place = type >> 16 ? (type >> 16) + 1 : type;
    struct sl_event ev = {
        .kind = SL_EV_OVERHEAD,
        .correlation = sl_load32_if(record, at->correlation),
    };

    if (sl_decode_times(&ev, sl_load64(record + at->start), sl_load64(record + at->end)) != 0)
        return -1;
    if (!d->asked_early)
        sl_decode_ask_early(d);
    /* User-defined records have no object kind. In a user-defined record, thread 0 means that the
     * object is not a thread. */
    if (at->object_kind ? sl_load32(record + at->object_kind) == SL_CUPTI_OBJECT_THREAD
                        : sl_load32(record + at->thread) != 0) {
        ev.thread = sl_load32(record + at->thread);
        sl_cupti_objects_thread(d->seen, sl_load32(record + at->pid), ev.thread);
    }
    ev.u.overhead.type = overhead_type(type);
    ev.name = sl_decode_own_text(d, overhead_text(type),
                                 place < SL_DECODE_OVERHEADS ? &d->overhead_name[place] : &once);
    sl_decode_emit(d, &ev);
    return 0;
}
