/*
 * name_calls.c - NVTX calls that register something: strings, domains, names, locks.
 *
 * The functions parse NVTX's arguments for names.c. A handle is the number that names.c returns.
 * Threads: any thread of the application; nothing blocks, allocates or logs. Memory: only the
 * tables of names.c.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>

#include "base/text_table.h"
#include "collect/lane/step.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/message.h"
#include "collect/nvtx/names.h"

/* ---- domains and strings ---- */

static uint32_t string_of(struct sl_nvtx_message m)
{
    return m.string ? m.string : m.text ? sl_text_table_put(m.text, m.length) : 0;
}

static nvtxStringHandle_t string_handle(struct sl_nvtx_message m)
{
    uint32_t string = string_of(m), step;
    uint64_t above = 0;

    if (m.text && sl_step_read_name(m.text, m.length, &step) == 0)
        above = (step + 1ull) << SL_NVTX_STEP_SHIFT;
    return string ? (nvtxStringHandle_t)(uintptr_t)(string | above) : NULL;
}

static nvtxStringHandle_t on_string_a(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return string_handle(sl_nvtx_message_of_text(text));
}

static nvtxStringHandle_t on_string_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];

    (void)domain;
    return string_handle(sl_nvtx_message_of_wide(text, room));
}

static nvtxDomainHandle_t create_domain(struct sl_nvtx_message m)
{
    return sl_nvtx_handle_of(m.text ? sl_nvtx_domain(m.text, m.length) : 0);
}

static nvtxDomainHandle_t on_domain_a(const char *name)
{
    return create_domain(sl_nvtx_message_of_text(name));
}

static nvtxDomainHandle_t on_domain_w(const wchar_t *name)
{
    char room[SL_LANE_TEXT_MAX];

    return create_domain(sl_nvtx_message_of_wide(name, room));
}

/* ---- names ---- */

static uint32_t name(enum sl_named_object what, unsigned domain, uint64_t key, uint32_t within,
                     struct sl_nvtx_message m)
{
    const struct sl_named given = {what, domain, key, within, string_of(m)};

    return given.string ? sl_nvtx_name(&given) : 0;
}

static uint32_t name_context(void *context, struct sl_nvtx_message m)
{
    const struct sl_nvtx_ids *ids = sl_nvtx_get_ids();
    uint32_t id, device;

    if (!ids || ids->context(context, &id, &device) != 0)
        return name(SL_NAMED_OTHER, 0, (uintptr_t)context, 0, m);
    return name(SL_NAMED_CONTEXT, 0, id, device, m);
}

static uint32_t name_stream(void *stream, struct sl_nvtx_message m)
{
    const struct sl_nvtx_ids *ids = sl_nvtx_get_ids();
    uint32_t id, context;

    if (!ids || ids->stream(stream, &id, &context) != 0)
        return name(SL_NAMED_OTHER, 0, (uintptr_t)stream, 0, m);
    return name(SL_NAMED_STREAM, 0, id, context, m);
}

/* Defines a call in two forms, for char and for wchar_t. */
#define NAMING(function, type, call)                                                               \
    static void function##_a(type what, const char *text)                                          \
    {                                                                                              \
        struct sl_nvtx_message m = sl_nvtx_message_of_text(text);                                  \
                                                                                                   \
        call;                                                                                      \
    }                                                                                              \
    static void function##_w(type what, const wchar_t *text)                                       \
    {                                                                                              \
        char room[SL_LANE_TEXT_MAX];                                                               \
        struct sl_nvtx_message m = sl_nvtx_message_of_wide(text, room);                            \
                                                                                                   \
        call;                                                                                      \
    }

NAMING(on_category, uint32_t, name(SL_NAMED_CATEGORY, 0, what, 0, m))
NAMING(on_thread, uint32_t, name(SL_NAMED_THREAD, 0, what, 0, m))
NAMING(on_device, int, name(SL_NAMED_DEVICE, 0, (uint32_t)what, 0, m))
NAMING(on_context, void *, name_context(what, m))
NAMING(on_stream, void *, name_stream(what, m))
NAMING(on_cuda_event, void *, name(SL_NAMED_EVENT, 0, (uintptr_t)what, 0, m))

static void on_domain_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *text)
{
    name(SL_NAMED_CATEGORY, sl_nvtx_domain_of(domain), category, 0, sl_nvtx_message_of_text(text));
}

static void on_domain_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *text)
{
    char room[SL_LANE_TEXT_MAX];

    name(SL_NAMED_CATEGORY, sl_nvtx_domain_of(domain), category, 0,
         sl_nvtx_message_of_wide(text, room));
}

static nvtxResourceHandle_t on_resource(nvtxDomainHandle_t domain, nvtxResourceAttributes_t *a)
{
    char room[SL_LANE_TEXT_MAX];
    struct sl_nvtx_message m;
    uint32_t number;

    if (!a || a->size < sizeof(*a))
        return NULL;
    m = sl_nvtx_message_of(a->messageType, &a->message, room);
    switch (a->identifierType) {
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE:
        number = name(SL_NAMED_THREAD, 0, a->identifier.ullValue, 0, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case (int32_t)NVTX_RESOURCE_TYPE_CUDART_DEVICE:
        number = name(SL_NAMED_DEVICE, 0, a->identifier.ullValue, 0, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_CONTEXT:
        number = name_context((void *)(uintptr_t)a->identifier.ullValue, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case (int32_t)NVTX_RESOURCE_TYPE_CUDART_STREAM:
        number = name_stream((void *)(uintptr_t)a->identifier.ullValue, m);
        break;
    case (int32_t)NVTX_RESOURCE_TYPE_CUDA_EVENT:
    case (int32_t)NVTX_RESOURCE_TYPE_CUDART_EVENT:
        number = name(SL_NAMED_EVENT, 0, a->identifier.ullValue, 0, m);
        break;
    default:
        number = name(SL_NAMED_OTHER, sl_nvtx_domain_of(domain), a->identifier.ullValue, 0, m);
        break;
    }
    return sl_nvtx_handle_of(number);
}

/* ---- locks ---- */

static nvtxSyncUser_t on_sync_create(nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *a)
{
    char room[SL_LANE_TEXT_MAX];
    struct sl_nvtx_message m = {0, "lock", 4};

    if (a && a->size >= sizeof(*a) && a->messageType)
        m = sl_nvtx_message_of(a->messageType, &a->message, room);
    return sl_nvtx_handle_of(name(SL_NAMED_OTHER, sl_nvtx_domain_of(domain), 0, 0, m));
}

/* ---- the table ---- */

const struct sl_nvtx_slot sl_nvtx_name_slots[] = {
    SL_NVTX_SLOT(CORE, NameCategoryA, on_category_a),
    SL_NVTX_SLOT(CORE, NameCategoryW, on_category_w),
    SL_NVTX_SLOT(CORE, NameOsThreadA, on_thread_a),
    SL_NVTX_SLOT(CORE, NameOsThreadW, on_thread_w),
    SL_NVTX_SLOT(CORE2, DomainResourceCreate, on_resource),
    SL_NVTX_SLOT(CORE2, DomainNameCategoryA, on_domain_category_a),
    SL_NVTX_SLOT(CORE2, DomainNameCategoryW, on_domain_category_w),
    SL_NVTX_SLOT(CORE2, DomainRegisterStringA, on_string_a),
    SL_NVTX_SLOT(CORE2, DomainRegisterStringW, on_string_w),
    SL_NVTX_SLOT(CORE2, DomainCreateA, on_domain_a),
    SL_NVTX_SLOT(CORE2, DomainCreateW, on_domain_w),
    SL_NVTX_SLOT(CUDA, NameCuDeviceA, on_device_a),
    SL_NVTX_SLOT(CUDA, NameCuDeviceW, on_device_w),
    SL_NVTX_SLOT(CUDA, NameCuContextA, on_context_a),
    SL_NVTX_SLOT(CUDA, NameCuContextW, on_context_w),
    SL_NVTX_SLOT(CUDA, NameCuStreamA, on_stream_a),
    SL_NVTX_SLOT(CUDA, NameCuStreamW, on_stream_w),
    SL_NVTX_SLOT(CUDA, NameCuEventA, on_cuda_event_a),
    SL_NVTX_SLOT(CUDA, NameCuEventW, on_cuda_event_w),
    SL_NVTX_SLOT(CUDART, NameCudaDeviceA, on_device_a),
    SL_NVTX_SLOT(CUDART, NameCudaDeviceW, on_device_w),
    SL_NVTX_SLOT(CUDART, NameCudaStreamA, on_stream_a),
    SL_NVTX_SLOT(CUDART, NameCudaStreamW, on_stream_w),
    SL_NVTX_SLOT(CUDART, NameCudaEventA, on_cuda_event_a),
    SL_NVTX_SLOT(CUDART, NameCudaEventW, on_cuda_event_w),
    SL_NVTX_SLOT(SYNC, DomainSyncUserCreate, on_sync_create),
    {0, 0, NULL},
};
