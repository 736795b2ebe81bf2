/*
 * nvtx_fallback_text.h - the text that PyTorch gives NVTX for an operator, taken apart:
 *
 *     NAME[, seq = N], op_id = N[, sizes = [[2, 3], [], ...]][, input_op_ids = [(op,place), ...]]
 *
 * Names are as they are, commas and all, so the text is read from its end. It may be anybody's:
 * nothing in it is trusted.
 *
 * Pure functions; any thread.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_TEXT_H
#define SL_TORCH_NVTX_FALLBACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct sl_nvtx_fallback_text {
    size_t name_length; /* the text begins with it; not 0 */
    uint64_t handle;    /* its record function's id; the lower half is not 0 */
    int64_t sequence;   /* -1: none */
    const char *sizes;  /* of its inputs, lists of numbers in JSON; borrows; NULL: none */
    size_t sizes_length;
    uint8_t was_cut;       /* sizes were told, but not to their end */
    uint8_t is_user;       /* by its name: a scope of the user's, not an operator */
    uint8_t is_evaluation; /* what autograd's engine does around a node of its graph */
};

/* 0; -EINVAL: this is no operator's. */
int sl_nvtx_fallback_text_read(struct sl_nvtx_fallback_text *out, const char *text, size_t length);

#endif
