/*
 * nvtx_calls.c - NVTX's calls: core, domains, names, synchronisation.
 *
 * Threads: any of the application; nothing blocks, allocates or logs. Each function takes NVTX's
 * arguments apart and hands them to nvtx_event.c or nvtx_names.c.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "collect/nvtx_calls.h"
#include "collect/nvtx_names.h"
#include "collect/nvtx_text.h"
#include "collect/step.h"

_Static_assert(sizeof(wchar_t) == 4, "wide characters are UTF-32");

/* ---- arguments ---- */

/* A handle is a number: nothing that the application may hand us is followed. */
unsigned sl_nvtx_domain_of(const void *handle)
{
    return (uintptr_t)handle < SL_LANE_DOMAINS ? (unsigned)(uintptr_t)handle : 0;
}

static void *handle_of(uint32_t number)
{
    return (void *)(uintptr_t)number;
}

static struct sl_nvtx_message message_of_text(const char *text)
{
    struct sl_nvtx_message m = {0, text, 0};

    if (text)
        m.length = strnlen(text, SL_LANE_TEXT_MAX);
    return m;
}

/* `room` holds what the message points to. */
static struct sl_nvtx_message message_of_wide(const wchar_t *text, char *room)
{
    struct sl_nvtx_message m = {0, text ? room : NULL, 0};

    m.length = sl_nvtx_text_utf32(room, SL_LANE_TEXT_MAX, text, SL_LANE_TEXT_MAX);
    return m;
}

static struct sl_nvtx_message message_of(int32_t type, const nvtxMessageValue_t *value, char *room)
{
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return message_of_text(value->ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return message_of_wide(value->unicode, room);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        return (struct sl_nvtx_message){(uint32_t)(uintptr_t)value->registered, NULL, 0};
    default:
        return (struct sl_nvtx_message){0, NULL, 0};
    }
}

static void take_value(struct sl_nvtx_event *ev, const nvtxEventAttributes_t *a)
{
    switch (a->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        ev->value_type = SL_LANE_U64;
        ev->value = a->payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        ev->value_type = SL_LANE_I64;
        ev->value = (uint64_t)a->payload.llValue;
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        ev->value_type = SL_LANE_F64;
        ev->value = a->payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        ev->value_type = SL_LANE_U64;
        ev->value = a->payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        ev->value_type = SL_LANE_I64;
        ev->value = (uint64_t)(int64_t)a->payload.iValue;
        break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
        ev->value_type = SL_LANE_F32;
        ev->value = a->payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_EXT:
        ev->payloads = (const void *)(uintptr_t)a->payload.ullValue;
        ev->payload_count = a->reserved0 > 0 ? (size_t)a->reserved0 : 0;
        break;
    default:
        break;
    }
}

/* An older or newer caller's structure may be shorter or longer than ours. */
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
    ev->message = message_of(a->messageType, &a->message, room);
    ev->category = a->category;
    ev->has_category = a->category != 0;
    if (a->colorType == NVTX_COLOR_ARGB) {
        ev->color = a->color;
        ev->has_color = 1;
    }
    if (a->payloadType)
        take_value(ev, a);
}

/* In the handle of a registered string, above its number: it is the name of a step. */
#define STEP_HANDLE (1ull << 32)

/* The commonest event by far has a registered string and nothing else. */
static int is_plain(const nvtxEventAttributes_t *a)
{
    return a && a->size == sizeof(*a) && a->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
           (a->category | (uint32_t)a->colorType | (uint32_t)a->payloadType) == 0 &&
           (uintptr_t)a->message.registered < STEP_HANDLE;
}

/* Of names that are texts the record itself sees it. */
static void note_registered_step(const nvtxEventAttributes_t *a)
{
    if (a && a->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
        (uintptr_t)a->message.registered >= STEP_HANDLE)
        sl_step_take(SL_STEP_NAMED);
}

/* ---- ranges and marks ---- */

static int push(unsigned domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    if (__builtin_expect(is_plain(a), 1))
        return sl_nvtx_push_string(domain, (uint32_t)(uintptr_t)a->message.registered);
    note_registered_step(a);
    take_event(&ev, a, room);
    return sl_nvtx_push(domain, &ev);
}

static uint64_t start(unsigned domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    note_registered_step(a);
    take_event(&ev, a, room);
    return sl_nvtx_start(domain, &ev);
}

static void mark(unsigned domain, const nvtxEventAttributes_t *a)
{
    struct sl_nvtx_event ev;
    char room[SL_LANE_TEXT_MAX];

    take_event(&ev, a, room);
    sl_nvtx_record_event(SL_LANE_MARK, domain, &ev, 0);
}

static void on_mark_ex(const nvtxEventAttributes_t *a)
{
    mark(0, a);
}

static void on_mark_a(const char *text)
{
    const struct sl_nvtx_event ev = {.message = message_of_text(text)};

    sl_nvtx_record_event(SL_LANE_MARK, 0, &ev, 0);
}

static void on_mark_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = message_of_wide(text, room)};

    sl_nvtx_record_event(SL_LANE_MARK, 0, &ev, 0);
}

static nvtxRangeId_t on_start_ex(const nvtxEventAttributes_t *a)
{
    return start(0, a);
}

static nvtxRangeId_t on_start_a(const char *text)
{
    const struct sl_nvtx_event ev = {.message = message_of_text(text)};

    return sl_nvtx_start(0, &ev);
}

static nvtxRangeId_t on_start_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = message_of_wide(text, room)};

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
    const struct sl_nvtx_event ev = {.message = message_of_text(text)};

    return sl_nvtx_push(0, &ev);
}

static int on_push_w(const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = message_of_wide(text, room)};

    return sl_nvtx_push(0, &ev);
}

static int on_pop(void)
{
    return sl_nvtx_pop(0, NULL);
}

static void on_domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    mark(sl_nvtx_domain_of(domain), a);
}

static nvtxRangeId_t on_domain_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    return start(sl_nvtx_domain_of(domain), a);
}

static void on_domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    sl_nvtx_end(sl_nvtx_domain_of(domain), id, NULL);
}

static int on_domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    return push(sl_nvtx_domain_of(domain), a);
}

static int on_domain_pop(nvtxDomainHandle_t domain)
{
    return sl_nvtx_pop(sl_nvtx_domain_of(domain), NULL);
}

/* ---- domains and strings ---- */

static uint32_t string_of(struct sl_nvtx_message m)
{
    return m.string ? m.string : m.text ? sl_nvtx_string(m.text, m.length) : 0;
}

static nvtxStringHandle_t string_handle(struct sl_nvtx_message m)
{
    uint64_t is_step = m.text && sl_step_is_name(m.text, m.length) ? STEP_HANDLE : 0;
    uint32_t string = string_of(m);

    return string ? (nvtxStringHandle_t)(uintptr_t)(string | is_step) : NULL;
}

static nvtxStringHandle_t on_string_a(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return string_handle(message_of_text(text));
}

static nvtxStringHandle_t on_string_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];

    (void)domain;
    return string_handle(message_of_wide(text, room));
}

static nvtxDomainHandle_t create_domain(struct sl_nvtx_message m)
{
    return handle_of(m.text ? sl_nvtx_domain(m.text, m.length) : 0);
}

static nvtxDomainHandle_t on_domain_a(const char *name)
{
    return create_domain(message_of_text(name));
}

static nvtxDomainHandle_t on_domain_w(const wchar_t *name)
{
    char room[SL_LANE_TEXT_MAX];

    return create_domain(message_of_wide(name, room));
}

/* ---- names ---- */

static uint32_t name(enum sl_nvtx_named what, unsigned domain, uint64_t key, uint32_t within,
                     struct sl_nvtx_message m)
{
    const struct sl_nvtx_name given = {what, domain, key, within, string_of(m)};

    return given.string ? sl_nvtx_name(&given) : 0;
}

static uint32_t name_context(void *context, struct sl_nvtx_message m)
{
    const struct sl_nvtx_ids *ids = sl_nvtx_get_ids();
    uint32_t id, device;

    if (!ids || ids->context(context, &id, &device) != 0)
        return name(SL_NVTX_OTHER, 0, (uintptr_t)context, 0, m);
    return name(SL_NVTX_CONTEXT, 0, id, device, m);
}

static uint32_t name_stream(void *stream, struct sl_nvtx_message m)
{
    const struct sl_nvtx_ids *ids = sl_nvtx_get_ids();
    uint32_t id, context;

    if (!ids || ids->stream(stream, &id, &context) != 0)
        return name(SL_NVTX_OTHER, 0, (uintptr_t)stream, 0, m);
    return name(SL_NVTX_STREAM, 0, id, context, m);
}

/* Each in two forms: for char and for wchar_t. */
#define NAMING(function, type, call)                                                               \
    static void function##_a(type what, const char *text)                                          \
    {                                                                                              \
        struct sl_nvtx_message m = message_of_text(text);                                          \
                                                                                                   \
        call;                                                                                      \
    }                                                                                              \
    static void function##_w(type what, const wchar_t *text)                                       \
    {                                                                                              \
        char room[SL_LANE_TEXT_MAX];                                                               \
        struct sl_nvtx_message m = message_of_wide(text, room);                                    \
                                                                                                   \
        call;                                                                                      \
    }

NAMING(on_category, uint32_t, name(SL_NVTX_CATEGORY, 0, what, 0, m))
NAMING(on_thread, uint32_t, name(SL_NVTX_THREAD, 0, what, 0, m))
NAMING(on_device, int, name(SL_NVTX_DEVICE, 0, (uint32_t)what, 0, m))
NAMING(on_context, void *, name_context(what, m))
NAMING(on_stream, void *, name_stream(what, m))
NAMING(on_cuda_event, void *, name(SL_NVTX_OTHER, 0, (uintptr_t)what, 0, m))

static void on_domain_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *text)
{
    name(SL_NVTX_CATEGORY, sl_nvtx_domain_of(domain), category, 0, message_of_text(text));
}

static void on_domain_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];

    name(SL_NVTX_CATEGORY, sl_nvtx_domain_of(domain), category, 0, message_of_wide(text, room));
}

static nvtxResourceHandle_t on_resource(nvtxDomainHandle_t domain, nvtxResourceAttributes_t *a)
{
    char room[SL_LANE_TEXT_MAX];
    struct sl_nvtx_message m;
    uint32_t number;

    if (!a || a->size < sizeof(*a))
        return NULL;
    m = message_of(a->messageType, &a->message, room);
    switch (a->identifierType) {
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE:
        number = name(SL_NVTX_THREAD, 0, a->identifier.ullValue, 0, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case (int32_t)NVTX_RESOURCE_TYPE_CUDART_DEVICE:
        number = name(SL_NVTX_DEVICE, 0, a->identifier.ullValue, 0, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_CONTEXT:
        number = name_context((void *)(uintptr_t)a->identifier.ullValue, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case (int32_t)NVTX_RESOURCE_TYPE_CUDART_STREAM:
        number = name_stream((void *)(uintptr_t)a->identifier.ullValue, m);
        break;
    default:
        number = name(SL_NVTX_OTHER, sl_nvtx_domain_of(domain), a->identifier.ullValue, 0, m);
        break;
    }
    return handle_of(number);
}

/* ---- synchronisation ---- */

static nvtxSyncUser_t on_sync_create(nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *a)
{
    char room[SL_LANE_TEXT_MAX];
    struct sl_nvtx_message m = {0, "lock", 4};

    if (a && a->size >= sizeof(*a) && a->messageType)
        m = message_of(a->messageType, &a->message, room);
    return handle_of(name(SL_NVTX_OTHER, sl_nvtx_domain_of(domain), 0, 0, m));
}

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

static void on_release(nvtxSyncUser_t lock)
{
    sync_event(SL_LANE_RELEASE, lock);
}

/* ---- the table ---- */

#define SLOT(module, call, function)                                                               \
    {                                                                                              \
        NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##call, (sl_nvtx_function)(function)         \
    }

const struct sl_nvtx_slot sl_nvtx_slots[] = {
    SLOT(CORE, MarkEx, on_mark_ex),
    SLOT(CORE, MarkA, on_mark_a),
    SLOT(CORE, MarkW, on_mark_w),
    SLOT(CORE, RangeStartEx, on_start_ex),
    SLOT(CORE, RangeStartA, on_start_a),
    SLOT(CORE, RangeStartW, on_start_w),
    SLOT(CORE, RangeEnd, on_end),
    SLOT(CORE, RangePushEx, on_push_ex),
    SLOT(CORE, RangePushA, on_push_a),
    SLOT(CORE, RangePushW, on_push_w),
    SLOT(CORE, RangePop, on_pop),
    SLOT(CORE, NameCategoryA, on_category_a),
    SLOT(CORE, NameCategoryW, on_category_w),
    SLOT(CORE, NameOsThreadA, on_thread_a),
    SLOT(CORE, NameOsThreadW, on_thread_w),
    SLOT(CORE2, DomainMarkEx, on_domain_mark_ex),
    SLOT(CORE2, DomainRangeStartEx, on_domain_start_ex),
    SLOT(CORE2, DomainRangeEnd, on_domain_end),
    SLOT(CORE2, DomainRangePushEx, on_domain_push_ex),
    SLOT(CORE2, DomainRangePop, on_domain_pop),
    SLOT(CORE2, DomainResourceCreate, on_resource),
    SLOT(CORE2, DomainNameCategoryA, on_domain_category_a),
    SLOT(CORE2, DomainNameCategoryW, on_domain_category_w),
    SLOT(CORE2, DomainRegisterStringA, on_string_a),
    SLOT(CORE2, DomainRegisterStringW, on_string_w),
    SLOT(CORE2, DomainCreateA, on_domain_a),
    SLOT(CORE2, DomainCreateW, on_domain_w),
    SLOT(CUDA, NameCuDeviceA, on_device_a),
    SLOT(CUDA, NameCuDeviceW, on_device_w),
    SLOT(CUDA, NameCuContextA, on_context_a),
    SLOT(CUDA, NameCuContextW, on_context_w),
    SLOT(CUDA, NameCuStreamA, on_stream_a),
    SLOT(CUDA, NameCuStreamW, on_stream_w),
    SLOT(CUDA, NameCuEventA, on_cuda_event_a),
    SLOT(CUDA, NameCuEventW, on_cuda_event_w),
    SLOT(CUDART, NameCudaDeviceA, on_device_a),
    SLOT(CUDART, NameCudaDeviceW, on_device_w),
    SLOT(CUDART, NameCudaStreamA, on_stream_a),
    SLOT(CUDART, NameCudaStreamW, on_stream_w),
    SLOT(CUDART, NameCudaEventA, on_cuda_event_a),
    SLOT(CUDART, NameCudaEventW, on_cuda_event_w),
    SLOT(SYNC, DomainSyncUserCreate, on_sync_create),
    SLOT(SYNC, DomainSyncUserAcquireStart, on_acquire),
    SLOT(SYNC, DomainSyncUserAcquireFailed, on_not_acquired),
    SLOT(SYNC, DomainSyncUserAcquireSuccess, on_acquired),
    SLOT(SYNC, DomainSyncUserReleasing, on_release),
    {0, 0, NULL},
};
