/*
 * v2.c - the calls of CUPTI 13.2 and later that name their subscriber.
 *
 * Any thread. One such subscriber at a time, and none beside a client of the older calls: whoever
 * comes second is refused (NOT_COMPATIBLE, or by its subscription). It has kinds, settings and
 * buffers to itself and so uses those of the older calls; only what differs is here. User-defined
 * records are refused.
 */
#include "cupti/v2.h"

#include <stdio.h>
#include <string.h>

static struct {
    atomic_bool on;
    char name[64];
} subscriber_v2;

bool sim_v2_on(void)
{
    return atomic_load_explicit(&subscriber_v2.on, memory_order_acquire);
}

static CUpti_SubscriberHandle handle(void)
{
    return (CUpti_SubscriberHandle)(void *)&subscriber_v2;
}

/* Declared by their symbols: headers from 13.0 on declare some of them, with types of their own. */
#define EXPORTED(name) __asm__(name) __attribute__((visibility("default")))

CUptiResult sim_v2_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                             void *userdata, struct sim_subscriber_params *params)
    EXPORTED("cuptiSubscribe_v2");
CUptiResult sim_v2_callbacks(CUpti_SubscriberHandle given, sim_request_v2 requested,
                             sim_complete_v2 completed)
    EXPORTED("cuptiActivityRegisterCallbacks_v2");
CUptiResult sim_v2_enable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind, void *config)
    EXPORTED("cuptiActivityEnable_v2");
CUptiResult sim_v2_disable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind, void *config)
    EXPORTED("cuptiActivityDisable_v2");
CUptiResult sim_v2_runtime_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
    EXPORTED("cuptiActivityEnableRuntimeApi_v2");
CUptiResult sim_v2_driver_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
    EXPORTED("cuptiActivityEnableDriverApi_v2");
CUptiResult sim_v2_next_record(CUpti_SubscriberHandle given, uint8_t *buffer, size_t valid,
                               CUpti_Activity **record) EXPORTED("cuptiActivityGetNextRecord_v2");
CUptiResult sim_v2_dropped(CUpti_SubscriberHandle given, CUcontext context, uint32_t stream,
                           size_t *dropped) EXPORTED("cuptiActivityGetNumDroppedRecords_v2");
CUptiResult sim_v2_set(CUpti_SubscriberHandle given, CUpti_ActivityAttribute attribute,
                       size_t *size, void *value) EXPORTED("cuptiActivitySetAttribute_v2");
CUptiResult sim_v2_get(CUpti_SubscriberHandle given, CUpti_ActivityAttribute attribute,
                       size_t *size, void *value) EXPORTED("cuptiActivityGetAttribute_v2");
CUptiResult sim_v2_timestamp(CUpti_SubscriberHandle given, uint64_t *timestamp)
    EXPORTED("cuptiGetTimestamp_v2");

/* As SIM_ENTRY(), by the exported name. */
#define ENTRY(name)                                                                                \
    do {                                                                                           \
        int code_ = sim_fail(name);                                                                \
        if (code_) {                                                                               \
            return sim_error((CUptiResult)code_);                                                  \
        }                                                                                          \
    } while (0)

#define ENTRY_OF(name, given)                                                                      \
    do {                                                                                           \
        ENTRY(name);                                                                               \
        if (!sim_v2_on() || (given) != handle()) {                                                 \
            return sim_error(CUPTI_ERROR_INVALID_PARAMETER);                                       \
        }                                                                                          \
    } while (0)

CUptiResult sim_v2_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                             void *userdata, struct sim_subscriber_params *params)
{
    ENTRY("cuptiSubscribe_v2");
    bool expected = false;

    if (!out || (params && params->structSize < sizeof *params)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (sim_callbacks_get().request ||
        !atomic_compare_exchange_strong(&subscriber_v2.on, &expected, true)) {
        if (params && params->oldSubscriberName && params->oldSubscriberSize) {
            snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s",
                     sim_v2_on() ? subscriber_v2.name : "CUPTI");
        }
        return sim_error(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    }
    snprintf(subscriber_v2.name, sizeof subscriber_v2.name, "CUPTI for %s",
             params && params->subscriberName ? params->subscriberName : "");
    sim_attributes_keep();
    sim_switches.all_sync_records = false; /* the older calls' is on */
    *out = handle();
    sim_subscriber_take(*out, callback, userdata);
    sim_log("{\"what\":\"subscribed\",\"name\":\"%s\"}", subscriber_v2.name);
    return CUPTI_SUCCESS;
}

CUptiResult sim_v2_unsubscribe(CUpti_SubscriberHandle given)
{
    struct sim_callbacks none = {.owner = SIM_CLIENT};

    if (!sim_v2_on() || given != handle()) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    sim_kinds_clear();
    sim_subscriber_clear();
    sim_callbacks_set(&none);
    sim_attributes_restore();
    sim_switches.all_sync_records = true;
    sim_thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
    atomic_store_explicit(&subscriber_v2.on, false, memory_order_release);
    sim_log("{\"what\":\"unsubscribed\",\"name\":\"%s\"}", subscriber_v2.name);
    return CUPTI_SUCCESS;
}

CUptiResult sim_v2_callbacks(CUpti_SubscriberHandle given, sim_request_v2 requested,
                             sim_complete_v2 completed)
{
    ENTRY_OF("cuptiActivityRegisterCallbacks_v2", given);
    struct sim_callbacks callbacks = {
        .owner = SIM_CLIENT, .request_v2 = requested, .complete_v2 = completed};

    if (!requested || !completed) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    sim_callbacks_set(&callbacks);
    sim_worker_start();
    sim_log("{\"what\":\"callbacks\",\"correlation\":%llu}",
            (unsigned long long)sim_correlation_now());
    return CUPTI_SUCCESS;
}

CUptiResult sim_v2_enable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind, void *config)
{
    ENTRY_OF("cuptiActivityEnable_v2", given);
    return sim_error(config ? CUPTI_ERROR_NOT_SUPPORTED : sim_kind_set(kind, true));
}

CUptiResult sim_v2_disable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind, void *config)
{
    ENTRY_OF("cuptiActivityDisable_v2", given);
    (void)config;
    return sim_error(sim_kind_set(kind, false));
}

CUptiResult sim_v2_runtime_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
{
    ENTRY_OF("cuptiActivityEnableRuntimeApi_v2", given);
    return sim_error(sim_api_set(SIM_RUNTIME, cbid, enable));
}

CUptiResult sim_v2_driver_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
{
    ENTRY_OF("cuptiActivityEnableDriverApi_v2", given);
    return sim_error(sim_api_set(SIM_DRIVER, cbid, enable));
}

CUptiResult sim_v2_next_record(CUpti_SubscriberHandle given, uint8_t *buffer, size_t valid,
                               CUpti_Activity **record)
{
    ENTRY_OF("cuptiActivityGetNextRecord_v2", given);
    return cuptiActivityGetNextRecord(buffer, valid, record);
}

CUptiResult sim_v2_dropped(CUpti_SubscriberHandle given, CUcontext context, uint32_t stream,
                           size_t *dropped)
{
    ENTRY_OF("cuptiActivityGetNumDroppedRecords_v2", given);
    (void)context;
    (void)stream;
    if (!dropped) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *dropped = sim_lane_take_dropped();
    return CUPTI_SUCCESS;
}

CUptiResult sim_v2_set(CUpti_SubscriberHandle given, CUpti_ActivityAttribute attribute,
                       size_t *size, void *value)
{
    ENTRY_OF("cuptiActivitySetAttribute_v2", given);
    if ((int)attribute == SIM_ATTR_ENABLE_ALL_SYNC_RECORDS) {
        sim_switches.all_sync_records = *(const uint8_t *)value != 0;
        return CUPTI_SUCCESS;
    }
    if ((int)attribute == SIM_ATTR_THREAD_ID_TYPE) {
        uint32_t type;

        if (*size < sizeof type) {
            return sim_error(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        }
        memcpy(&type, value, sizeof type);
        sim_thread_id_type = type;
        return CUPTI_SUCCESS;
    }
    return cuptiActivitySetAttribute(attribute, size, value);
}

CUptiResult sim_v2_get(CUpti_SubscriberHandle given, CUpti_ActivityAttribute attribute,
                       size_t *size, void *value)
{
    ENTRY_OF("cuptiActivityGetAttribute_v2", given);
    return cuptiActivityGetAttribute(attribute, size, value);
}

CUptiResult sim_v2_timestamp(CUpti_SubscriberHandle given, uint64_t *timestamp)
{
    ENTRY_OF("cuptiGetTimestamp_v2", given);
    return cuptiGetTimestamp(timestamp);
}
