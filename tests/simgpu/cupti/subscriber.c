/*
 * subscriber.c - the callback API: one subscriber per process, callbacks of the driver and the
 * runtime domain at entry and exit of calls.
 *
 * Callbacks run on the application's thread. Parameters of the call are not shown (NULL).
 */
#include <string.h>

#include "cupti/cbid_names.h"
#include "cupti/simcupti.h"

#define MAX_CBIDS    1024
#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct {
    _Atomic(CUpti_CallbackFunc) callback;
    void *userdata;
} subscriber;
static atomic_bool enabled[CUPTI_CB_DOMAIN_SIZE][MAX_CBIDS];
static __thread uint64_t correlation_data[2];

static CUpti_SubscriberHandle handle(void)
{
    return (CUpti_SubscriberHandle)(void *)&subscriber;
}

const char *sim_callback_name(enum sim_domain domain, uint32_t cbid)
{
    const char *name = NULL;
    uint32_t end =
        domain == SIM_DRIVER ? sim_version()->driver_cbids : sim_version()->runtime_cbids;

    if (cbid < end && domain == SIM_DRIVER && cbid < COUNT(sim_driver_names)) {
        name = sim_driver_names[cbid];
    } else if (cbid < end && domain == SIM_RUNTIME && cbid < COUNT(sim_runtime_names)) {
        name = sim_runtime_names[cbid];
    }
    return name;
}

void sim_subscriber_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation, bool enter,
                         int result)
{
    /* Acquire pairs with the release in cuptiSubscribe(). */
    CUpti_CallbackFunc callback = atomic_load_explicit(&subscriber.callback, memory_order_acquire);
    CUpti_CallbackDomain d =
        domain == SIM_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;

    if (!callback || cbid >= MAX_CBIDS || !enabled[d][cbid]) {
        return;
    }
    CUpti_CallbackData data = {
        .callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT,
        .functionName = sim_callback_name(domain, cbid),
        .functionReturnValue = &result,
        .correlationData = &correlation_data[domain],
        .correlationId = correlation,
    };
    uint32_t device;

    sim_context_id(NULL, &data.contextUid, &device);
    callback(subscriber.userdata, d, cbid, &data);
}

void sim_subscriber_clear(void)
{
    atomic_store_explicit(&subscriber.callback, NULL, memory_order_release);
    for (size_t d = 0; d < CUPTI_CB_DOMAIN_SIZE; d++) {
        for (size_t i = 0; i < MAX_CBIDS; i++) {
            enabled[d][i] = false;
        }
    }
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
    SIM_ENTRY();
    if (!out) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (subscriber.callback || sim_v2_on()) {
        return sim_error(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    }
    subscriber.userdata = userdata;
    atomic_store_explicit(&subscriber.callback, callback, memory_order_release);
    *out = handle();
    return CUPTI_SUCCESS;
}

static bool bad(CUpti_SubscriberHandle given, uint32_t domain)
{
    return given != handle() || domain >= CUPTI_CB_DOMAIN_SIZE;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle given)
{
    SIM_ENTRY();
    if (sim_v2_on()) {
        return sim_error(sim_v2_unsubscribe(given));
    }
    if (bad(given, 0)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    sim_subscriber_clear();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle given,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    SIM_ENTRY();
    if (bad(given, domain) || cbid >= MAX_CBIDS) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    enabled[domain][cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle given,
                              CUpti_CallbackDomain domain)
{
    SIM_ENTRY();
    if (bad(given, domain)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    for (size_t i = 0; i < MAX_CBIDS; i++) {
        enabled[domain][i] = enable != 0;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle given)
{
    SIM_ENTRY();
    if (bad(given, 0)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    for (size_t d = 1; d < CUPTI_CB_DOMAIN_SIZE; d++) {
        for (size_t i = 0; i < MAX_CBIDS; i++) {
            enabled[d][i] = enable != 0;
        }
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle given,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    SIM_ENTRY();
    if (!enable || bad(given, domain) || cbid >= MAX_CBIDS) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *enable = enabled[domain][cbid];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    SIM_ENTRY();
    const char *found = NULL;

    if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        found = sim_callback_name(domain == CUPTI_CB_DOMAIN_DRIVER_API ? SIM_DRIVER : SIM_RUNTIME,
                                  cbid);
    }
    if (!name || !found) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *name = found;
    return CUPTI_SUCCESS;
}
