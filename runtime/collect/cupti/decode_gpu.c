/*
 * decode_gpu.c - decodes GPU operations: kernels, copies, memsets, whole graphs.
 *
 * Threads: the recorder thread. Memory: the decoder's. Values that are the same at every launch of
 * an operation are stored in the operation's shape (event/shape.h). Other values are stored in the
 * event.
 */
#include "collect/cupti/decode_impl.h"

/* Reads the fields that the records of all operations have, under the same names in each layout.
 * The macro's value is the result of sl_decode_times(). */
#define OPERATION(ev, shape, record, at)                                                           \
    operation((ev), (shape), sl_load32((record) + (at)->device),                                   \
              sl_load32((record) + (at)->context), sl_load32((record) + (at)->stream),             \
              sl_load32((record) + (at)->correlation), sl_load32((record) + (at)->graph),          \
              sl_load64((record) + (at)->start), sl_load64((record) + (at)->end))

static inline int operation(struct sl_event *ev, struct sl_shape *shape, uint32_t device,
                            uint32_t context, uint32_t stream, uint32_t correlation, uint32_t graph,
                            uint64_t start_ns, uint64_t end_ns)
{
    shape->kind = ev->kind;
    shape->device = device;
    shape->context = ev->context = context;
    shape->stream = ev->stream = stream;
    ev->device = sl_event_device(device);
    ev->correlation = correlation;
    ev->graph = graph;
    if (device > UINT16_MAX)
        return -1;
    return sl_decode_times(ev, start_ns, end_ns);
}

/* Reports a new stream or device, adds the shape and emits the event. A kernel whose record has no
 * priority (SL_PRIORITY_UNKNOWN) gets the priority of its stream. */
static int finish(struct sl_decode *d, struct sl_event *ev, struct sl_shape *shape)
{
    int32_t of_stream = sl_cupti_objects_stream(d->seen, ev->device, ev->context, ev->stream);

    if (sl_cupti_objects_is_new_device(d->seen, ev->device))
        sl_decode_new_device(d, ev->device);
    if (shape->priority == SL_PRIORITY_UNKNOWN)
        shape->priority = of_stream;
    ev->shape = sl_decode_shape(d, shape);
    sl_decode_emit(d, ev);
    return 0;
}

int sl_decode_kernel(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_kernel_layout *at = d->layout->kernel;
    struct sl_event ev = {.kind = SL_EV_KERNEL};
    struct sl_shape shape = {0};

    if (OPERATION(&ev, &shape, record, at) != 0 || sl_decode_text(d, record + at->name, &ev.name))
        return -1;
    ev.u.op.graph_node = sl_load64(record + at->graph_node);
    shape.name = ev.name;
    shape.priority = at->priority ? (int32_t)sl_load32(record + at->priority) : SL_PRIORITY_UNKNOWN;
    shape.grid[0] = sl_load32(record + at->grid_x);
    shape.grid[1] = sl_load32(record + at->grid_y);
    shape.grid[2] = sl_load32(record + at->grid_z);
    shape.block[0] = sl_load32(record + at->block_x);
    shape.block[1] = sl_load32(record + at->block_y);
    shape.block[2] = sl_load32(record + at->block_z);
    shape.registers = sl_load16(record + at->registers);
    shape.static_shared = sl_load32(record + at->static_shared);
    shape.dynamic_shared = sl_load32(record + at->dynamic_shared);
    shape.cluster[0] = sl_load32(record + at->cluster_x);
    shape.cluster[1] = sl_load32(record + at->cluster_y);
    shape.cluster[2] = sl_load32(record + at->cluster_z);
    shape.channel = sl_load32(record + at->channel);
    shape.channel_type = sl_load32(record + at->channel_type);
    return finish(d, &ev, &shape);
}

/* Reads the fields of a copy. Copies within a device and between devices have the same fields in
 * their records, but at different offsets. */
#define COPY(ev, shape, record, at)                                                                \
    do {                                                                                           \
        (ev)->u.op.bytes = sl_load64((record) + (at)->bytes);                                      \
        (ev)->u.op.graph_node = sl_load64((record) + (at)->graph_node);                            \
        (shape)->copy_kind = (record)[(at)->copy_kind];                                            \
        (shape)->src_memory = (record)[(at)->src_memory];                                          \
        (shape)->dst_memory = (record)[(at)->dst_memory];                                          \
        (shape)->channel = sl_load32((record) + (at)->channel);                                    \
        (shape)->channel_type = sl_load32((record) + (at)->channel_type);                          \
    } while (0)

int sl_decode_memcpy(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_memcpy_layout *at = d->layout->memcpy;
    struct sl_event ev = {.kind = SL_EV_MEMCPY};
    struct sl_shape shape = {0};

    if (OPERATION(&ev, &shape, record, at) != 0)
        return -1;
    COPY(&ev, &shape, record, at);
    return finish(d, &ev, &shape);
}

int sl_decode_memcpy_peer(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_memcpy_peer_layout *at = d->layout->memcpy_peer;
    struct sl_event ev = {.kind = SL_EV_MEMCPY};
    struct sl_shape shape = {.is_peer = 1};

    if (OPERATION(&ev, &shape, record, at) != 0)
        return -1;
    COPY(&ev, &shape, record, at);
    shape.src_device = sl_load32(record + at->src_device);
    shape.src_context = sl_load32(record + at->src_context);
    shape.dst_device = sl_load32(record + at->dst_device);
    shape.dst_context = sl_load32(record + at->dst_context);
    return finish(d, &ev, &shape);
}

int sl_decode_memset(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_memset_layout *at = d->layout->memset;
    struct sl_event ev = {.kind = SL_EV_MEMSET};
    struct sl_shape shape = {0};

    if (OPERATION(&ev, &shape, record, at) != 0)
        return -1;
    ev.u.op.bytes = sl_load64(record + at->bytes);
    ev.u.op.graph_node = sl_load64(record + at->graph_node);
    shape.dst_memory = sl_load16(record + at->memory);
    shape.memset_value = sl_load32(record + at->value);
    shape.channel = sl_load32(record + at->channel);
    shape.channel_type = sl_load32(record + at->channel_type);
    return finish(d, &ev, &shape);
}

int sl_decode_graph(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_graph_layout *at = d->layout->graph;
    struct sl_event ev = {.kind = SL_EV_GRAPH};
    struct sl_shape shape = {.priority = SL_PRIORITY_UNKNOWN};

    if (OPERATION(&ev, &shape, record, at) != 0)
        return -1;
    return finish(d, &ev, &shape);
}
