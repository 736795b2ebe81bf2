/*
 * op_inputs.h - writes an operator's inputs as the four JSON members that torch.profiler writes.
 *
 * Pure functions; any thread.
 */
#ifndef SL_OP_INPUTS_H
#define SL_OP_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* The text has at most SL_OP_INPUTS_PER_BYTE bytes for each byte of the inputs, plus
 * SL_OP_INPUTS_MORE bytes. */
#define SL_OP_INPUTS_PER_BYTE 64
#define SL_OP_INPUTS_MORE     128

/* The lists that torch.profiler writes for inputs. */
enum sl_op_inputs_list {
    SL_OP_INPUTS_DIMS,
    SL_OP_INPUTS_TYPES,
    SL_OP_INPUTS_STRIDES,
    SL_OP_INPUTS_VALUES
};

/* Writes one list as JSON, "[...]". */
char *sl_op_inputs_put_list(char *at, const uint8_t *inputs, size_t length,
                            enum sl_op_inputs_list list);

/* Writes "Input Dims", "Input type", "Input Strides" and "Concrete Inputs" with commas between
 * them, or nothing if there is no input. Invalid bytes end the list. */
char *sl_op_inputs_put(char *at, const uint8_t *inputs, size_t length);

#endif
