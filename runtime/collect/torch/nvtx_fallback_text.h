/*
 * nvtx_fallback_text.h - parses the text of the NVTX range that PyTorch pushes for an operator:
 *
 *     NAME[, seq = N], op_id = N[, sizes = [[2, 3], [], ...]][, input_op_ids = [(op,place), ...]]
 *
 * Names are not escaped and may contain commas, so the text is read from its end. Nothing in the
 * text is trusted, because any program may have pushed the text.
 *
 * Pure functions; any thread.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_TEXT_H
#define SL_TORCH_NVTX_FALLBACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct sl_nvtx_fallback_text {
    size_t name_length; /* the name is the beginning of the text; not 0 */
    uint64_t handle;    /* id of the record function; the lower half is not 0 */
    int64_t sequence;   /* sequence number; -1: none */
    const char *sizes;  /* borrowed JSON text with the sizes of the inputs; NULL: none */
    size_t sizes_length;
    uint8_t was_cut;       /* 1: the sizes were truncated */
    uint8_t is_user;       /* 1: the name shows that this is a user scope and not an operator */
    uint8_t is_evaluation; /* a scope that autograd's engine opens around a node of its graph */
};

/* Returns 0, or -EINVAL if the text does not describe an operator. */
int sl_nvtx_fallback_text_read(struct sl_nvtx_fallback_text *out, const char *text, size_t length);

#endif
