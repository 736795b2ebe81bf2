/*
 * cudnn.h - what the parts of the cuDNN stand-in share.
 */
#ifndef SIM_CUDNN_H
#define SIM_CUDNN_H

#include "libraries/library.h"

enum {
    CUDNN_SUCCESS = 0,
    CUDNN_INVALID_VALUE = 2000,
    CUDNN_NOT_SUPPORTED = 3000,
    CUDNN_ALLOC_FAILED = 4003,
    CUDNN_EXECUTION_FAILED = 5000
};

struct sim_cudnn { /* cudnnHandle_t */
    void *stream;
};

/* Of a tensor, a filter...: one struct serves all that have a type and dimensions. */
struct descriptor {
    int type, format, n;
    int dimension[8], stride[8];
};

/* cudnnDataType_t; with `tf32` single precision is computed on tensor cores, cuDNN's default. */
enum sim_precision sim_cudnn_precision(int data_type, bool tf32);

#endif
