/*
 * cudnn_rnn.c - the stand-in for cuDNN's recurrent nets: the layout of the weights, and the kernels
 * of a pass. A pass first launches the matrix products of the inputs for all time steps at once.
 * Then it launches one product and one element-wise kernel per time step.
 *
 * Application threads.
 */
#include <stdlib.h>

#include "libraries/cudnn.h"
#include "libraries/gemm.h"

enum mode {
    RNN_RELU,
    RNN_TANH,
    LSTM,
    GRU,
    MODES
};

enum {
    NO_BIAS = 0,
    BIDIRECTIONAL = 1,
    PROJECTION = 8 /* index of the linear layer of an LSTM with projections */
};

struct rnn { /* cudnnRNNDescriptor_t */
    int mode, bias, type;
    int64_t input, hidden, projected, layers, directions;
};

struct rnn_data { /* cudnnRNNDataDescriptor_t */
    int64_t steps, batch;
};

/* Kernel names as they appear in profiles, with shortened parameters. */
static const struct {
    int gates;
    const char *forward, *backward;
} modes[MODES] = {
    [RNN_RELU] = {1, "_Z15elemWiseRNNcellIfffL14cudnnRNNMode_t0EEvPKT_PT0_",
                  "_Z11RNN_bp_reluIfffEvPKT_PT0_"},
    [RNN_TANH] = {1, "_Z15elemWiseRNNcellIfffL14cudnnRNNMode_t1EEvPKT_PT0_",
                  "_Z11RNN_bp_tanhIfffEvPKT_PT0_"},
    [LSTM] = {4, "_Z19LSTM_elementWise_fpIfffL18cudnnRNNBiasMode_t2EEvPKT_PT0_",
              "_Z20LSTM_elementWise_bp1IffffEvPKT_PT0_"},
    [GRU] = {3, "_Z18GRU_elementWise_fpIfffL18cudnnRNNBiasMode_t2EEvPKT_PT0_",
             "_Z19GRU_elementWise_bp1IfffEvPKT_PT0_"},
};

#define DESCRIPTOR(kind, type)                                                                     \
    LIBRARY(int, cudnnCreate##kind##Descriptor, (struct type * *out))                              \
    {                                                                                              \
        *out = calloc(1, sizeof **out);                                                            \
        return *out ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;                                          \
    }                                                                                              \
    LIBRARY(int, cudnnDestroy##kind##Descriptor, (struct type * d))                                \
    {                                                                                              \
        free(d);                                                                                   \
        return CUDNN_SUCCESS;                                                                      \
    }
DESCRIPTOR(RNN, rnn)
DESCRIPTOR(RNNData, rnn_data)

LIBRARY(int, cudnnSetRNNDescriptor_v8,
        (struct rnn * r, int algorithm, int mode, int bias, int direction, int input_mode, int type,
         int math_precision, int math_type, int32_t input, int32_t hidden, int32_t projected,
         int32_t layers, const struct descriptor *dropout, uint32_t flags))
{
    if (mode < 0 || mode >= MODES) {
        return CUDNN_INVALID_VALUE;
    }
    *r = (struct rnn){.mode = mode,
                      .bias = bias,
                      .type = type,
                      .input = input,
                      .hidden = hidden,
                      .projected = projected ? projected : hidden,
                      .layers = layers,
                      .directions = direction == BIDIRECTIONAL ? 2 : 1};
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnSetRNNDataDescriptor,
        (struct rnn_data * d, int type, int layout, int steps, int batch, int width,
         const int *lengths, void *padding))
{
    *d = (struct rnn_data){.steps = steps, .batch = batch};
    return CUDNN_SUCCESS;
}

/* ---- layout of the weights: all matrices, layer by layer, then all biases ---- */

static int64_t input_of(const struct rnn *r, int64_t layer)
{
    return layer ? r->projected * r->directions : r->input;
}

static bool is_projected(const struct rnn *r)
{
    return r->projected != r->hidden;
}

/* Returns the number of elements in the matrices of a pseudo-layer, which is one direction of a
 * layer. */
static int64_t matrices_of(const struct rnn *r, int64_t pseudo)
{
    int64_t rows = modes[r->mode].gates * r->hidden;

    return rows * (input_of(r, pseudo / r->directions) + r->projected) +
           (is_projected(r) ? r->projected * r->hidden : 0);
}

static int64_t all_matrices(const struct rnn *r, int64_t before)
{
    int64_t sum = 0;

    for (int64_t pseudo = 0; pseudo < before; pseudo++) {
        sum += matrices_of(r, pseudo);
    }
    return sum;
}

static size_t bytes_of(const struct rnn *r)
{
    return sim_precision[sim_cudnn_precision(r->type, false)].bytes;
}

LIBRARY(int, cudnnGetRNNWeightSpaceSize, (struct sim_cudnn * h, const struct rnn *r, size_t *bytes))
{
    int64_t pseudos = r->layers * r->directions;
    int64_t biases = r->bias == NO_BIAS ? 0 : 2 * modes[r->mode].gates * r->hidden * pseudos;

    *bytes = (size_t)(all_matrices(r, pseudos) + biases) * bytes_of(r);
    return CUDNN_SUCCESS;
}

static void describe(struct descriptor *d, int type, int64_t rows, int64_t columns)
{
    *d = (struct descriptor){.type = type,
                             .n = 3,
                             .dimension = {1, (int)rows, (int)columns},
                             .stride = {(int)(rows * columns), (int)columns, 1}};
}

LIBRARY(int, cudnnGetRNNWeightParams,
        (struct sim_cudnn * h, const struct rnn *r, int32_t pseudo, size_t bytes, char *space,
         int32_t linear, struct descriptor *matrix, void **matrix_at, struct descriptor *bias,
         void **bias_at))
{
    int64_t gates = modes[r->mode].gates, input = input_of(r, pseudo / r->directions);
    int64_t at = all_matrices(r, pseudo), rows = r->hidden, columns = input;
    int64_t biases = all_matrices(r, r->layers * r->directions) + 2 * gates * r->hidden * pseudo;

    if (linear == PROJECTION && is_projected(r)) {
        rows = r->projected;
        columns = r->hidden;
        at += gates * r->hidden * (input + r->projected);
    } else if (linear < gates) {
        at += linear * r->hidden * input;
    } else if (linear < 2 * gates) {
        columns = r->projected;
        at += gates * r->hidden * input + (linear - gates) * r->hidden * r->projected;
    } else {
        return CUDNN_INVALID_VALUE;
    }
    if (matrix) {
        describe(matrix, r->type, rows, columns);
        *matrix_at = space + (size_t)at * bytes_of(r);
    }
    if (bias && r->bias != NO_BIAS) {
        describe(bias, r->type, r->hidden, 1);
        *bias_at = space + (size_t)(biases + linear * r->hidden) * bytes_of(r);
    }
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnGetRNNTempSpaceSizes,
        (struct sim_cudnn * h, const struct rnn *r, int training, const struct rnn_data *x,
         size_t *workspace, size_t *reserve))
{
    size_t gates = (size_t)(modes[r->mode].gates * r->hidden * r->directions) * bytes_of(r);

    *workspace = gates * (size_t)(x->steps * x->batch);
    if (reserve) {
        *reserve = training ? *workspace * (size_t)r->layers : 0;
    }
    return CUDNN_SUCCESS;
}

/* ---- kernels of a forward or backward pass ---- */

static int product(const struct sim_cudnn *h, const struct rnn *r, int64_t m, int64_t n, int64_t k)
{
    const struct sim_gemm gemm = {.transpose_a = true,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .batch = 1,
                                  .precision = sim_cudnn_precision(r->type, true)};

    return sim_gemm_launch(h->stream, &gemm);
}

static int element_wise(const struct sim_cudnn *h, const struct rnn *r, const char *name,
                        int64_t batch)
{
    double numbers = (double)(batch * r->hidden);
    const struct sim_library_kernel kernel = {
        .name = name,
        .grid = {(uint32_t)(numbers / 256) + 1, 1, 1},
        .block = {256, 1, 1},
        .cost_ns = sim_library_cost(numbers * 2 * modes[r->mode].gates * (double)bytes_of(r), 0, 1),
    };

    return sim_library_launch(h->stream, &kernel);
}

static int run_layer(const struct sim_cudnn *h, const struct rnn *r, const struct rnn_data *x,
                     const char *name, int64_t layer)
{
    int64_t rows = modes[r->mode].gates * r->hidden;
    int error = product(h, r, rows, x->steps * x->batch, input_of(r, layer));

    for (int64_t step = 0; step < x->steps && !error; step++) {
        error = product(h, r, rows, x->batch, r->projected);
        error = error ? error : element_wise(h, r, name, x->batch);
        if (is_projected(r) && !error) {
            error = product(h, r, r->projected, x->batch, r->hidden);
        }
    }
    return error;
}

static int run(const struct sim_cudnn *h, const struct rnn *r, const struct rnn_data *x,
               const char *name)
{
    int error = 0;

    for (int64_t pseudo = 0; pseudo < r->layers * r->directions && !error; pseudo++) {
        error = run_layer(h, r, x, name, pseudo / r->directions);
    }
    return error ? CUDNN_EXECUTION_FAILED : CUDNN_SUCCESS;
}

LIBRARY(int, cudnnRNNForward,
        (struct sim_cudnn * h, const struct rnn *r, int training, const int32_t *lengths,
         const struct rnn_data *x))
{
    return run(h, r, x, modes[r->mode].forward);
}

LIBRARY(int, cudnnRNNBackwardData_v8,
        (struct sim_cudnn * h, const struct rnn *r, const int32_t *lengths,
         const struct rnn_data *y))
{
    return run(h, r, y, modes[r->mode].backward);
}

/* Launches one product with the input and one with the states, for each layer and direction. */
LIBRARY(int, cudnnRNNBackwardWeights_v8,
        (struct sim_cudnn * h, const struct rnn *r, int add, const int32_t *lengths,
         const struct rnn_data *x))
{
    int64_t rows = modes[r->mode].gates * r->hidden, depth = x->steps * x->batch;
    int error = 0;

    for (int64_t pseudo = 0; pseudo < r->layers * r->directions && !error; pseudo++) {
        error = product(h, r, rows, input_of(r, pseudo / r->directions), depth);
        error = error ? error : product(h, r, rows, r->projected, depth);
    }
    return error ? CUDNN_EXECUTION_FAILED : CUDNN_SUCCESS;
}
