/*
 * deep.c - events of the deep levels: channels of kernels, and the work of NCCL's proxy threads.
 *
 * Threads, memory: see deep.h.
 */
#include "collect/nccl/deep.h"

#include <stdatomic.h>

#include "base/clock.h"

#define OPS   1024u /* operations and channels at one time; a power of two */
#define STEPS 4096u /* steps at one time; a power of two */

/* States of steps and channels (NCCL's ncclProfilerEventState_v5_t). */
enum {
    SEND_GPU_WAIT = 8, /* the GPU has not filled the buffer */
    SEND_WAIT = 9,     /* the network sends; args: bytes */
    RECEIVE_WAIT = 10, /* the network receives */
    FLUSH_WAIT = 11,   /* the data is flushed to the GPU's memory; args: bytes */
    RECEIVE_GPU_WAIT = 12,
    SEND_PEER_WAIT = 20, /* the peer has no free buffer */
    CHANNEL_STOP = 22,   /* args: the GPU's global timer */
};

/* All members are atomic, because hostile callers may use one handle on several threads. */
struct op {
    _Atomic uint64_t handle, parent, start_ns, bytes, gpu_wait_ns, net_wait_ns, stop_ns;
    _Atomic uint32_t comm, channel, peer, steps, chunk_bytes, is_send;
};

struct step {
    _Atomic uint64_t handle, op, since_ns;
    _Atomic int state;
};

static struct op ops[OPS];
static struct step steps[STEPS];

#define GET(member)        atomic_load_explicit(&(member), memory_order_relaxed)
#define SET(member, value) atomic_store_explicit(&(member), (value), memory_order_relaxed)
#define ADD(member, value) atomic_fetch_add_explicit(&(member), (value), memory_order_relaxed)

static uint64_t slot_of(uint64_t handle)
{
    return (handle >> SL_NCCL_KIND_BITS) + (handle >> 40) * 0x9e37u;
}

static struct op *op_of(uint64_t handle)
{
    struct op *op = &ops[slot_of(handle) % OPS];

    return GET(op->handle) == handle ? op : NULL;
}

static struct step *step_of(uint64_t handle)
{
    struct step *step = &steps[slot_of(handle) % STEPS];

    return GET(step->handle) == handle ? step : NULL;
}

static void start_op(uint64_t type, uint32_t comm, uint64_t handle,
                     const struct sl_nccl_descriptor *d)
{
    struct op *op = &ops[slot_of(handle) % OPS];
    int is_channel = type == SL_NCCL_KERNEL_CH;

    SET(op->handle, handle);
    SET(op->parent, (uint64_t)(uintptr_t)d->parent);
    SET(op->comm, comm);
    SET(op->bytes, 0);
    SET(op->gpu_wait_ns, 0);
    SET(op->net_wait_ns, 0);
    SET(op->stop_ns, 0);
    SET(op->start_ns, is_channel ? d->kernel_ch.timer : sl_clock_monotonic());
    SET(op->channel, is_channel ? d->kernel_ch.channel : d->proxy_op.channel);
    if (is_channel)
        return;
    SET(op->peer, (uint32_t)d->proxy_op.peer);
    SET(op->steps, (uint32_t)d->proxy_op.steps);
    SET(op->chunk_bytes, (uint32_t)d->proxy_op.chunk_bytes);
    SET(op->is_send, d->proxy_op.is_send != 0);
}

void sl_nccl_deep_start(uint64_t type, uint32_t comm, uint64_t handle,
                        const struct sl_nccl_descriptor *d)
{
    struct step *step = &steps[slot_of(handle) % STEPS];

    if (type != SL_NCCL_PROXY_STEP) {
        start_op(type, comm, handle, d);
        return;
    }
    SET(step->handle, handle);
    SET(step->op, (uint64_t)(uintptr_t)d->parent);
    SET(step->state, 0);
}

/* Adds the time since the step's last change to what the step has waited for. */
static void sum(struct step *step, uint64_t now_ns)
{
    struct op *op = op_of(GET(step->op));
    uint64_t ns = now_ns - GET(step->since_ns);

    if (!op)
        return;
    switch (GET(step->state)) {
    case SEND_GPU_WAIT:
    case RECEIVE_GPU_WAIT:
        ADD(op->gpu_wait_ns, ns);
        break;
    case SEND_WAIT:
    case SEND_PEER_WAIT:
    case RECEIVE_WAIT:
    case FLUSH_WAIT:
        ADD(op->net_wait_ns, ns);
        break;
    default:
        break;
    }
}

void sl_nccl_deep_state(uint64_t handle, int state, const void *args)
{
    struct step *step = step_of(handle);
    struct op *op = op_of(handle);
    uint64_t now_ns;

    if (op && state == CHANNEL_STOP && args) {
        SET(op->stop_ns, *(const uint64_t *)args);
        return;
    }
    if (!step)
        return;
    now_ns = sl_clock_monotonic();
    sum(step, now_ns);
    SET(step->state, state);
    SET(step->since_ns, now_ns);
    op = op_of(GET(step->op));
    if (op && args && (state == SEND_WAIT || state == FLUSH_WAIT))
        ADD(op->bytes, *(const uint64_t *)args);
}

int sl_nccl_deep_end(uint64_t handle, struct sl_nccl_deep *out)
{
    struct step *step = step_of(handle);
    struct op *op = op_of(handle);
    uint64_t mine = handle;

    if (step && atomic_compare_exchange_strong(&step->handle, &mine, 0)) {
        sum(step, sl_clock_monotonic());
        return 0;
    }
    if (!op || !atomic_compare_exchange_strong(&op->handle, &mine, 0))
        return 0;
    *out = (struct sl_nccl_deep){
        .record = {.what = SL_LANE_NCCL,
                   .parts = SL_NCCL_RECORD_CHANNEL,
                   .pairs = sizeof(*out) / 16,
                   .aux = GET(op->comm)},
        .handle = handle,
        .parent = GET(op->parent),
        .channel = GET(op->channel),
    };
    if ((handle & ((1 << SL_NCCL_KIND_BITS) - 1)) == SL_NCCL_KIND_CHANNEL) {
        out->start_ns = GET(op->start_ns);
        out->end_ns = GET(op->stop_ns);
        return out->end_ns != 0; /* from 2.31 NCCL drops channels of a destroyed communicator */
    }
    out->record.parts = GET(op->is_send) ? SL_NCCL_RECORD_SENT : SL_NCCL_RECORD_RECEIVED;
    out->bytes = GET(op->bytes);
    out->length_ns = sl_clock_monotonic() - GET(op->start_ns);
    out->peer = GET(op->peer);
    out->steps = GET(op->steps);
    out->chunk_bytes = GET(op->chunk_bytes);
    out->gpu_wait_ns = GET(op->gpu_wait_ns);
    out->net_wait_ns = GET(op->net_wait_ns);
    return 1;
}
