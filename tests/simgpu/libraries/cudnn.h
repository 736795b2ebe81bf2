/*
 * cudnn.h - shared by the parts of the cuDNN stand-in.
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

/* A descriptor with a data type and dimensions: a tensor, a filter and so on. All kinds use this
 * struct. */
struct descriptor {
    int type, format, n;
    int dimension[8], stride[8];
};

/* Returns the precision for a cudnnDataType_t. With `tf32`, the default of cuDNN, single precision
 * runs on tensor cores. */
enum sim_precision sim_cudnn_precision(int data_type, bool tf32);

#endif
