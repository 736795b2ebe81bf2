/*
 * graph.c - libcuda: stream capture and graphs.
 *
 * Application threads. CUgraph, CUgraphNode and CUgraphExec are pointers to objects of the core.
 */
#include "core/memory.h"
#include "driver/api.h"

#define GRAPH(handle)  ((struct sim_graph *)(handle))
#define NODE(handle)   ((struct sim_node *)(handle))
#define NODES(handles) ((struct sim_node **)(uintptr_t)(handles))
#define EXEC(handle)   ((struct sim_exec *)(handle))

/* ---- capture ---- */

DRIVER_API_STREAM(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz,
                  (CUstream handle, CUstreamCaptureMode mode), (handle, mode))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_capture_begin(stream, (int)mode);
}

DRIVER_API_STREAM(cuStreamEndCapture, cuStreamEndCapture_ptsz, (CUstream handle, CUgraph *graph),
                  (handle, graph))
{
    struct sim_stream *stream;

    REQUIRE(graph, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    return sim_capture_end(stream, (struct sim_graph **)graph);
}

DRIVER_API_STREAM(cuStreamIsCapturing, cuStreamIsCapturing_ptsz,
                  (CUstream handle, CUstreamCaptureStatus *status), (handle, status))
{
    struct sim_capture_info info = {0};
    struct sim_stream *stream;

    REQUIRE(status, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    CHECK(sim_capture_info(stream, &info));
    *status = (CUstreamCaptureStatus)info.status;
    return SIM_OK;
}

static int capture_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                        CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    struct sim_capture_info info = {0};
    struct sim_stream *stream;

    REQUIRE(status, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    CHECK(sim_capture_info(stream, &info));
    *status = (CUstreamCaptureStatus)info.status;
    if (id) {
        *id = info.id;
    }
    if (graph) {
        *graph = (CUgraph)info.graph;
    }
    if (nodes) {
        *nodes = (const CUgraphNode *)(void *)info.nodes;
    }
    if (count) {
        *count = info.count;
    }
    return SIM_OK;
}

DRIVER_API_STREAM(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz,
                  (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                   const CUgraphNode **nodes, size_t *count),
                  (handle, status, id, graph, nodes, count))
{
    return capture_info(handle, status, id, graph, nodes, count);
}

DRIVER_API_STREAM(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz,
                  (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                   const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count),
                  (handle, status, id, graph, nodes, edges, count))
{
    if (edges) {
        *edges = NULL;
    }
    return capture_info(handle, status, id, graph, nodes, count);
}

DRIVER_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode))
{
    int value;

    REQUIRE(mode, SIM_E_VALUE);
    value = (int)*mode;
    CHECK(sim_capture_exchange_mode(&value));
    *mode = (CUstreamCaptureMode)value;
    return SIM_OK;
}

/* ---- graphs ---- */

DRIVER_API(cuGraphCreate, (CUgraph * graph, unsigned int flags), (graph, flags))
{
    REQUIRE(graph && flags == 0, SIM_E_VALUE);
    return sim_graph_create((struct sim_graph **)graph);
}

DRIVER_API(cuGraphDestroy, (CUgraph graph), (graph))
{
    return sim_graph_destroy(GRAPH(graph));
}

DRIVER_API(cuGraphClone, (CUgraph * clone, CUgraph original), (clone, original))
{
    return sim_graph_clone(GRAPH(original), (struct sim_graph **)clone);
}

static int kernel_work(const CUDA_KERNEL_NODE_PARAMS *p, struct sim_work *work)
{
    REQUIRE(p, SIM_E_VALUE);
    *work = (struct sim_work){
        .kind = SIM_WORK_KERNEL,
        .launch = {.kernel = (struct sim_kernel *)(p->func ? (void *)p->func : (void *)p->kern),
                   .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                   .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                   .dynamic_shared = p->sharedMemBytes}};
    int error = sim_kernel_plan(work, p->kernelParams, p->extra);

    return error == SIM_E_CONFIGURATION ? SIM_E_VALUE : error;
}

static int copy_work(const CUDA_MEMCPY3D *p, struct sim_work *work)
{
    REQUIRE(p && p->Depth == 1 && p->srcMemoryType != CU_MEMORYTYPE_ARRAY &&
                p->dstMemoryType != CU_MEMORYTYPE_ARRAY,
            SIM_E_VALUE);
    const char *src = p->srcMemoryType == CU_MEMORYTYPE_HOST ? p->srcHost : (char *)p->srcDevice;
    char *dst = p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost : (char *)p->dstDevice;
    struct sim_copy c = {.dst = dst + p->dstY * p->dstPitch + p->dstXInBytes,
                         .src = src + p->srcY * p->srcPitch + p->srcXInBytes,
                         .dst_pitch = p->dstPitch,
                         .src_pitch = p->srcPitch,
                         .width = p->WidthInBytes,
                         .height = p->Height,
                         .direction = SIM_DIRECTION_DEFAULT,
                         .async = true};

    return sim_copy_describe(&c, work);
}

static int set_work(const CUDA_MEMSET_NODE_PARAMS *p, struct sim_work *work)
{
    REQUIRE(p, SIM_E_VALUE);
    return sim_set_describe((void *)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height,
                            true, work);
}

static int add(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t count,
               const struct sim_work *work)
{
    return sim_graph_add(GRAPH(graph), work, NODES(behind), count, (struct sim_node **)out);
}

DRIVER_API(cuGraphAddKernelNode_v2,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            const CUDA_KERNEL_NODE_PARAMS *params),
           (out, graph, behind, count, params))
{
    struct sim_work work;

    CHECK(kernel_work(params, &work));
    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddMemcpyNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            const CUDA_MEMCPY3D *params, CUcontext context),
           (out, graph, behind, count, params, context))
{
    struct sim_work work;

    CHECK(copy_work(params, &work));
    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddMemsetNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context),
           (out, graph, behind, count, params, context))
{
    struct sim_work work;

    CHECK(set_work(params, &work));
    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddHostNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            const CUDA_HOST_NODE_PARAMS *params),
           (out, graph, behind, count, params))
{
    REQUIRE(params && params->fn, SIM_E_VALUE);
    struct sim_work work = {.kind = SIM_WORK_HOST,
                            .host = {.call = params->fn, .data = params->userData}};

    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddEmptyNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count),
           (out, graph, behind, count))
{
    struct sim_work work = {.kind = SIM_WORK_EMPTY};

    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddChildGraphNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            CUgraph child),
           (out, graph, behind, count, child))
{
    struct sim_work work = {.kind = SIM_WORK_CHILD, .child = GRAPH(child)};

    REQUIRE(sim_graph_valid(GRAPH(child)), SIM_E_VALUE);
    return add(out, graph, behind, count, &work);
}

static int add_event(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t count,
                     CUevent event, enum sim_work_kind kind)
{
    struct sim_work work = {.kind = kind, .event = (struct sim_event *)event};

    REQUIRE(sim_event_valid(work.event), SIM_E_HANDLE);
    return add(out, graph, behind, count, &work);
}

DRIVER_API(cuGraphAddEventRecordNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            CUevent event),
           (out, graph, behind, count, event))
{
    return add_event(out, graph, behind, count, event, SIM_WORK_EVENT_RECORD);
}

DRIVER_API(cuGraphAddEventWaitNode,
           (CUgraphNode * out, CUgraph graph, const CUgraphNode *behind, size_t count,
            CUevent event),
           (out, graph, behind, count, event))
{
    return add_event(out, graph, behind, count, event, SIM_WORK_EVENT_WAIT);
}

static int link_all(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count,
                    bool link)
{
    REQUIRE(!count || (from && to), SIM_E_VALUE);
    for (size_t i = 0; i < count; i++) {
        CHECK(sim_graph_link(GRAPH(graph), NODE(from[i]), NODE(to[i]), link));
    }
    return SIM_OK;
}

DRIVER_API(cuGraphAddDependencies_v2,
           (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
            const CUgraphEdgeData *edges, size_t count),
           (graph, from, to, edges, count))
{
    return link_all(graph, from, to, count, true);
}

DRIVER_API(cuGraphRemoveDependencies_v2,
           (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
            const CUgraphEdgeData *edges, size_t count),
           (graph, from, to, edges, count))
{
    return link_all(graph, from, to, count, false);
}

#undef cuGraphAddDependencies /* cuda.h replaces this name by the _v2 name; CUDA 12 programs call  \
                                 this one */
#undef cuGraphAddKernelNode

SIM_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                           const CUgraphNode *to, size_t count);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

DRIVER_API(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
           (graph, nodes, count))
{
    return sim_graph_nodes(GRAPH(graph), NODES(nodes), count, false);
}

DRIVER_API(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
           (graph, nodes, count))
{
    return sim_graph_nodes(GRAPH(graph), NODES(nodes), count, true);
}

DRIVER_API(cuGraphGetEdges_v2,
           (CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
            size_t *count),
           (graph, from, to, edges, count))
{
    CHECK(sim_graph_edges(GRAPH(graph), NODES(from), NODES(to), count));
    for (size_t i = 0; edges && i < *count; i++) {
        edges[i] = (CUgraphEdgeData){0};
    }
    return SIM_OK;
}

DRIVER_API(cuGraphNodeGetDependencies_v2,
           (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count),
           (node, nodes, edges, count))
{
    return sim_node_neighbours(NODE(node), false, NODES(nodes), count);
}

DRIVER_API(cuGraphNodeGetDependentNodes_v2,
           (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count),
           (node, nodes, edges, count))
{
    return sim_node_neighbours(NODE(node), true, NODES(nodes), count);
}

DRIVER_API(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), (node, type))
{
    static const CUgraphNodeType types[] = {
        [SIM_WORK_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
        [SIM_WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
        [SIM_WORK_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
        [SIM_WORK_HOST] = CU_GRAPH_NODE_TYPE_HOST,
        [SIM_WORK_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
        [SIM_WORK_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
        [SIM_WORK_EVENT_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        [SIM_WORK_EVENT_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        [SIM_WORK_CHILD] = CU_GRAPH_NODE_TYPE_GRAPH,
    };

    REQUIRE(sim_node_valid(NODE(node)) && type, SIM_E_VALUE);
    *type = types[sim_node_work(NODE(node))->kind];
    return SIM_OK;
}

DRIVER_API(cuGraphDestroyNode, (CUgraphNode node), (node))
{
    return sim_node_remove(NODE(node));
}

/* ---- executable graphs ---- */

DRIVER_API(cuGraphInstantiateWithFlags,
           (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))
{
    return sim_graph_instantiate(GRAPH(graph), (struct sim_exec **)exec);
}

DRIVER_API_STREAM(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz,
                  (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
                  (exec, graph, params))
{
    REQUIRE(params, SIM_E_VALUE);
    int error = sim_graph_instantiate(GRAPH(graph), (struct sim_exec **)exec);

    params->result_out = error ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return error;
}

DRIVER_API_STREAM(cuGraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec exec, CUstream handle),
                  (exec, handle))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_exec_launch(EXEC(exec), stream);
}

DRIVER_API_STREAM(cuGraphUpload, cuGraphUpload_ptsz, (CUgraphExec exec, CUstream handle),
                  (exec, handle))
{
    struct sim_stream *stream;

    return sim_stream_resolve(handle, &stream);
}

DRIVER_API(cuGraphExecUpdate_v2,
           (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info),
           (exec, graph, info))
{
    int error = sim_exec_update(EXEC(exec), GRAPH(graph));

    if (info) {
        *info = (CUgraphExecUpdateResultInfo){
            .result =
                error ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED : CU_GRAPH_EXEC_UPDATE_SUCCESS};
    }
    return error;
}

DRIVER_API(cuGraphExecKernelNodeSetParams_v2,
           (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
           (exec, node, params))
{
    struct sim_work work;

    CHECK(kernel_work(params, &work));
    return sim_exec_set(EXEC(exec), NODE(node), &work);
}

DRIVER_API(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned int enabled),
           (exec, node, enabled))
{
    return sim_exec_set_enabled(EXEC(exec), NODE(node), enabled != 0);
}

DRIVER_API(cuGraphExecDestroy, (CUgraphExec exec), (exec))
{
    return sim_exec_destroy(EXEC(exec));
}
