/*
 * deferred_calls.c - NVTX's payload extension: deferred events, and the clocks of their timestamps.
 *
 * Threads: any thread of the application; nothing blocks, allocates or logs. Memory: only the lanes
 * (collect/lane/lane.h) and the tables of time.c. The program's functions that read its clocks are
 * called here, inside the program's own NVTX calls (collect/nvtx/time.h).
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <stdatomic.h>

#include "base/clock.h"
#include "base/stats.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/payload.h"
#include "collect/nvtx/schema.h"
#include "collect/nvtx/time.h"

#define BATCH_MAX  4096 /* maximum number of events in a batch, so that the call ends soon */
#define POINTS_MAX 4096 /* maximum number of points in a table for two clocks */

/* ---- events ---- */

/* Returns the time on the trace's clock, so that a deferred event with this timestamp needs no
 * conversion. */
static int64_t on_timestamp(void)
{
    return (int64_t)sl_clock_now();
}

/* `clock` is the clock of timestamps that name no clock; 0 means the trace's clock. */
static int time_of(unsigned domain, const struct sl_nvtx_moment *m, uint64_t clock, uint64_t *ns)
{
    if (m->clock)
        clock = m->clock;
    if (clock)
        return sl_nvtx_time_ns(domain, clock, m->at, ns);
    *ns = (uint64_t)m->at;
    return 0;
}

static void submit(unsigned domain, const nvtxPayloadData_t *payloads, size_t count, uint64_t clock)
{
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event *ev = sl_nvtx_payload_event(&said, domain, payloads, count);
    uint64_t start, end;

    if (!said.has_start && !said.has_end)
        return;
    if (time_of(domain, said.has_start ? &said.start : &said.end, clock, &start) ||
        time_of(domain, said.has_end ? &said.end : &said.start, clock, &end))
        sl_stats_add(SL_STAT_RANGES_NO_CLOCK, 1);
    else
        sl_nvtx_record_past(SL_LANE_PAST, domain, ev, start, end);
}

static void on_submit(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    if (payloads)
        submit(sl_nvtx_domain_of(domain), payloads, count, 0);
}

static void on_submit_batch(nvtxDomainHandle_t handle, const nvtxEventBatch_t *batch)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    const struct sl_nvtx_schema *s =
        batch && batch->events ? sl_nvtx_schema_find(domain, batch->eventSchemaId) : NULL;
    size_t each = s ? s->size : 0, count = each ? batch->size / each : 0;
    uint64_t clock = count ? sl_nvtx_time_of_scope(domain, batch->scope) : 0;

    if (count > BATCH_MAX) {
        sl_lanes_lose(count - BATCH_MAX);
        count = BATCH_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        const nvtxPayloadData_t one = {batch->eventSchemaId, each,
                                       (const char *)batch->events + i * each};

        submit(domain, &one, 1, clock);
    }
}

/* ---- clocks ---- */

/* A scope has no track of its own. We use the scope only to find the clock of a batch. */
static uint64_t on_scope(nvtxDomainHandle_t domain, const nvtxScopeAttr_t *a)
{
    static _Atomic uint64_t made;

    (void)domain;
    if (a && a->structSize >= sizeof(*a) && a->scopeId)
        return a->scopeId;
    return NVTX_SCOPE_ID_DYNAMIC_START + atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
}

static uint64_t on_time_domain(nvtxDomainHandle_t domain, const nvtxTimeDomainAttr_t *a)
{
    const struct sl_nvtx_clock clock = {
        .domain = sl_nvtx_domain_of(domain),
        .id = a ? a->timeDomainId : 0,
        .type = a ? a->timestampTypeId : 0,
        .scope = a ? a->scopeId : 0,
        .ticks_per_s = a ? a->timerResolution : 0,
        .is_unix_time = a && a->timerStart == NVTX_TIMER_START_UNIX_EPOCH,
    };

    return a ? sl_nvtx_time_add(&clock) : NVTX_TIME_DOMAIN_ID_NONE;
}

static void on_timer(nvtxDomainHandle_t domain, uint64_t id, uint64_t flags, int64_t (*read)(void))
{
    const struct sl_nvtx_timer timer = {.read = read};

    (void)flags; /* the flags say when the clock function may be called; we call it only inside the
                  * program's NVTX calls */
    if (read)
        sl_nvtx_time_set_timer(sl_nvtx_domain_of(domain), id, &timer);
}

static void on_timer_with(nvtxDomainHandle_t domain, uint64_t id, uint64_t flags,
                          int64_t (*read)(void *data), void *data)
{
    const struct sl_nvtx_timer timer = {.read_with = read, .data = data};

    (void)flags;
    if (read)
        sl_nvtx_time_set_timer(sl_nvtx_domain_of(domain), id, &timer);
}

static void on_point(nvtxDomainHandle_t domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b)
{
    sl_nvtx_time_point(sl_nvtx_domain_of(domain), a, b, at_a, at_b);
}

static void on_points(nvtxDomainHandle_t handle, uint64_t a, uint64_t b,
                      const nvtxSyncPoint_t *point, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);

    if (!point)
        return;
    for (size_t i = 0; i < count && i < POINTS_MAX; i++)
        sl_nvtx_time_point(domain, a, b, point[i].src, point[i].dst);
}

static void on_factor(nvtxDomainHandle_t domain, uint64_t a, uint64_t b, double slope, int64_t at_a,
                      int64_t at_b)
{
    sl_nvtx_time_factor(sl_nvtx_domain_of(domain), a, b, slope, at_a, at_b);
}

/* ---- the table ---- */

const struct sl_nvtx_slot sl_nvtx_deferred_slots[] = {
    SL_NVTX_EXTENSION_SLOT(nvtxTimestampGet, on_timestamp),
    SL_NVTX_EXTENSION_SLOT(nvtxEventSubmit, on_submit),
    SL_NVTX_EXTENSION_SLOT(nvtxEventBatchSubmit, on_submit_batch),
    SL_NVTX_EXTENSION_SLOT(nvtxScopeRegister, on_scope),
    SL_NVTX_EXTENSION_SLOT(nvtxTimeDomainRegister, on_time_domain),
    SL_NVTX_EXTENSION_SLOT(nvtxTimerSource, on_timer),
    SL_NVTX_EXTENSION_SLOT(nvtxTimerSourceWithData, on_timer_with),
    SL_NVTX_EXTENSION_SLOT(nvtxTimeSyncPoint, on_point),
    SL_NVTX_EXTENSION_SLOT(nvtxTimeSyncPointTable, on_points),
    SL_NVTX_EXTENSION_SLOT(nvtxTimestampConversionFactor, on_factor),
    {0, 0, NULL},
};
