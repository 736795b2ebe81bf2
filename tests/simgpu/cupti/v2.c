/*
 * v2.c - the calls of CUPTI 13.2 and later that name their subscriber.
 *
 * Any thread. Subscribers and a client of the older calls exclude each other. CUPTI refuses
 * whichever comes second: a call of the older interface returns NOT_COMPATIBLE, a subscription
 * fails. From 13.3 on there may be several subscribers if all of them allow it. Each subscriber is
 * a separate client with its own kinds, settings, layouts and buffers. When a subscriber calls a
 * function that both interfaces share, `sim_client` is the subscriber's number.
 */
#include "cupti/v2.h"
#include "core/fork.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SEVERAL_SINCE     130300
#define CALLS_LIST_SINCE  130400 /* first version with lists of calls for user-defined records */
#define TIMES_SINCE       130400 /* cuptiGetTimestamp_v2() uses the subscriber's clock */
#define SUBSCRIBERS_FIRST 1

__thread unsigned sim_client;

static struct {
    atomic_bool on;
    bool allows_others;
    char name[64];
} subscribers[SIM_CLIENTS]; /* indexed from SUBSCRIBERS_FIRST */
static atomic_uint count;
SIM_MUTEX(lock); /* guards subscribing */

bool sim_v2_on(void)
{
    return atomic_load_explicit(&count, memory_order_acquire) != 0;
}

unsigned sim_client_after(unsigned client)
{
    do {
        client++;
    } while (client < SIM_CLIENTS &&
             !atomic_load_explicit(&subscribers[client].on, memory_order_acquire));
    return client;
}

unsigned sim_client_first(void)
{
    return sim_v2_on() ? sim_client_after(0) : 0;
}

/* The functions below have names of their own here, and get their exported names by `__asm__`,
 * because headers from 13.0 on declare some of these functions with other types. */
#define EXPORTED(name) __asm__(name) __attribute__((visibility("default")))

CUptiResult sim_v2_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                             void *userdata, struct sim_subscriber_params *params)
    EXPORTED("cuptiSubscribe_v2");
CUptiResult sim_v2_callbacks(CUpti_SubscriberHandle given, sim_request_v2 requested,
                             sim_complete_v2 completed)
    EXPORTED("cuptiActivityRegisterCallbacks_v2");
CUptiResult sim_v2_enable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind,
                          const struct sim_config *config) EXPORTED("cuptiActivityEnable_v2");
CUptiResult sim_v2_disable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind,
                           const struct sim_config *config) EXPORTED("cuptiActivityDisable_v2");
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

/* Like SIM_ENTRY(), with the exported name. */
#define ENTRY(name)                                                                                \
    do {                                                                                           \
        int code_ = sim_fail(name);                                                                \
        sim_caller = __builtin_return_address(0);                                                  \
        if (code_) {                                                                               \
            return sim_error((CUptiResult)code_);                                                  \
        }                                                                                          \
    } while (0)

/* Sets sim_client to the given subscriber until the end of the block. */
#define ENTRY_OF(name, given)                                                                      \
    ENTRY(name);                                                                                   \
    unsigned client_ = sim_subscriber_client(given);                                               \
    if (client_ < SUBSCRIBERS_FIRST || client_ == SIM_CLIENTS) {                                   \
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);                                           \
    }                                                                                              \
    __attribute__((cleanup(end_turn), unused)) unsigned before_ = sim_client;                      \
    sim_client = client_

static void end_turn(const unsigned *before)
{
    sim_client = *before;
}

/* Returns a client number for a new subscriber. Returns 0 if no number is free, or if an existing
 * subscriber or the new subscriber does not allow others. */
static unsigned find_place(const struct sim_subscriber_params *params)
{
    bool wants_others = params && params->allowMultipleSubscribers;
    bool is_possible = sim_version()->number >= SEVERAL_SINCE && wants_others;
    unsigned place = 0;

    for (unsigned i = SIM_CLIENTS - 1; i >= SUBSCRIBERS_FIRST; i--) {
        if (!subscribers[i].on) {
            place = i;
        } else if (!is_possible || !subscribers[i].allows_others) {
            return 0;
        }
    }
    return place;
}

static void tell_holder(const struct sim_subscriber_params *params)
{
    unsigned first = sim_client_first();

    if (params && params->oldSubscriberName && params->oldSubscriberSize) {
        snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s",
                 first && first < SIM_CLIENTS ? subscribers[first].name : "CUPTI");
    }
}

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                             void *userdata, const struct sim_subscriber_params *params)
{
    unsigned client = sim_callbacks_get().request ? 0 : find_place(params);

    if (!client) {
        tell_holder(params);
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    if (sim_v2_on()) {
        tell_holder(params);
    }
    snprintf(subscribers[client].name, sizeof subscribers[client].name, "CUPTI for %s",
             params && params->subscriberName ? params->subscriberName : "");
    subscribers[client].allows_others = params && params->allowMultipleSubscribers;
    sim_client = client;
    sim_subscriber_take(callback, userdata);
    sim_client = 0;
    *out = sim_subscriber_handle(client);
    /* The release pairs with the acquires above, which then see all data of the client. */
    atomic_store_explicit(&subscribers[client].on, true, memory_order_release);
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    sim_log("{\"what\":\"subscribed\",\"name\":\"%s\",\"client\":%u}", subscribers[client].name,
            client);
    return CUPTI_SUCCESS;
}

CUptiResult sim_v2_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                             void *userdata, struct sim_subscriber_params *params)
{
    ENTRY("cuptiSubscribe_v2");
    CUptiResult result;

    if (!out || !callback || (params && params->structSize < sizeof *params)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    pthread_mutex_lock(&lock);
    result = subscribe(out, callback, userdata, params);
    pthread_mutex_unlock(&lock);
    return sim_error(result);
}

void sim_v2_unsubscribe(unsigned client)
{
    struct sim_callbacks none = {.owner = SIM_CLIENT};
    unsigned before = sim_client;

    pthread_mutex_lock(&lock);
    sim_client = client;
    sim_kinds_clear();
    sim_subscriber_clear();
    sim_callbacks_set(&none);
    sim_attributes_clear();
    sim_fields_clear();
    sim_clock_register(NULL);
    sim_thread_id_type[client] = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
    sim_client = before;
    atomic_store_explicit(&subscribers[client].on, false, memory_order_release);
    atomic_fetch_sub_explicit(&count, 1, memory_order_release);
    sim_log("{\"what\":\"unsubscribed\",\"name\":\"%s\",\"client\":%u}", subscribers[client].name,
            client);
    pthread_mutex_unlock(&lock);
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
    sim_log("{\"what\":\"callbacks\",\"correlation\":%llu,\"client\":%u}",
            (unsigned long long)sim_correlation_now(), sim_client);
    return CUPTI_SUCCESS;
}

/* Sets the calls to record, or the calls to leave out. */
static CUptiResult filter_calls(uint32_t kind, const struct sim_config *config)
{
    const struct sim_calls *calls = config->pKindOptions->pCbidOptions;
    enum sim_domain domain = kind == CUPTI_ACTIVITY_KIND_DRIVER ? SIM_DRIVER : SIM_RUNTIME;
    CUptiResult result = CUPTI_SUCCESS;

    if (!calls) {
        return sim_kind_set(kind, true);
    }
    if (calls->structSize < sizeof *calls || (calls->numCbids && !calls->pCbids)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (!calls->enable) {
        result = sim_kind_set(kind, true);
    }
    for (size_t i = 0; i < calls->numCbids && result == CUPTI_SUCCESS; i++) {
        result = sim_api_set(domain, calls->pCbids[i], calls->enable);
    }
    return result;
}

CUptiResult sim_v2_enable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind,
                          const struct sim_config *config)
{
    ENTRY_OF("cuptiActivityEnable_v2", given);
    bool is_api = kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER;
    CUptiResult result;

    if (!sim_fields_on()) {
        return sim_error(config ? CUPTI_ERROR_NOT_COMPATIBLE : sim_kind_set(kind, true));
    }
    result = sim_fields_choose(kind, config);
    if (result != CUPTI_SUCCESS) {
        return sim_error(result);
    }
    if (is_api && sim_version()->number >= CALLS_LIST_SINCE &&
        config->structSize >= sizeof *config && config->pKindOptions) {
        return sim_error(filter_calls(kind, config));
    }
    return sim_error(sim_kind_set(kind, true));
}

CUptiResult sim_v2_disable(CUpti_SubscriberHandle given, CUpti_ActivityKind kind,
                           const struct sim_config *config)
{
    ENTRY_OF("cuptiActivityDisable_v2", given);
    return sim_error(sim_kind_set(kind, false));
}

/* Enables or disables one call. With user-defined records, single calls can be enabled only in
 * versions that accept lists of calls. */
static CUptiResult set_call(enum sim_domain domain, CUpti_CallbackId cbid, uint8_t enable)
{
    if (sim_fields_on() && sim_version()->number < CALLS_LIST_SINCE) {
        return sim_error(CUPTI_ERROR_NOT_COMPATIBLE);
    }
    return sim_error(sim_api_set(domain, cbid, enable));
}

CUptiResult sim_v2_runtime_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
{
    ENTRY_OF("cuptiActivityEnableRuntimeApi_v2", given);
    return set_call(SIM_RUNTIME, cbid, enable);
}

CUptiResult sim_v2_driver_api(CUpti_SubscriberHandle given, CUpti_CallbackId cbid, uint8_t enable)
{
    ENTRY_OF("cuptiActivityEnableDriverApi_v2", given);
    return set_call(SIM_DRIVER, cbid, enable);
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
        sim_switches()->all_sync_records = *(const uint8_t *)value != 0;
        return CUPTI_SUCCESS;
    }
    if ((int)attribute == SIM_ATTR_USER_DEFINED_RECORDS) {
        return sim_error(sim_fields_set(*(const uint8_t *)value != 0));
    }
    if ((int)attribute == SIM_ATTR_THREAD_ID_TYPE) {
        uint32_t type;

        if (*size < sizeof type) {
            return sim_error(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        }
        memcpy(&type, value, sizeof type);
        sim_thread_id_type[sim_client] = type;
        return CUPTI_SUCCESS;
    }
    if ((int)attribute == SIM_ATTR_TIMESTAMP_CALLBACK) {
        sim_clock clock;

        if (*size < sizeof clock) {
            return sim_error(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        }
        memcpy(&clock, value, sizeof clock);
        sim_clock_register(clock);
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
    if (sim_version()->number < TIMES_SINCE) {
        sim_client = 0; /* like the older function */
    }
    return cuptiGetTimestamp(timestamp);
}
