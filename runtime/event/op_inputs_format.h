/*
 * op_inputs_format.h - the binary format of an operator's inputs. The observer, a library that
 * records PyTorch's operators, writes this format. The trace writers read this format
 * (event/op_detail.h).
 *
 * Inputs are a sequence of items. Each item is a byte of enum sl_op_input, followed by the data
 * that is listed there. Numbers are little-endian, with seven bits per byte; the upper bit is clear
 * only in the last byte. An SL_OP_INPUT_INT has its sign in the lowest bit (0, -1, 1, -2...).
 *
 * This header is valid C and C++, because the observer is compiled separately, as C++.
 */
#ifndef SL_OP_INPUTS_FORMAT_H
#define SL_OP_INPUTS_FORMAT_H

enum sl_op_input {
    SL_OP_INPUT_OTHER,  /* no tensor, or a tensor that is undefined or has no size; no data
                         * follows */
    SL_OP_INPUT_TENSOR, /* a byte (at::ScalarType), the number of dimensions, sizes, strides */
    SL_OP_INPUT_LAYOUT, /* like SL_OP_INPUT_TENSOR, but without strides */
    /* the number of tensors; then each tensor, if the number is at most SL_OP_INPUT_LIST_MOST */
    SL_OP_INPUT_TENSORS,
    SL_OP_INPUT_INT,     /* a number */
    SL_OP_INPUT_DOUBLE,  /* eight bytes */
    SL_OP_INPUT_COMPLEX, /* sixteen bytes */
    SL_OP_INPUT_FALSE,
    SL_OP_INPUT_TRUE,
    SL_OP_INPUT_SYMBOL, /* a symbolic number, whose value is not known; no data follows */
    /* the number of scalars, at most SL_OP_INPUT_LIST_MOST; then each scalar */
    SL_OP_INPUT_SCALARS,
};

/* Like torch.profiler, we leave out the content of longer lists. */
#define SL_OP_INPUT_LIST_MOST 30

#endif
