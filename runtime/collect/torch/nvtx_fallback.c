/*
 * nvtx_fallback.c - records PyTorch operators from the NVTX ranges that PyTorch pushes for
 * operators.
 *
 * Threads, memory: see nvtx_fallback.h. This file parses each range's text, and makes the same call
 * that an observer would make (collect/torch/ops_abi.h).
 */
#include "collect/torch/nvtx_fallback.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/torch/nvtx_fallback_text.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"

#define SEVERAL UINT32_MAX
#define DIMS    "\"Input Dims\":"

static struct {
    _Atomic uint32_t threads; /* highest thread number assigned so far */
    _Atomic uint32_t forward; /* number of the thread that runs forward operators; 0: none yet;
                               * SEVERAL: more than one thread */
} numbers;

/* ---- facts that the texts lack ---- */

/* Returns the number of the lane's thread. Like PyTorch, we number threads from 1, in the order of
 * their first operators. */
static uint32_t number_of(struct sl_lane *lane)
{
    if (!lane->told_number)
        lane->told_number =
            1 + atomic_fetch_add_explicit(&numbers.threads, 1, memory_order_relaxed);
    return lane->told_number;
}

/* Each thread counts its own sequence numbers. The text of a backward operator contains a sequence
 * number, but not the thread that has counted it. So we know the forward thread only as long as a
 * single thread runs forward operators. */
static void note_forward(uint32_t number)
{
    uint32_t nobody = 0;

    if (!atomic_compare_exchange_strong(&numbers.forward, &nobody, number) && nobody != number)
        atomic_store(&numbers.forward, SEVERAL);
}

static uint32_t forward_thread(void)
{
    uint32_t number = atomic_load(&numbers.forward);

    return number == SEVERAL ? 0 : number;
}

/* ---- operators ---- */

static struct sl_lane_told *innermost(struct sl_lane *lane)
{
    return lane->told ? &lane->told_op[lane->told - 1] : NULL;
}

static int is_in_evaluation(const struct sl_lane *lane)
{
    for (uint32_t i = 0; i < lane->told; i++)
        if (lane->told_op[i].is_evaluation)
            return 1;
    return 0;
}

static uint8_t scope_of(struct sl_lane *lane, const struct sl_nvtx_fallback_text *t)
{
    const struct sl_lane_told *around = innermost(lane);

    if (t->is_user)
        return SL_TORCH_SCOPE_USER;
    return around && around->is_evaluation && t->sequence >= 0 ? SL_TORCH_SCOPE_BACKWARD
                                                               : SL_TORCH_SCOPE_FUNCTION;
}

static void tell(struct sl_lane *lane, const struct sl_nvtx_fallback_text *t, const char *text)
{
    char name[SL_LANE_TEXT_MAX + 1], more[sizeof(DIMS) + SL_LANE_TEXT_MAX];
    struct sl_torch_op op = {.name = name,
                             .name_length = t->name_length,
                             .handle = t->handle,
                             .sequence = t->sequence,
                             .thread = number_of(lane),
                             .scope = scope_of(lane, t),
                             .was_cut = t->was_cut};

    memcpy(name, text, t->name_length);
    name[t->name_length] = '\0';
    if (op.scope == SL_TORCH_SCOPE_BACKWARD)
        op.forward_thread = forward_thread();
    else if (t->sequence >= 0 && !is_in_evaluation(lane))
        note_forward(op.thread);
    if (t->sizes && op.scope != SL_TORCH_SCOPE_USER) {
        memcpy(more, DIMS, sizeof(DIMS) - 1);
        memcpy(more + sizeof(DIMS) - 1, t->sizes, t->sizes_length);
        op.more = more;
        op.more_length = (uint32_t)(sizeof(DIMS) - 1 + t->sizes_length);
    }
    sl_torch_ops_begin(&op);
}

int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length)
{
    struct sl_nvtx_fallback_text t;
    struct sl_lane_told *told = &lane->told_op[lane->told];
    int is_wanted;

    if (length > SL_LANE_TEXT_MAX)
        length = SL_LANE_TEXT_MAX;
    /* lane->thread is 0 after the thread has returned its lane. */
    if (!lane->thread || lane->skipped[0] || lane->told == SL_LANE_TOLD ||
        sl_nvtx_fallback_text_read(&t, text, length))
        return 0;
    is_wanted = t.is_user || sl_torch_ops_are_wanted();
    if (is_wanted)
        tell(lane, &t, text);
    *told = (struct sl_lane_told){.handle = is_wanted ? (uint32_t)t.handle : 0,
                                  .depth = lane->depth[0],
                                  .is_user = t.is_user,
                                  .is_evaluation = t.is_evaluation};
    lane->told++;
    return 1;
}

int sl_nvtx_fallback_end(struct sl_lane *lane)
{
    const struct sl_lane_told *told = innermost(lane);

    /* If a range that the program pushed inside the operator is still open, this pop ends that
     * range. */
    if (told->depth != lane->depth[0])
        return 0;
    lane->told--;
    if (told->handle)
        sl_torch_ops_end(told->handle,
                         told->is_user ? SL_TORCH_SCOPE_USER : SL_TORCH_SCOPE_FUNCTION, 0);
    return 1;
}
