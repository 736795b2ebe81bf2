/*
 * op_detail.h - details of an operator besides its name and times, as one interned text.
 *
 * The same operator on the same shapes comes again in each step of a job: the text is kept once and
 * an event carries its id. It holds
 *   - members of a JSON object as they were told: for `record_param_comms` what the collective is
 *     about, in torch.profiler's words ("Collective name", "In msg nelems", "dtype", "Process Group
 *     Name"...), which sl_op_detail_member() finds;
 *   - the inputs, as event/op_inputs_format.h has them.
 *
 * Pure functions; any thread.
 */
#ifndef SL_OP_DETAIL_H
#define SL_OP_DETAIL_H

#include <stddef.h>
#include <stdint.h>

struct sl_op_detail {
    const char *more;
    size_t more_length;
    const uint8_t *inputs;
    size_t inputs_length;
    int was_cut; /* 1: some inputs are missing */
};

#define SL_OP_DETAIL_HEAD 4
/* Longer than any text that an operator's record makes; a longer text is not one. */
#define SL_OP_DETAIL_MOST 4096

/* Packs both parts into `out`, which has room for them and SL_OP_DETAIL_HEAD. Returns the length.
 */
size_t sl_op_detail_pack(char *out, const struct sl_op_detail *detail);

/* The parts point into `text`. 0, or -EINVAL. */
int sl_op_detail_unpack(struct sl_op_detail *out, const char *text, size_t length);

/* A member's value as written in JSON, with its quotes; NULL: no member of that name. */
const char *sl_op_detail_member(const struct sl_op_detail *detail, const char *name,
                                size_t *length);

#endif
