/*
 * op_inputs.h - an operator's inputs -> the members of its row that torch.profiler has for them.
 *
 * Pure functions; any thread.
 */
#ifndef SL_OP_INPUTS_H
#define SL_OP_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* An input takes at most this many bytes for each of its own, and all together this many besides.
 */
#define SL_OP_INPUTS_PER_BYTE 64
#define SL_OP_INPUTS_MORE     128

/* One of the lists that torch.profiler has for them. */
enum sl_op_inputs_list {
    SL_OP_INPUTS_DIMS,
    SL_OP_INPUTS_TYPES,
    SL_OP_INPUTS_STRIDES,
    SL_OP_INPUTS_VALUES
};

/* "[...]", as JSON. */
char *sl_op_inputs_put_list(char *at, const uint8_t *inputs, size_t length,
                            enum sl_op_inputs_list list);

/* "Input Dims", "Input type", "Input Strides", "Concrete Inputs", with commas between them; nothing
 * where there is no input. Bytes that make no sense end the list. */
char *sl_op_inputs_put(char *at, const uint8_t *inputs, size_t length);

#endif
