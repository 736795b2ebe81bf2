/*
 * copy.c - copies and memsets: their kind and duration, whether they block the caller, and the
 * transfer of the bytes.
 *
 * Application threads; the service thread transfers data that had to wait for a host callback.
 */
#include <string.h>

#include "core/memory.h"
#include "core/sim.h"
#include "core/virtual.h"

enum copy_kind { /* CUpti_ActivityMemcpyKind */
    HTOD = 1,
    DTOH = 2,
    DTOD = 8,
    HTOH = 9,
    PTOP = 10
};

enum {
    FIXED_NS = 1500
};

/* Bytes per microsecond. */
enum {
    PINNED_RATE = 50000,
    PAGEABLE_RATE = 12000,
    DEVICE_RATE = 1400000,
    PEER_RATE = 300000
};

static bool on_device(enum sim_memory memory)
{
    return memory == SIM_DEVICE || memory == SIM_MANAGED;
}

static uint64_t duration(const struct sim_work *work)
{
    uint64_t rate = PINNED_RATE;

    if (work->copy.copy_kind == DTOD) {
        rate = DEVICE_RATE;
    } else if (work->copy.peer) {
        rate = PEER_RATE;
    } else if (work->copy.src_memory == SIM_PAGEABLE || work->copy.dst_memory == SIM_PAGEABLE) {
        rate = PAGEABLE_RATE;
    }
    return FIXED_NS + work->copy.width * work->copy.height * 1000 / rate;
}

/* Addresses are unified, so the pointers determine the direction. The direction that the caller
 * gave must agree with the pointers. */
static bool direction_fits(enum sim_direction direction, bool from_device, bool to_device)
{
    switch (direction) {
    case SIM_HOST_TO_DEVICE:
        return to_device;
    case SIM_DEVICE_TO_HOST:
        return from_device;
    case SIM_DEVICE_TO_DEVICE:
        return true;
    default:
        return true;
    }
}

/* Returns whether `height` rows of `width` bytes, `pitch` bytes apart, exceed the device memory in
 * which the rows begin. */
static bool overruns(const void *pointer, size_t pitch, size_t width, size_t height)
{
    uint32_t device;

    return on_device(sim_memory_kind(pointer, &device)) &&
           (height - 1) * pitch + width > sim_memory_room(pointer);
}

/* Returns whether the address is in a reserved range of device addresses without mapped memory.
 * Such an address is not host memory either. */
static bool unmapped(enum sim_memory memory, const void *pointer)
{
    return memory == SIM_PAGEABLE && sim_virtual_reserved(pointer);
}

int sim_copy_describe(const struct sim_copy *copy, struct sim_work *work)
{
    uint32_t src_device = SIM_NONE, dst_device = SIM_NONE;
    enum sim_memory src = sim_memory_kind(copy->src, &src_device);
    enum sim_memory dst = sim_memory_kind(copy->dst, &dst_device);

    if ((unsigned)copy->direction > SIM_DIRECTION_DEFAULT || !copy->src || !copy->dst) {
        return SIM_E_VALUE;
    }
    if (copy->height > 1 && (copy->src_pitch < copy->width || copy->dst_pitch < copy->width)) {
        return SIM_E_VALUE;
    }
    if (!direction_fits(copy->direction, on_device(src), on_device(dst)) ||
        unmapped(src, copy->src) || unmapped(dst, copy->dst) ||
        overruns(copy->src, copy->src_pitch, copy->width, copy->height) ||
        overruns(copy->dst, copy->dst_pitch, copy->width, copy->height)) {
        return SIM_E_VALUE;
    }
    bool peer = on_device(src) && on_device(dst) && src_device != dst_device;

    *work = (struct sim_work){.kind = SIM_WORK_COPY,
                              .copy = {.dst = copy->dst,
                                       .src = copy->src,
                                       .dst_pitch = copy->dst_pitch,
                                       .src_pitch = copy->src_pitch,
                                       .width = copy->width,
                                       .height = copy->height,
                                       .src_memory = src,
                                       .dst_memory = dst,
                                       .async = copy->async,
                                       .peer = peer,
                                       .src_device = on_device(src) ? src_device : SIM_NONE,
                                       .dst_device = on_device(dst) ? dst_device : SIM_NONE,
                                       .copy_kind = peer                               ? PTOP
                                                    : on_device(src) && on_device(dst) ? DTOD
                                                    : on_device(src)                   ? DTOH
                                                    : on_device(dst)                   ? HTOD
                                                                                       : HTOH}};
    work->duration_ns = duration(work);
    return SIM_OK;
}

/* Returns whether the call waits until its own copy has ended. cudaMemcpy waits if it copies to the
 * host, between host buffers or from pinned memory. cudaMemcpyAsync waits if it copies to pageable
 * memory or between host buffers. */
static bool waits_for_itself(const struct sim_work *work)
{
    switch (work->copy.copy_kind) {
    case DTOH:
        return !work->copy.async || work->copy.dst_memory == SIM_PAGEABLE;
    case HTOH:
        return true;
    case HTOD:
        return !work->copy.async && work->copy.src_memory == SIM_PINNED;
    default:
        return false;
    }
}

/* Returns whether the call waits for its stream. A synchronous copy from pageable memory first
 * synchronizes its stream. The call may return before its own transfer ends. */
static bool waits_for_stream(const struct sim_work *work)
{
    return work->copy.copy_kind == HTOD && !work->copy.async &&
           work->copy.src_memory == SIM_PAGEABLE;
}

/* cudaMemcpyPeer is ordered after and before all work of the devices involved, like the legacy
 * streams of the other contexts. `op` is NULL before the copy is enqueued. */
static void serialize_with(struct sim_stream *stream, const void *pointer, struct op *op)
{
    struct sim_allocation found;
    struct sim_set set = {0};

    if (!sim_memory_find(pointer, &found) || !found.context || found.context == stream->context) {
        return;
    }
    sim_lock();
    if (op) {
        sim_set_add(&set, op, SIM_VIA_LEGACY, 0);
        sim_stream_follow(found.context->legacy, &set, SIM_VIA_LEGACY, 0);
    } else {
        sim_stream_collect(found.context->legacy, &set);
        sim_stream_follow(stream, &set, SIM_VIA_LEGACY, 0);
    }
    sim_unlock();
    sim_set_clear(&set);
}

static int run_peer(struct sim_stream *stream, const struct sim_work *work)
{
    struct op *op;

    serialize_with(stream, work->copy.src, NULL);
    serialize_with(stream, work->copy.dst, NULL);
    int error = sim_submit(stream, work, &op);

    if (!error) {
        serialize_with(stream, work->copy.src, op);
        serialize_with(stream, work->copy.dst, op);
        sim_op_unref(&op->pub);
    }
    return error;
}

int sim_copy_run(struct sim_stream *stream, const struct sim_copy *copy)
{
    struct sim_work work;
    struct op *op;

    if (copy->width * copy->height == 0) {
        return SIM_OK;
    }
    int error = sim_copy_describe(copy, &work);

    if (error) {
        return error;
    }
    bool capturing = sim_stream_capturing(stream);

    if (!work.copy.async && (error = sim_capture_guard(stream))) {
        return error;
    }
    if (!capturing && waits_for_stream(&work) && (error = sim_wait_stream(stream, "copy"))) {
        return error;
    }
    if (copy->peer && !copy->async) {
        return run_peer(stream, &work);
    }
    if (capturing || !waits_for_itself(&work)) {
        return sim_submit(stream, &work, NULL);
    }
    error = sim_submit(stream, &work, &op);
    return error ? error : sim_wait_op(op, "copy");
}

int sim_set_describe(void *dst, size_t pitch, uint32_t value, uint32_t size, size_t width,
                     size_t height, bool async, struct sim_work *work)
{
    uint32_t device;
    enum sim_memory memory = sim_memory_kind(dst, &device);

    if (memory == SIM_PAGEABLE || (height > 1 && pitch < width * size) ||
        overruns(dst, pitch, width * size, height)) {
        return SIM_E_VALUE;
    }
    *work = (struct sim_work){.kind = SIM_WORK_SET,
                              .duration_ns = FIXED_NS + width * height * size * 1000 / DEVICE_RATE,
                              .set = {.dst = dst,
                                      .pitch = pitch,
                                      .width = width,
                                      .height = height,
                                      .value = value,
                                      .size = size,
                                      .memory = memory,
                                      .async = async}};
    return SIM_OK;
}

/* Memsets of device memory do not block, even if the function is not named Async. */
int sim_set_run(struct sim_stream *stream, void *dst, size_t pitch, uint32_t value, uint32_t size,
                size_t width, size_t height, bool async)
{
    struct sim_work work;
    struct op *op;

    if (width * height == 0) {
        return SIM_OK;
    }
    int error = sim_set_describe(dst, pitch, value, size, width, height, async, &work);

    if (!error && !async) {
        error = sim_capture_guard(stream);
    }
    if (error) {
        return error;
    }
    if (async || work.set.memory == SIM_DEVICE) {
        return sim_submit(stream, &work, NULL);
    }
    error = sim_submit(stream, &work, &op);
    return error ? error : sim_wait_op(op, "memset");
}

static void move_copy(const struct sim_work *work)
{
    char *dst = work->copy.dst;
    const char *src = work->copy.src;

    for (size_t row = 0; row < work->copy.height; row++) {
        memmove(dst, src, work->copy.width);
        dst += work->copy.dst_pitch;
        src += work->copy.src_pitch;
    }
}

static void move_set(const struct sim_work *work)
{
    char *row = work->set.dst;

    for (size_t y = 0; y < work->set.height; y++, row += work->set.pitch) {
        if (work->set.size == 1) {
            memset(row, (int)work->set.value, work->set.width);
            continue;
        }
        for (size_t x = 0; x < work->set.width; x++) {
            memcpy(row + x * work->set.size, &work->set.value, work->set.size);
        }
    }
}

bool sim_work_moves(const struct sim_work *work)
{
    return work->kind == SIM_WORK_COPY || work->kind == SIM_WORK_SET ||
           (work->kind == SIM_WORK_KERNEL && work->launch.count);
}

void sim_work_move(const struct sim_work *work)
{
    switch (work->kind) {
    case SIM_WORK_KERNEL:
        memset(work->launch.count, 0, work->launch.count_bytes);
        break;
    case SIM_WORK_COPY:
        move_copy(work);
        break;
    case SIM_WORK_SET:
        move_set(work);
        break;
    case SIM_WORK_FREE:
        sim_memory_free(work->free, SIM_DEVICE);
        break;
    default:
        break;
    }
}
