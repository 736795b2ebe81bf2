/*
 * subscriber.c - CUPTI's callback API, with one subscriber per client. Driver and runtime callbacks
 * run at entry and exit of calls. Resource callbacks run when graph nodes change.
 *
 * Callbacks run on the application thread. A callback does not get the parameters of the call (the
 * pointer is NULL).
 */
#include <string.h>

#include "cupti/cbid_names.h"
#include "cupti/simcupti.h"

#define MAX_CBIDS    1024
#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct {
    _Atomic(CUpti_CallbackFunc) callback;
    void *userdata;
} subscribers[SIM_CLIENTS];
static atomic_bool enabled[SIM_CLIENTS][CUPTI_CB_DOMAIN_SIZE][MAX_CBIDS];
static __thread uint64_t correlation_data[SIM_CLIENTS][2];

CUpti_SubscriberHandle sim_subscriber_handle(unsigned client)
{
    return (CUpti_SubscriberHandle)(void *)&subscribers[client];
}

/* Returns SIM_CLIENTS if the handle belongs to no client. */
unsigned sim_subscriber_client(CUpti_SubscriberHandle given)
{
    unsigned client = 0;

    while (client < SIM_CLIENTS && given != sim_subscriber_handle(client)) {
        client++;
    }
    return client < SIM_CLIENTS && subscribers[client].callback ? client : SIM_CLIENTS;
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
    /* Acquire pairs with the release in sim_subscriber_take(). */
    CUpti_CallbackFunc callback =
        atomic_load_explicit(&subscribers[sim_client].callback, memory_order_acquire);
    CUpti_CallbackDomain d =
        domain == SIM_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;

    if (!callback || cbid >= MAX_CBIDS || !enabled[sim_client][d][cbid]) {
        return;
    }
    CUpti_CallbackData data = {
        .callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT,
        .functionName = sim_callback_name(domain, cbid),
        .functionReturnValue = &result,
        .correlationData = &correlation_data[sim_client][domain],
        .correlationId = correlation,
    };
    uint32_t device;

    sim_context_id(NULL, &data.contextUid, &device);
    callback(subscribers[sim_client].userdata, d, cbid, &data);
}

void sim_subscriber_graph(const struct sim_graph_fact *fact)
{
    CUpti_CallbackFunc callback =
        atomic_load_explicit(&subscribers[sim_client].callback, memory_order_acquire);

    if (!callback || !enabled[sim_client][CUPTI_CB_DOMAIN_RESOURCE][fact->what]) {
        return;
    }
    CUpti_GraphData graph = {.graph = (CUgraph)(uintptr_t)fact->graph,
                             .originalGraph = (CUgraph)(uintptr_t)fact->original_graph,
                             .node = (CUgraphNode)(uintptr_t)fact->node,
                             .originalNode = (CUgraphNode)(uintptr_t)fact->original,
                             .nodeType = (CUgraphNodeType)fact->type,
                             .dependency = (CUgraphNode)(uintptr_t)fact->dependent};
    CUpti_ResourceData data = {.resourceDescriptor = &graph};

    callback(subscribers[sim_client].userdata, CUPTI_CB_DOMAIN_RESOURCE, fact->what,
             (const CUpti_CallbackData *)(const void *)&data);
}

void sim_subscriber_clear(void)
{
    atomic_store_explicit(&subscribers[sim_client].callback, NULL, memory_order_release);
    for (size_t d = 0; d < CUPTI_CB_DOMAIN_SIZE; d++) {
        for (size_t i = 0; i < MAX_CBIDS; i++) {
            enabled[sim_client][d][i] = false;
        }
    }
}

void sim_subscriber_take(CUpti_CallbackFunc callback, void *userdata)
{
    subscribers[sim_client].userdata = userdata;
    atomic_store_explicit(&subscribers[sim_client].callback, callback, memory_order_release);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
    SIM_ENTRY();
    if (!out || !callback) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (subscribers[0].callback || sim_v2_on()) {
        return sim_error(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    }
    *out = sim_subscriber_handle(0);
    sim_subscriber_take(callback, userdata);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle given)
{
    SIM_ENTRY();
    unsigned client = sim_subscriber_client(given);

    if (client == SIM_CLIENTS) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (client) {
        sim_v2_unsubscribe(client);
    } else {
        sim_subscriber_clear();
    }
    return CUPTI_SUCCESS;
}

static bool bad(unsigned client, uint32_t domain)
{
    return client == SIM_CLIENTS || domain >= CUPTI_CB_DOMAIN_SIZE;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle given,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    SIM_ENTRY();
    unsigned client = sim_subscriber_client(given);

    if (bad(client, domain) || cbid >= MAX_CBIDS) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    enabled[client][domain][cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle given,
                              CUpti_CallbackDomain domain)
{
    SIM_ENTRY();
    unsigned client = sim_subscriber_client(given);

    if (bad(client, domain)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    for (size_t i = 0; i < MAX_CBIDS; i++) {
        enabled[client][domain][i] = enable != 0;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle given)
{
    SIM_ENTRY();
    unsigned client = sim_subscriber_client(given);

    if (bad(client, 0)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    for (size_t d = 1; d < CUPTI_CB_DOMAIN_SIZE; d++) {
        for (size_t i = 0; i < MAX_CBIDS; i++) {
            enabled[client][d][i] = enable != 0;
        }
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle given,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    SIM_ENTRY();
    unsigned client = sim_subscriber_client(given);

    if (!enable || bad(client, domain) || cbid >= MAX_CBIDS) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *enable = enabled[client][domain][cbid];
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
