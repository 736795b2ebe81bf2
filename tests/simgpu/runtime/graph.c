/*
 * graph.c - the runtime's stream capture and graphs.
 *
 * Application threads. In CUDA 13 many functions have a parameter for edge data. The simulation
 * ignores this parameter, because all its edges are ordinary dependencies.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/memory.h"
#include "runtime/call.h"

enum {
    MAX_DOT = 4096 /* highest number of edges in a printed graph */
};

/* ---- capture ---- */

static int begin_capture(void *handle, int mode)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_capture_begin(stream, mode);
}

static int end_capture(void *handle, struct sim_graph **out)
{
    struct sim_stream *stream;
    int error = out ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    return error ? error : sim_capture_end(stream, out);
}

static int capture_info(void *handle, int *status, unsigned long long *id, struct sim_graph **graph,
                        struct sim_node ***nodes, const void **edges, size_t *count)
{
    struct sim_capture_info info = {0};
    struct sim_stream *stream;
    int error = status ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    if (!error) {
        error = sim_capture_info(stream, &info);
    }
    if (error) {
        return error;
    }
    *status = (int)info.status;
    if (id) {
        *id = info.id;
    }
    if (graph) {
        *graph = info.graph;
    }
    if (nodes) {
        *nodes = info.nodes;
    }
    if (edges) {
        *edges = NULL;
    }
    if (count) {
        *count = info.count;
    }
    return SIM_OK;
}

static int update_capture(void *handle, struct sim_node **nodes, size_t count, unsigned flags)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_capture_update(stream, nodes, count, flags == 1);
}

RUNTIME_STREAM(cudaStreamBeginCapture, v10000, ptsz, v10000, (void *stream, int mode),
               begin_capture(stream, mode))
RUNTIME_STREAM(cudaStreamEndCapture, v10000, ptsz, v10000, (void *stream, struct sim_graph **out),
               end_capture(stream, out))
RUNTIME_STREAM(cudaStreamIsCapturing, v10000, ptsz, v10000, (void *stream, int *status),
               capture_info(stream, status, NULL, NULL, NULL, NULL, NULL))
RUNTIME(cudaThreadExchangeStreamCaptureMode, v10010, (int *mode),
        mode ? sim_capture_exchange_mode(mode) : SIM_E_VALUE)
#if SIM_CUDART == 12
RUNTIME_STREAM(cudaStreamGetCaptureInfo, v10010, ptsz, v10010,
               (void *stream, int *status, unsigned long long *id),
               capture_info(stream, status, id, NULL, NULL, NULL, NULL))
RUNTIME_STREAM(cudaStreamGetCaptureInfo_v2, v11030, ptsz, v11030,
               (void *stream, int *status, unsigned long long *id, struct sim_graph **graph,
                struct sim_node ***nodes, size_t *count),
               capture_info(stream, status, id, graph, nodes, NULL, count))
RUNTIME_STREAM_AS(cudaStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo, v12030, v12030,
                  (void *stream, int *status, unsigned long long *id, struct sim_graph **graph,
                   struct sim_node ***nodes, const void **edges, size_t *count),
                  capture_info(stream, status, id, graph, nodes, edges, count))
RUNTIME_STREAM(cudaStreamUpdateCaptureDependencies, v11030, ptsz, v11030,
               (void *stream, struct sim_node **nodes, size_t count, unsigned flags),
               update_capture(stream, nodes, count, flags))
#else
RUNTIME_STREAM(cudaStreamGetCaptureInfo, v12030, ptsz, v12030,
               (void *stream, int *status, unsigned long long *id, struct sim_graph **graph,
                struct sim_node ***nodes, const void **edges, size_t *count),
               capture_info(stream, status, id, graph, nodes, edges, count))
RUNTIME_STREAM(cudaStreamUpdateCaptureDependencies, v12030, ptsz, v12030,
               (void *stream, struct sim_node **nodes, const void *edges, size_t count,
                unsigned flags),
               update_capture(stream, nodes, count, flags))
#endif

/* ---- building ---- */

static int add(struct sim_node **out, struct sim_graph *graph, struct sim_node *const *behind,
               size_t count, const struct sim_work *work)
{
    struct sim_node *node;

    if (!out || !sim_graph_valid(graph)) {
        return SIM_E_VALUE;
    }
    int error = sim_graph_add(graph, work, (struct sim_node **)(uintptr_t)behind, count, &node);

    if (!error) {
        *out = node;
    }
    return error;
}

static int describe_kernel(const struct cudaKernelNodeParams *p, struct sim_work *work)
{
    struct sim_kernel *kernel;

    if (!p) {
        return SIM_E_VALUE;
    }
    int error = sim_runtime_kernel(p->func, &kernel);

    if (error) {
        return error;
    }
    *work = (struct sim_work){.kind = SIM_WORK_KERNEL,
                              .launch = {.kernel = kernel,
                                         .grid = {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                                         .block = {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                                         .dynamic_shared = p->sharedMemBytes}};
    return sim_kernel_plan(work, p->kernelParams, p->extra);
}

static int describe_copy(void *dst, const void *src, size_t bytes, int direction,
                         struct sim_work *work)
{
    struct sim_copy copy = {dst,  src,  bytes, bytes, bytes, 1, (enum sim_direction)direction,
                            true, false};

    return sim_copy_describe(&copy, work);
}

static int describe_copy3d(const struct cudaMemcpy3DParms *p, struct sim_work *work)
{
    struct sim_copy copy;

    if (!p) {
        return SIM_E_VALUE;
    }
    if (p->srcArray || p->dstArray || p->extent.depth > 1) {
        return SIM_E_NOT_SUPPORTED;
    }
    copy = (struct sim_copy){(char *)p->dstPtr.ptr + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x,
                             (char *)p->srcPtr.ptr + p->srcPos.y * p->srcPtr.pitch + p->srcPos.x,
                             p->dstPtr.pitch,
                             p->srcPtr.pitch,
                             p->extent.width,
                             p->extent.height,
                             (enum sim_direction)p->kind,
                             true,
                             false};
    return sim_copy_describe(&copy, work);
}

static int describe_set(const struct cudaMemsetParams *p, struct sim_work *work)
{
    return p ? sim_set_describe(p->dst, p->pitch, p->value, p->elementSize, p->width, p->height,
                                true, work)
             : SIM_E_VALUE;
}

static int describe_host(const struct cudaHostNodeParams *p, struct sim_work *work)
{
    if (!p || !p->fn) {
        return SIM_E_VALUE;
    }
    *work = (struct sim_work){.kind = SIM_WORK_HOST, .host = {.call = p->fn, .data = p->userData}};
    return SIM_OK;
}

static int describe_event(struct sim_event *event, enum sim_work_kind kind, struct sim_work *work)
{
    if (!sim_event_valid(event)) {
        return SIM_E_HANDLE;
    }
    *work = (struct sim_work){.kind = kind, .event = event};
    return SIM_OK;
}

/* The node owns a copy of the child graph. */
static int describe_child(struct sim_graph *graph, struct sim_work *work)
{
    if (!sim_graph_valid(graph)) {
        return SIM_E_VALUE;
    }
    *work = (struct sim_work){.kind = SIM_WORK_CHILD, .child = graph};
    return SIM_OK;
}

/* The common part of the functions cudaGraphAdd...Node: adds a node with the described work. */
static int add_described(struct sim_node **out, struct sim_graph *graph,
                         struct sim_node *const *behind, size_t count, int error,
                         const struct sim_work *work)
{
    return error ? error : add(out, graph, behind, count, work);
}

#define NODE_PARAMS                                                                                \
    struct sim_node **out, struct sim_graph *graph, struct sim_node *const *behind, size_t count
#define ADD_NODE(name, params, describe)                                                           \
    static int add_##name params                                                                   \
    {                                                                                              \
        struct sim_work work = {.kind = SIM_WORK_EMPTY};                                           \
        int error = (describe);                                                                    \
                                                                                                   \
        return add_described(out, graph, behind, count, error, &work);                             \
    }

ADD_NODE(kernel, (NODE_PARAMS, const struct cudaKernelNodeParams *p), describe_kernel(p, &work))
ADD_NODE(copy3d, (NODE_PARAMS, const struct cudaMemcpy3DParms *p), describe_copy3d(p, &work))
ADD_NODE(copy1d, (NODE_PARAMS, void *dst, const void *src, size_t bytes, int direction),
         describe_copy(dst, src, bytes, direction, &work))
ADD_NODE(set, (NODE_PARAMS, const struct cudaMemsetParams *p), describe_set(p, &work))
ADD_NODE(host, (NODE_PARAMS, const struct cudaHostNodeParams *p), describe_host(p, &work))
ADD_NODE(empty, (NODE_PARAMS), SIM_OK)
ADD_NODE(record, (NODE_PARAMS, struct sim_event *event),
         describe_event(event, SIM_WORK_EVENT_RECORD, &work))
ADD_NODE(wait, (NODE_PARAMS, struct sim_event *event),
         describe_event(event, SIM_WORK_EVENT_WAIT, &work))
ADD_NODE(child, (NODE_PARAMS, struct sim_graph *child), describe_child(child, &work))

static int link_nodes(struct sim_graph *graph, struct sim_node *const *from,
                      struct sim_node *const *to, size_t count, bool adding)
{
    int error = sim_graph_valid(graph) ? SIM_OK : SIM_E_VALUE;

    for (size_t i = 0; i < count && !error; i++) {
        error = sim_graph_link(graph, from[i], to[i], adding);
    }
    return error;
}

static int node_type(struct sim_node *node, int *out)
{
    static const int type[] = {
        [SIM_WORK_KERNEL] = cudaGraphNodeTypeKernel,
        [SIM_WORK_COPY] = cudaGraphNodeTypeMemcpy,
        [SIM_WORK_SET] = cudaGraphNodeTypeMemset,
        [SIM_WORK_HOST] = cudaGraphNodeTypeHost,
        [SIM_WORK_FREE] = cudaGraphNodeTypeMemFree,
        [SIM_WORK_EMPTY] = cudaGraphNodeTypeEmpty,
        [SIM_WORK_EVENT_RECORD] = cudaGraphNodeTypeEventRecord,
        [SIM_WORK_EVENT_WAIT] = cudaGraphNodeTypeWaitEvent,
        [SIM_WORK_CHILD] = cudaGraphNodeTypeGraph,
    };

    if (!out || !sim_node_valid(node)) {
        return SIM_E_VALUE;
    }
    *out = type[sim_node_work(node)->kind];
    return SIM_OK;
}

static int create(struct sim_graph **out, unsigned flags)
{
    return out && !flags ? sim_graph_create(out) : SIM_E_VALUE;
}

static int clone(struct sim_graph **out, struct sim_graph *graph)
{
    return out && sim_graph_valid(graph) ? sim_graph_clone(graph, out) : SIM_E_VALUE;
}

static int destroy_node(struct sim_node *node)
{
    return sim_node_valid(node) ? sim_node_remove(node) : SIM_E_VALUE;
}

static int child_of(struct sim_node *node, struct sim_graph **out)
{
    if (!out || !sim_node_valid(node) || sim_node_work(node)->kind != SIM_WORK_CHILD) {
        return SIM_E_VALUE;
    }
    *out = sim_node_work(node)->child;
    return SIM_OK;
}

RUNTIME(cudaGraphCreate, v10000, (struct sim_graph * *out, unsigned flags), create(out, flags))
RUNTIME(cudaGraphDestroy, v10000, (struct sim_graph * graph), sim_graph_destroy(graph))
RUNTIME(cudaGraphClone, v10000, (struct sim_graph * *out, struct sim_graph *graph),
        clone(out, graph))
RUNTIME(cudaGraphAddKernelNode, v10000, (NODE_PARAMS, const struct cudaKernelNodeParams *p),
        add_kernel(out, graph, behind, count, p))
RUNTIME(cudaGraphAddMemcpyNode, v10000, (NODE_PARAMS, const struct cudaMemcpy3DParms *p),
        add_copy3d(out, graph, behind, count, p))
RUNTIME(cudaGraphAddMemcpyNode1D, v11010,
        (NODE_PARAMS, void *dst, const void *src, size_t bytes, int direction),
        add_copy1d(out, graph, behind, count, dst, src, bytes, direction))
RUNTIME(cudaGraphAddMemsetNode, v10000, (NODE_PARAMS, const struct cudaMemsetParams *p),
        add_set(out, graph, behind, count, p))
RUNTIME(cudaGraphAddHostNode, v10000, (NODE_PARAMS, const struct cudaHostNodeParams *p),
        add_host(out, graph, behind, count, p))
RUNTIME(cudaGraphAddEmptyNode, v10000, (NODE_PARAMS), add_empty(out, graph, behind, count))
RUNTIME(cudaGraphAddEventRecordNode, v11010, (NODE_PARAMS, struct sim_event *event),
        add_record(out, graph, behind, count, event))
RUNTIME(cudaGraphAddEventWaitNode, v11010, (NODE_PARAMS, struct sim_event *event),
        add_wait(out, graph, behind, count, event))
RUNTIME(cudaGraphAddChildGraphNode, v10000, (NODE_PARAMS, struct sim_graph *child),
        add_child(out, graph, behind, count, child))
RUNTIME(cudaGraphChildGraphNodeGetGraph, v10000, (struct sim_node * node, struct sim_graph **out),
        child_of(node, out))
RUNTIME(cudaGraphNodeGetType, v10000, (struct sim_node * node, int *out), node_type(node, out))
RUNTIME(cudaGraphDestroyNode, v10000, (struct sim_node * node), destroy_node(node))
RUNTIME(cudaGraphGetNodes, v10000,
        (struct sim_graph * graph, struct sim_node **nodes, size_t *count),
        sim_graph_nodes(graph, nodes, count, false))
RUNTIME(cudaGraphGetRootNodes, v10000,
        (struct sim_graph * graph, struct sim_node **nodes, size_t *count),
        sim_graph_nodes(graph, nodes, count, true))

#define LINK_PARAMS                                                                                \
    struct sim_graph *graph, struct sim_node *const *from, struct sim_node *const *to
#define EDGES_PARAMS struct sim_graph *graph, struct sim_node **from, struct sim_node **to

#if SIM_CUDART == 12
RUNTIME(cudaGraphAddDependencies, v10000, (LINK_PARAMS, size_t count),
        link_nodes(graph, from, to, count, true))
RUNTIME(cudaGraphRemoveDependencies, v10000, (LINK_PARAMS, size_t count),
        link_nodes(graph, from, to, count, false))
RUNTIME(cudaGraphGetEdges, v10000, (EDGES_PARAMS, size_t *count),
        sim_graph_edges(graph, from, to, count))
RUNTIME(cudaGraphNodeGetDependencies, v10000,
        (struct sim_node * node, struct sim_node **out, size_t *count),
        sim_node_neighbours(node, false, out, count))
RUNTIME(cudaGraphNodeGetDependentNodes, v10000,
        (struct sim_node * node, struct sim_node **out, size_t *count),
        sim_node_neighbours(node, true, out, count))
#else
RUNTIME(cudaGraphAddDependencies, v12030, (LINK_PARAMS, const void *edges, size_t count),
        link_nodes(graph, from, to, count, true))
RUNTIME(cudaGraphRemoveDependencies, v12030, (LINK_PARAMS, const void *edges, size_t count),
        link_nodes(graph, from, to, count, false))
RUNTIME(cudaGraphGetEdges, v12030, (EDGES_PARAMS, void *edges, size_t *count),
        sim_graph_edges(graph, from, to, count))
RUNTIME(cudaGraphNodeGetDependencies, v12030,
        (struct sim_node * node, struct sim_node **out, void *edges, size_t *count),
        sim_node_neighbours(node, false, out, count))
RUNTIME(cudaGraphNodeGetDependentNodes, v12030,
        (struct sim_node * node, struct sim_node **out, void *edges, size_t *count),
        sim_node_neighbours(node, true, out, count))
#endif

/* ---- running ---- */

static int instantiate(struct sim_exec **out, struct sim_graph *graph)
{
    return out && sim_graph_valid(graph) ? sim_graph_instantiate(graph, out) : SIM_E_VALUE;
}

static int instantiate_with(struct sim_exec **out, struct sim_graph *graph,
                            cudaGraphInstantiateParams *params)
{
    if (!params) {
        return SIM_E_VALUE;
    }
    params->errNode_out = NULL;
    params->result_out = cudaGraphInstantiateSuccess;
    return instantiate(out, graph);
}

static int launch(struct sim_exec *exec, void *handle)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_exec_launch(exec, stream);
}

static int update(struct sim_exec *exec, struct sim_graph *graph,
                  cudaGraphExecUpdateResultInfo *info)
{
    int error = sim_exec_update(exec, graph);

    if (info) {
        *info = (cudaGraphExecUpdateResultInfo){
            .result = error ? cudaGraphExecUpdateErrorTopologyChanged : cudaGraphExecUpdateSuccess};
    }
    return error;
}

RUNTIME(cudaGraphInstantiate, v12000,
        (struct sim_exec * *out, struct sim_graph *graph, unsigned long long flags),
        instantiate(out, graph))
RUNTIME(cudaGraphInstantiateWithFlags, v11040,
        (struct sim_exec * *out, struct sim_graph *graph, unsigned long long flags),
        instantiate(out, graph))
RUNTIME_STREAM(cudaGraphInstantiateWithParams, v12000, ptsz, v12000,
               (struct sim_exec * *out, struct sim_graph *graph,
                cudaGraphInstantiateParams *params),
               instantiate_with(out, graph, params))
RUNTIME_STREAM(cudaGraphLaunch, v10000, ptsz, v10000, (struct sim_exec * exec, void *stream),
               launch(exec, stream))
RUNTIME_STREAM(cudaGraphUpload, v10000, ptsz, v10000, (struct sim_exec * exec, void *stream),
               exec ? SIM_OK : SIM_E_VALUE)
RUNTIME(cudaGraphExecDestroy, v10000, (struct sim_exec * exec), sim_exec_destroy(exec))
RUNTIME(cudaGraphExecUpdate, v10020,
        (struct sim_exec * exec, struct sim_graph *graph, cudaGraphExecUpdateResultInfo *info),
        update(exec, graph, info))
static int set_work(struct sim_exec *exec, struct sim_node *node, int error,
                    const struct sim_work *work)
{
    return error ? error : sim_exec_set(exec, node, work);
}

/* Defines the body of a function cudaGraphExec...NodeSetParams: describes the new work, and
 * replaces the work of the node. */
#define SET_NODE(name, params, describe)                                                           \
    static int set_##name params                                                                   \
    {                                                                                              \
        struct sim_work work = {.kind = SIM_WORK_EMPTY};                                           \
        int error = (describe);                                                                    \
                                                                                                   \
        return set_work(exec, node, error, &work);                                                 \
    }
#define EXEC_PARAMS struct sim_exec *exec, struct sim_node *node

SET_NODE(kernel, (EXEC_PARAMS, const struct cudaKernelNodeParams *p), describe_kernel(p, &work))
SET_NODE(copy3d, (EXEC_PARAMS, const struct cudaMemcpy3DParms *p), describe_copy3d(p, &work))
SET_NODE(copy1d, (EXEC_PARAMS, void *dst, const void *src, size_t bytes, int direction),
         describe_copy(dst, src, bytes, direction, &work))
SET_NODE(memset, (EXEC_PARAMS, const struct cudaMemsetParams *p), describe_set(p, &work))
SET_NODE(host, (EXEC_PARAMS, const struct cudaHostNodeParams *p), describe_host(p, &work))

RUNTIME(cudaGraphExecKernelNodeSetParams, v10010,
        (EXEC_PARAMS, const struct cudaKernelNodeParams *p), set_kernel(exec, node, p))
RUNTIME(cudaGraphExecMemcpyNodeSetParams, v10020, (EXEC_PARAMS, const struct cudaMemcpy3DParms *p),
        set_copy3d(exec, node, p))
RUNTIME(cudaGraphExecMemcpyNodeSetParams1D, v11010,
        (EXEC_PARAMS, void *dst, const void *src, size_t bytes, int direction),
        set_copy1d(exec, node, dst, src, bytes, direction))
RUNTIME(cudaGraphExecMemsetNodeSetParams, v10020, (EXEC_PARAMS, const struct cudaMemsetParams *p),
        set_memset(exec, node, p))
RUNTIME(cudaGraphExecHostNodeSetParams, v10020, (EXEC_PARAMS, const struct cudaHostNodeParams *p),
        set_host(exec, node, p))
RUNTIME(cudaGraphNodeSetEnabled, v11060, (EXEC_PARAMS, unsigned enabled),
        sim_exec_set_enabled(exec, node, enabled != 0))

/* ---- inspecting a graph ---- */

/* Prints nodes by their ids, and the edges between them. */
static int print_dot(struct sim_graph *graph, const char *path)
{
    struct sim_node *from[MAX_DOT], *to[MAX_DOT];
    size_t count = MAX_DOT;
    int error = sim_graph_edges(graph, from, to, &count);
    FILE *out = error ? NULL : fopen(path, "w");

    if (!out) {
        return error ? error : SIM_E_VALUE;
    }
    fprintf(out, "digraph dot {\n");
    for (size_t i = 0; i < count; i++) {
        uint64_t a = 0, b = 0;

        (void)sim_graph_node_id(from[i], &a);
        (void)sim_graph_node_id(to[i], &b);
        fprintf(out, "  \"%" PRIu64 "\" -> \"%" PRIu64 "\"\n", a, b);
    }
    fprintf(out, "}\n");
    return fclose(out) ? SIM_E_VALUE : SIM_OK;
}

RUNTIME(cudaGraphDebugDotPrint, v11030,
        (struct sim_graph * graph, const char *path, unsigned flags),
        path ? print_dot(graph, path) : SIM_E_VALUE)
