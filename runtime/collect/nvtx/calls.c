/*
 * calls.c - NVTX calls that report events: ranges, marks, locks.
 *
 * Each function parses NVTX's arguments and passes them to event.c. Threads: any thread of the
 * application; nothing blocks, allocates or logs. Memory: only the lanes (collect/lane/lane.h).
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#include <string.h>

#include "base/clock.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/message.h"
#include "event/event.h"

/* ---- arguments ---- */

/* A handle is a number. A handle is never dereferenced, so a wrong handle from the application does
 * no harm. */
unsigned sl_nvtx_domain_of(const void *handle)
{
    return (uintptr_t)handle < SL_LANE_DOMAINS ? (unsigned)(uintptr_t)handle : 0;
}

static void take_value(struct sl_nvtx_event *ev, const nvtxEventAttributes_t *a)
{
    static const uint8_t type_of[] = {
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT64] = SL_NOTE_U64, [NVTX_PAYLOAD_TYPE_INT64] = SL_NOTE_I64,
        [NVTX_PAYLOAD_TYPE_DOUBLE] = SL_NOTE_F64,         [NVTX_PAYLOAD_TYPE_FLOAT] = SL_NOTE_F32,
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT32] = SL_NOTE_U64, [NVTX_PAYLOAD_TYPE_INT32] = SL_NOTE_I64,
    };

    if (a->payloadType == (int32_t)NVTX_PAYLOAD_TYPE_EXT) {
        ev->payloads = (const void *)(uintptr_t)a->payload.ullValue;
        ev->payload_count = a->reserved0 > 0 ? (size_t)a->reserved0 : 0;
    } else if (a->payloadType > 0 && (size_t)a->payloadType < sizeof(type_of)) {
        ev->value_type = type_of[a->payloadType];
        ev->value = a->payload.ullValue;
        if (a->payloadType == NVTX_PAYLOAD_TYPE_INT32)
            ev->value = (uint64_t)(int64_t)a->payload.iValue;
        else if (a->payloadType >= NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
            ev->value = a->payload.uiValue;
    }
}

/* The caller may be built with an older or newer NVTX, so its struct may be shorter or longer than
 * ours. */
static void take_event(struct sl_nvtx_event *ev, const nvtxEventAttributes_t *given, char *room)
{
    const nvtxEventAttributes_t *a = given;
    nvtxEventAttributes_t whole;

    memset(ev, 0, sizeof(*ev));
    if (!given)
        return;
    if (given->size < sizeof(whole)) {
        memset(&whole, 0, sizeof(whole));
        memcpy(&whole, given, given->size);
        a = &whole;
    }
    ev->message = sl_nvtx_message_of(a->messageType, &a->message, room);
    if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        ev->step = (uint32_t)((uintptr_t)a->message.registered >> SL_NVTX_STEP_SHIFT);
    ev->category = a->category;
    ev->has_category = a->category != 0;
    if (a->colorType == NVTX_COLOR_ARGB) {
        ev->color = a->color;
        ev->has_color = 1;
    }
    if (a->payloadType)
        take_value(ev, a);
}

/* Returns whether the event has a registered string and nothing else. Nearly all events are of this
 * form. */
static int is_plain(const nvtxEventAttributes_t *a)
{
    return a && a->size == sizeof(*a) && a->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
           (a->category | (uint32_t)a->colorType | (uint32_t)a->payloadType) == 0 &&
           (uintptr_t)a->message.registered >> SL_NVTX_STEP_SHIFT == 0;
}

/* ---- ranges and marks ---- */

static int push(unsigned domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    if (__builtin_expect(is_plain(a), 1))
        return sl_nvtx_push_string(domain, (uint32_t)(uintptr_t)a->message.registered);
    take_event(&ev, a, room);
    return sl_nvtx_push(domain, &ev);
}

static int on_domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    return push(sl_nvtx_domain_of(domain), a);
}

static nvtxRangeId_t on_domain_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    take_event(&ev, a, room);
    return sl_nvtx_start(sl_nvtx_domain_of(domain), &ev);
}

static void on_domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    take_event(&ev, a, room);
    sl_nvtx_record_event(SL_LANE_MARK, sl_nvtx_domain_of(domain), &ev, 0);
}

/* The handle NULL means the default domain. */
static void on_mark_ex(const nvtxEventAttributes_t *a)
{
    on_domain_mark_ex(NULL, a);
}

static void on_mark_a(const char *text)
{
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_text(text)};

    sl_nvtx_record_event(SL_LANE_MARK, 0, &ev, 0);
}

static void on_mark_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_wide(text, room)};

    sl_nvtx_record_event(SL_LANE_MARK, 0, &ev, 0);
}

static nvtxRangeId_t on_start_ex(const nvtxEventAttributes_t *a)
{
    return on_domain_start_ex(NULL, a);
}

static nvtxRangeId_t on_start_a(const char *text)
{
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_text(text)};

    return sl_nvtx_start(0, &ev);
}

static nvtxRangeId_t on_start_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_wide(text, room)};

    return sl_nvtx_start(0, &ev);
}

static void on_end(nvtxRangeId_t id)
{
    sl_nvtx_end(0, id, NULL);
}

static int on_push_ex(const nvtxEventAttributes_t *a)
{
    return push(0, a);
}

static int on_push_a(const char *text)
{
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_text(text)};

    return sl_nvtx_push(0, &ev);
}

static int on_push_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = sl_nvtx_message_of_wide(text, room)};

    return sl_nvtx_push(0, &ev);
}

static int on_pop(void)
{
    return sl_nvtx_pop(0, NULL);
}

static void on_domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    sl_nvtx_end(sl_nvtx_domain_of(domain), id, NULL);
}

static int on_domain_pop(nvtxDomainHandle_t domain)
{
    return sl_nvtx_pop(sl_nvtx_domain_of(domain), NULL);
}

/* ---- synchronisation ---- */

static void sync_event(enum sl_lane_what what, nvtxSyncUser_t lock)
{
    struct sl_lane *lane = lock ? sl_lane_get() : NULL;
    struct sl_lane_record *r = lane ? sl_lane_begin(lane, 2) : NULL;

    if (!r)
        return;
    *r = (struct sl_lane_record){.what = (uint8_t)what,
                                 .pairs = 1,
                                 .aux = (uint32_t)(uintptr_t)lock,
                                 .stamp = sl_clock_stamp()};
    sl_lane_put(lane, 2);
}

static void on_acquire(nvtxSyncUser_t lock)
{
    sync_event(SL_LANE_ACQUIRE, lock);
}

static void on_acquired(nvtxSyncUser_t lock)
{
    sync_event(SL_LANE_ACQUIRED, lock);
}

static void on_not_acquired(nvtxSyncUser_t lock)
{
    sync_event(SL_LANE_NOT_ACQUIRED, lock);
}

/* NVTX also calls this function when the lock is destroyed, because nobody holds a destroyed
 * lock. */
static void on_release(nvtxSyncUser_t lock)
{
    sync_event(SL_LANE_RELEASE, lock);
}

/* ---- the table ---- */

const struct sl_nvtx_slot sl_nvtx_slots[] = {
    SL_NVTX_SLOT(CORE, MarkEx, on_mark_ex),
    SL_NVTX_SLOT(CORE, MarkA, on_mark_a),
    SL_NVTX_SLOT(CORE, MarkW, on_mark_w),
    SL_NVTX_SLOT(CORE, RangeStartEx, on_start_ex),
    SL_NVTX_SLOT(CORE, RangeStartA, on_start_a),
    SL_NVTX_SLOT(CORE, RangeStartW, on_start_w),
    SL_NVTX_SLOT(CORE, RangeEnd, on_end),
    SL_NVTX_SLOT(CORE, RangePushEx, on_push_ex),
    SL_NVTX_SLOT(CORE, RangePushA, on_push_a),
    SL_NVTX_SLOT(CORE, RangePushW, on_push_w),
    SL_NVTX_SLOT(CORE, RangePop, on_pop),
    SL_NVTX_SLOT(CORE2, DomainMarkEx, on_domain_mark_ex),
    SL_NVTX_SLOT(CORE2, DomainRangeStartEx, on_domain_start_ex),
    SL_NVTX_SLOT(CORE2, DomainRangeEnd, on_domain_end),
    SL_NVTX_SLOT(CORE2, DomainRangePushEx, on_domain_push_ex),
    SL_NVTX_SLOT(CORE2, DomainRangePop, on_domain_pop),
    SL_NVTX_SLOT(SYNC, DomainSyncUserAcquireStart, on_acquire),
    SL_NVTX_SLOT(SYNC, DomainSyncUserAcquireFailed, on_not_acquired),
    SL_NVTX_SLOT(SYNC, DomainSyncUserAcquireSuccess, on_acquired),
    SL_NVTX_SLOT(SYNC, DomainSyncUserReleasing, on_release),
    SL_NVTX_SLOT(SYNC, DomainSyncUserDestroy, on_release),
    {0, 0, NULL},
};
