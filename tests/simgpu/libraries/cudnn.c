/*
 * cudnn.c - the stand-in for cuDNN's classic interface: handles, descriptors, batch normalization,
 * pooling. Convolutions use the backend interface (cudnn_backend.c).
 *
 * Application threads.
 */
#include <stdlib.h>
#include <string.h>

#include "libraries/cudnn.h"

LIBRARY(size_t, cudnnGetVersion, (void))
{
    return SIM_CUDNN_VERSION;
}

LIBRARY(size_t, cudnnGetCudartVersion, (void))
{
    return SIM_CUDNN_CUDART;
}

LIBRARY(int, cudnnGetProperty, (int which, int *value))
{
    static const int part[] = {SIM_CUDNN_VERSION / 10000, SIM_CUDNN_VERSION / 100 % 100,
                               SIM_CUDNN_VERSION % 100};

    if (which < 0 || which > 2) {
        return CUDNN_INVALID_VALUE;
    }
    *value = part[which];
    return CUDNN_SUCCESS;
}

LIBRARY(const char *, cudnnGetErrorString, (int status))
{
    return status == CUDNN_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
           : status == CUDNN_INVALID_VALUE ? "CUDNN_STATUS_BAD_PARAM"
           : status == CUDNN_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                           : "CUDNN_STATUS_EXECUTION_FAILED";
}

LIBRARY(void, cudnnGetLastErrorString, (char *text, size_t size))
{
    if (size) {
        *text = 0;
    }
}

LIBRARY(int, cudnnCreate, (struct sim_cudnn * *out))
{
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

LIBRARY(int, cudnnDestroy, (struct sim_cudnn * h))
{
    free(h);
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnSetStream, (struct sim_cudnn * h, void *stream))
{
    h->stream = stream;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnGetStream, (struct sim_cudnn * h, void **stream))
{
    *stream = h->stream;
    return CUDNN_SUCCESS;
}

/* ---- descriptors ---- */

#define DESCRIPTOR(kind)                                                                           \
    LIBRARY(int, cudnnCreate##kind##Descriptor, (struct descriptor * *out))                        \
    {                                                                                              \
        *out = calloc(1, sizeof **out);                                                            \
        return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;                                          \
    }                                                                                              \
    LIBRARY(int, cudnnDestroy##kind##Descriptor, (struct descriptor * d))                          \
    {                                                                                              \
        free(d);                                                                                   \
        return CUDNN_SUCCESS;                                                                      \
    }
DESCRIPTOR(Tensor)
DESCRIPTOR(Filter)
DESCRIPTOR(Activation)
DESCRIPTOR(Dropout)
DESCRIPTOR(Pooling)
DESCRIPTOR(Convolution)

static int set_dimensions(struct descriptor *d, int type, int n, const int *dimension)
{
    if (n < 0 || n > 8) {
        return CUDNN_INVALID_VALUE;
    }
    d->type = type;
    d->n = n;
    memcpy(d->dimension, dimension, (size_t)n * sizeof *dimension);
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnSetTensorNdDescriptor,
        (struct descriptor * d, int type, int n, const int *dimension, const int *stride))
{
    int status = set_dimensions(d, type, n, dimension);

    if (status == CUDNN_SUCCESS) {
        memcpy(d->stride, stride, (size_t)n * sizeof *stride);
    }
    return status;
}

LIBRARY(int, cudnnGetTensorNdDescriptor,
        (const struct descriptor *d, int wanted, int *type, int *n, int *dimension, int *stride))
{
    size_t count = (size_t)(wanted < d->n ? wanted : d->n);

    *type = d->type;
    *n = d->n;
    memcpy(dimension, d->dimension, count * sizeof *dimension);
    memcpy(stride, d->stride, count * sizeof *stride);
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnSetFilterNdDescriptor,
        (struct descriptor * d, int type, int format, int n, const int *dimension))
{
    d->format = format;
    return set_dimensions(d, type, n, dimension);
}

LIBRARY(int, cudnnSetActivationDescriptor,
        (struct descriptor * d, int mode, int nan_propagation, double coefficient))
{
    d->type = mode;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnDropoutGetStatesSize, (struct sim_cudnn * h, size_t *bytes))
{
    *bytes = 1 << 20;
    return CUDNN_SUCCESS;
}

/* Initializes the states of the random generator in device memory. */
LIBRARY(int, cudnnSetDropoutDescriptor,
        (struct descriptor * d, struct sim_cudnn *h, float probability, void *states, size_t bytes,
         unsigned long long seed))
{
    const struct sim_library_kernel kernel = {
        .name = "_ZN5cudnn18init_random_statesEP17curandStateXORWOWyi",
        .grid = {64, 1, 1},
        .block = {256, 1, 1},
        .cost_ns = sim_library_cost((double)bytes, 0, 1),
    };

    return sim_library_launch(h->stream, &kernel) ? CUDNN_EXECUTION_FAILED : CUDNN_SUCCESS;
}

LIBRARY(int, cudnnRestoreDropoutDescriptor,
        (struct descriptor * d, struct sim_cudnn *h, float probability, void *states, size_t bytes,
         unsigned long long seed))
{
    return CUDNN_SUCCESS;
}

/* ---- batch normalization; the cost is 3 passes over the tensor forward, 5 backward ---- */

static double bytes_of(const struct descriptor *d)
{
    double bytes = sim_precision[sim_cudnn_precision(d->type, false)].bytes;

    for (int i = 0; i < d->n; i++) {
        bytes *= d->dimension[i];
    }
    return bytes;
}

static int normalize(const struct sim_cudnn *h, const char *name, const struct descriptor *x,
                     double sweeps)
{
    uint32_t channels = x->n > 1 ? (uint32_t)x->dimension[1] : 1;
    const struct sim_library_kernel kernel = {
        .name = name,
        .grid = {channels, 1, 1},
        .block = {512, 1, 1},
        .cost_ns = sim_library_cost(sweeps * bytes_of(x), 0, 1),
    };

    return sim_library_launch(h->stream, &kernel) ? CUDNN_EXECUTION_FAILED : CUDNN_SUCCESS;
}

LIBRARY(int, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize,
        (struct sim_cudnn * h, int mode, int ops, const struct descriptor *x,
         const struct descriptor *z, const struct descriptor *y, const struct descriptor *scale,
         const struct descriptor *activation, size_t *bytes))
{
    *bytes = 0;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnGetBatchNormalizationBackwardExWorkspaceSize,
        (struct sim_cudnn * h, int mode, int ops, const struct descriptor *x,
         const struct descriptor *y, const struct descriptor *dy, const struct descriptor *dz,
         const struct descriptor *dx, const struct descriptor *scale,
         const struct descriptor *activation, size_t *bytes))
{
    *bytes = 0;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnGetBatchNormalizationTrainingExReserveSpaceSize,
        (struct sim_cudnn * h, int mode, int ops, const struct descriptor *activation,
         const struct descriptor *x, size_t *bytes))
{
    *bytes = 0;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnBatchNormalizationForwardTrainingEx,
        (struct sim_cudnn * h, int mode, int ops, const void *alpha, const void *beta,
         const struct descriptor *x))
{
    return normalize(h,
                     "_ZN5cudnn24bn_fw_tr_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEvNS_18bn_fw_tr_"
                     "1C11_argsIT_EE",
                     x, 3);
}

LIBRARY(int, cudnnBatchNormalizationBackwardEx,
        (struct sim_cudnn * h, int mode, int ops, const void *alpha_data, const void *beta_data,
         const void *alpha_parameters, const void *beta_parameters, const struct descriptor *x))
{
    return normalize(h,
                     "_ZN5cudnn21bn_bw_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEvNS_15bn_bw_1C11_"
                     "argsIT_EE",
                     x, 5);
}

LIBRARY(int, cudnnBatchNormalizationForwardInference,
        (struct sim_cudnn * h, int mode, const void *alpha, const void *beta,
         const struct descriptor *x))
{
    return normalize(h,
                     "_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWIffLb1ELi1EEEvT0_T0_17cudnnTensorStruct"
                     "PKT_17cudnnTensorStructPT_",
                     x, 2);
}
