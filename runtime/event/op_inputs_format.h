/*
 * op_inputs_format.h - how an operator's inputs are written as bytes: by the observer of PyTorch's
 * operators, read where a trace is written (event/op_detail.h).
 *
 * Inputs are a row of items, each a byte of enum sl_op_input and what stands behind it. Numbers are
 * little-endian, seven bits a byte, the last byte without the upper bit. An SL_OP_INPUT_INT has its
 * sign in the lowest bit (0, -1, 1, -2...).
 *
 * Plain C and C++: the observer is compiled apart from the library.
 */
#ifndef SL_OP_INPUTS_FORMAT_H
#define SL_OP_INPUTS_FORMAT_H

enum sl_op_input {
    SL_OP_INPUT_OTHER,   /* nothing is said: no tensor, one that is not defined, or has no size */
    SL_OP_INPUT_TENSOR,  /* a byte: at::ScalarType; number of dimensions; sizes; strides */
    SL_OP_INPUT_LAYOUT,  /* the same without strides: it has none */
    SL_OP_INPUT_TENSORS, /* how many; each, if they are at most SL_OP_INPUT_LIST_MOST */
    SL_OP_INPUT_INT,     /* a number */
    SL_OP_INPUT_DOUBLE,  /* eight bytes */
    SL_OP_INPUT_COMPLEX, /* sixteen */
    SL_OP_INPUT_FALSE,
    SL_OP_INPUT_TRUE,
    SL_OP_INPUT_SYMBOL,  /* a number that is not known */
    SL_OP_INPUT_SCALARS, /* how many, at most SL_OP_INPUT_LIST_MOST; each */
};

/* The contents of longer lists are left out, as torch.profiler does. */
#define SL_OP_INPUT_LIST_MOST 30

#endif
