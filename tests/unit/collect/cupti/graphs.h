/*
 * graphs.h - a fake CUPTI with only the callbacks about CUDA graphs that graph_nodes.c uses. Graph
 * and node handles are numbers.
 *
 * Threads: any, after the callback was registered. No memory is allocated.
 */
#ifndef TEST_CUPTI_GRAPHS_H
#define TEST_CUPTI_GRAPHS_H

#include <stdatomic.h>
#include <stdint.h>

#include "collect/cupti/api.h"

/* The layout of CUPTI's structs. graph_nodes.c explains the members. */
struct graph_data {
    void *graph, *original_graph, *node, *original;
    int type;
    void *dependent, *exec;
};

struct resource_data {
    void *context, *handle;
    const struct graph_data *graph;
};

enum {
    GRAPHS_DOMAIN = 3,
    GRAPHS_CREATED = 13,
};

static struct {
    void (*callback)(void *user, int domain, uint32_t cbid, const void *data);
    unsigned enabled; /* number of enabled callbacks of the resource domain */
    _Atomic int unsubscribed;
} graphs;

static inline int graphs_Subscribe(void **subscriber, void *callback, void *user)
{
    (void)user;
    *subscriber = &graphs;
    graphs.callback = (void (*)(void *, int, uint32_t, const void *))callback;
    return 0;
}

static inline int graphs_Unsubscribe(void *subscriber)
{
    (void)subscriber;
    graphs.unsubscribed++;
    return 0;
}

static inline int graphs_EnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
    (void)cbid;
    if (subscriber == &graphs && domain == GRAPHS_DOMAIN)
        graphs.enabled += on;
    return 0;
}

static inline int graphs_GetGraphId(void *graph, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)graph;
    return 0;
}

static inline int graphs_GetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return 0;
}

static inline void graphs_add_to(struct sl_cupti_functions *fn)
{
    fn->Subscribe = graphs_Subscribe;
    fn->Unsubscribe = graphs_Unsubscribe;
    fn->EnableCallback = graphs_EnableCallback;
    fn->GetGraphId = graphs_GetGraphId;
    fn->GetGraphNodeId = graphs_GetGraphNodeId;
}

static inline void graphs_tell(uint32_t cbid, struct graph_data data)
{
    const struct resource_data resource = {.graph = &data};

    graphs.callback(NULL, GRAPHS_DOMAIN, cbid, &resource);
}

#endif
