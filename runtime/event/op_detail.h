/*
 * op_detail.h - packs the details of an operator, besides its name and times, into one text.
 *
 * The same operator with the same shapes runs in each step of a job. So the text is interned, and
 * an event contains the id of the text. The text holds
 *   - JSON members as PyTorch reports them. For the operator `record_param_comms` these members
 *     describe the collective, under torch.profiler's names ("Collective name", "In msg nelems",
 *     "dtype", "Process Group Name"...). sl_op_detail_member() finds such a member;
 *   - the inputs, in the format of event/op_inputs_format.h.
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
    int was_cut; /* 1: the observer (the library that records operators) left out some inputs, for
                  * lack of room */
};

#define SL_OP_DETAIL_HEAD 4
/* Maximum length of the text in bytes. The observer never makes a longer text, so
 * sl_op_detail_unpack() rejects longer texts. */
#define SL_OP_DETAIL_MOST 4096

/* Packs the members and the inputs into `out`. The caller guarantees that `out` has room for both
 * and SL_OP_DETAIL_HEAD bytes. Returns the length of the text. */
size_t sl_op_detail_pack(char *out, const struct sl_op_detail *detail);

/* Unpacks a text. The pointers in *out then point into `text`. Returns 0, or -EINVAL if the text is
 * not valid. */
int sl_op_detail_unpack(struct sl_op_detail *out, const char *text, size_t length);

/* Returns a member's value as written in JSON, with its quotes. Returns NULL if there is no member
 * with this name. */
const char *sl_op_detail_member(const struct sl_op_detail *detail, const char *name,
                                size_t *length);

#endif
