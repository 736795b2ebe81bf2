/*
 * subscriber.c - the callback API: one subscriber per process, callbacks of the driver and the
 * runtime domain at entry and exit of calls, and of the resource domain on nodes of graphs.
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
    CUpti_SubscriberHandle handle;
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

void sim_subscriber_graph(const struct sim_graph_fact *fact)
{
    CUpti_CallbackFunc callback = atomic_load_explicit(&subscriber.callback, memory_order_acquire);

    if (!callback || !enabled[CUPTI_CB_DOMAIN_RESOURCE][fact->what]) {
        return;
    }
    CUpti_GraphData graph = {.graph = (CUgraph)(uintptr_t)fact->graph,
                             .originalGraph = (CUgraph)(uintptr_t)fact->original_graph,
                             .node = (CUgraphNode)(uintptr_t)fact->node,
                             .originalNode = (CUgraphNode)(uintptr_t)fact->original,
                             .nodeType = (CUgraphNodeType)fact->type,
                             .dependency = (CUgraphNode)(uintptr_t)fact->dependent};
    CUpti_ResourceData data = {.resourceDescriptor = &graph};

    callback(subscriber.userdata, CUPTI_CB_DOMAIN_RESOURCE, fact->what,
             (const CUpti_CallbackData *)(const void *)&data);
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

/* `as`: the handle of the one client there is, of the older calls or of the `_v2` ones. */
void sim_subscriber_take(CUpti_SubscriberHandle as, CUpti_CallbackFunc callback, void *userdata)
{
    subscriber.handle = as;
    subscriber.userdata = userdata;
    atomic_store_explicit(&subscriber.callback, callback, memory_order_release);
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
    *out = handle();
    sim_subscriber_take(*out, callback, userdata);
    return CUPTI_SUCCESS;
}

static bool bad(CUpti_SubscriberHandle given, uint32_t domain)
{
    return given != subscriber.handle || domain >= CUPTI_CB_DOMAIN_SIZE;
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
