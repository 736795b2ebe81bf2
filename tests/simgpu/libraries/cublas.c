/*
 * cublas.c - the stand-in for cuBLAS: handles, matrix products in all their forms, products of a
 * matrix or a vector with a vector.
 *
 * Threads: application threads. As cuBLAS requires, a handle is used by one thread at a time.
 */
#include <stdlib.h>

#include "libraries/gemm.h"

enum status {
    SUCCESS = 0,
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13
};

enum {
    R_32F = 0,
    R_64F = 1,
    C_32F = 4,
    C_64F = 5,
    MATH_TF32 = 3 /* CUBLAS_TF32_TENSOR_OP_MATH */
};

struct handle {
    void *stream;
    int math, pointer_mode;
};

LIBRARY(int, cublasCreate_v2, (struct handle * *out))
{
    if (!out) {
        return INVALID_VALUE;
    }
    *out = calloc(1, sizeof **out);
    return *out ? SUCCESS : ALLOC_FAILED;
}

LIBRARY(int, cublasDestroy_v2, (struct handle * h))
{
    free(h);
    return SUCCESS;
}

#define SETTING(function, type, field)                                                             \
    LIBRARY(int, function, (struct handle * h, type value))                                        \
    {                                                                                              \
        if (!h) {                                                                                  \
            return NOT_INITIALIZED;                                                                \
        }                                                                                          \
        h->field = value;                                                                          \
        return SUCCESS;                                                                            \
    }
#define ANSWER(function, type, field)                                                              \
    LIBRARY(int, function, (struct handle * h, type * value))                                      \
    {                                                                                              \
        if (!h || !value) {                                                                        \
            return h ? INVALID_VALUE : NOT_INITIALIZED;                                            \
        }                                                                                          \
        *value = h->field;                                                                         \
        return SUCCESS;                                                                            \
    }
SETTING(cublasSetStream_v2, void *, stream)
ANSWER(cublasGetStream_v2, void *, stream)
SETTING(cublasSetMathMode, int, math)
ANSWER(cublasGetMathMode, int, math)
SETTING(cublasSetPointerMode_v2, int, pointer_mode)
ANSWER(cublasGetPointerMode_v2, int, pointer_mode)

LIBRARY(int, cublasSetWorkspace_v2, (struct handle * h, void *workspace, size_t bytes))
{
    return h ? SUCCESS : NOT_INITIALIZED;
}

static int product(const struct handle *h, int ta, int tb, int64_t m, int64_t n, int64_t k,
                   int64_t batch, int type, int compute)
{
    if (!h) {
        return NOT_INITIALIZED;
    }
    if (m < 0 || n < 0 || k < 0 || batch < 0) {
        return INVALID_VALUE;
    }
    const struct sim_gemm gemm = {
        .transpose_a = ta != 0,
        .transpose_b = tb != 0,
        .m = m,
        .n = n,
        .k = k,
        .batch = batch,
        .precision = sim_gemm_precision(type, compute, h->math == MATH_TF32),
    };

    return sim_gemm_launch(h->stream, &gemm) ? EXECUTION_FAILED : SUCCESS;
}

#define BATCHED(type) "30cublasGemvTensorStridedBatchedI" type "E"
#define GEMV_OPERANDS BATCHED("Kf") BATCHED("Kf") BATCHED("f") "fEE"
#define GEMV_TRANSPOSED                                                                            \
    "_Z17gemv2T_kernel_valIiifffLi128ELi16ELi4ELi4ELb0ELb0E16cublasGemvParamsI" GEMV_OPERANDS      \
    "vT10_T3_T3_"
#define GEMV                                                                                       \
    "_Z14gemvNSP_kernelIffffLi1ELi32ELi4ELi1024E18cublasGemvParamsExIi" GEMV_OPERANDS "vT7_"
#define DOT                                                                                        \
    "_Z10dot_kernelIfLi128ELi0E15cublasDotParamsI16cublasGemvTensorIKfE" BATCHED("f") "EEEvT2_"
#define DOT_REDUCE                                                                                 \
    "_Z20reduce_1Block_kernelIfLi128ELi7E" BATCHED("f") BATCHED("f")                               \
        BATCHED("f") "EvPKT_T_T2_iT3_T_19cublasPointerMode_t18cublasLtEpilogue_tT4_"

/* The four types of the classic interface: single, double, and both complex. */
#define PRODUCTS(letter, type)                                                                     \
    LIBRARY(int, cublas##letter##gemm_v2,                                                          \
            (struct handle * h, int ta, int tb, int m, int n, int k, const void *alpha,            \
             const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc))  \
    {                                                                                              \
        return product(h, ta, tb, m, n, k, 1, type, 0);                                            \
    }                                                                                              \
    LIBRARY(int, cublas##letter##gemmStridedBatched,                                               \
            (struct handle * h, int ta, int tb, int m, int n, int k, const void *alpha,            \
             const void *a, int lda, long long stride_a, const void *b, int ldb,                   \
             long long stride_b, const void *beta, void *c, int ldc, long long stride_c,           \
             int batch))                                                                           \
    {                                                                                              \
        return product(h, ta, tb, m, n, k, batch, type, 0);                                        \
    }                                                                                              \
    LIBRARY(int, cublas##letter##gemmBatched,                                                      \
            (struct handle * h, int ta, int tb, int m, int n, int k, const void *alpha,            \
             const void *const a[], int lda, const void *const b[], int ldb, const void *beta,     \
             void *const c[], int ldc, int batch))                                                 \
    {                                                                                              \
        return product(h, ta, tb, m, n, k, batch, type, 0);                                        \
    }                                                                                              \
    LIBRARY(int, cublas##letter##gemv_v2,                                                          \
            (struct handle * h, int ta, int m, int n, const void *alpha, const void *a, int lda,   \
             const void *x, int incx, const void *beta, void *y, int incy))                        \
    {                                                                                              \
        return vector(h, ta ? GEMV_TRANSPOSED : GEMV, (double)m * n, type);                        \
    }
static int vector(const struct handle *h, const char *name, double elements, int type)
{
    uint32_t blocks = (uint32_t)(elements / 512) + 1;

    if (!h) {
        return NOT_INITIALIZED;
    }
    const struct sim_precision_facts *facts = &sim_precision[sim_gemm_precision(type, 0, false)];
    const struct sim_library_kernel kernel = {
        .name = name,
        .grid = {blocks > 1024 ? 1024 : blocks, 1, 1},
        .block = {128, 1, 1},
        .cost_ns = sim_library_cost(elements * facts->bytes, 2 * elements, facts->gflops),
    };

    return sim_library_launch(h->stream, &kernel) ? EXECUTION_FAILED : SUCCESS;
}

PRODUCTS(S, R_32F)
PRODUCTS(D, R_64F)
PRODUCTS(C, C_32F)
PRODUCTS(Z, C_64F)

LIBRARY(int, cublasGemmEx,
        (struct handle * h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
         int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
         int c_type, int ldc, int compute, int algorithm))
{
    return product(h, ta, tb, m, n, k, 1, a_type, compute);
}

LIBRARY(int, cublasSgemmEx,
        (struct handle * h, int ta, int tb, int m, int n, int k, const float *alpha, const void *a,
         int a_type, int lda, const void *b, int b_type, int ldb, const float *beta, void *c,
         int c_type, int ldc))
{
    return product(h, ta, tb, m, n, k, 1, a_type, 0);
}

LIBRARY(int, cublasGemmStridedBatchedEx,
        (struct handle * h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
         int a_type, int lda, long long stride_a, const void *b, int b_type, int ldb,
         long long stride_b, const void *beta, void *c, int c_type, int ldc, long long stride_c,
         int batch, int compute, int algorithm))
{
    return product(h, ta, tb, m, n, k, batch, a_type, compute);
}

/* ---- dot products, which launch two kernels ---- */

static int dot(const struct handle *h, int n, int type)
{
    int status = vector(h, DOT, 2.0 * n, type);

    return status ? status : vector(h, DOT_REDUCE, 128, type);
}

LIBRARY(int, cublasSdot_v2,
        (struct handle * h, int n, const void *x, int incx, const void *y, int incy, void *result))
{
    return dot(h, n, R_32F);
}

LIBRARY(int, cublasDdot_v2,
        (struct handle * h, int n, const void *x, int incx, const void *y, int incy, void *result))
{
    return dot(h, n, R_64F);
}

LIBRARY(int, cublasDotEx,
        (struct handle * h, int n, const void *x, int x_type, int incx, const void *y, int y_type,
         int incy, void *result, int result_type, int compute))
{
    return dot(h, n, x_type);
}
