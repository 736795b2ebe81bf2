/*
 * cublaslt.c - the stand-in for cuBLASLt: descriptors, the matrix product, and the heuristic, which
 * returns the same single algorithm for all products.
 *
 * Application threads. A cuBLAS handle may be used as a cuBLASLt handle, because these functions
 * ignore the handle.
 */
#include <stdlib.h>
#include <string.h>

#include "libraries/gemm.h"

enum status {
    SUCCESS = 0,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13
};

enum attribute {
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_EPILOGUE = 7,
    LAYOUT_BATCH_COUNT = 5,
    EPILOGUE_DEFAULT = 1
};

struct description {
    int compute, transpose_a, transpose_b, epilogue;
};

struct layout {
    int type;
    uint64_t rows, columns;
    int32_t batch;
};

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

LIBRARY(size_t, cublasLtGetVersion, (void))
{
    return 130000;
}

LIBRARY(int, cublasLtMatmulDescCreate, (struct description * *out, int compute, int scale))
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return ALLOC_FAILED;
    }
    (*out)->compute = compute;
    (*out)->epilogue = EPILOGUE_DEFAULT;
    return SUCCESS;
}

LIBRARY(int, cublasLtMatmulDescDestroy, (struct description * d))
{
    free(d);
    return SUCCESS;
}

LIBRARY(int, cublasLtMatmulDescSetAttribute,
        (struct description * d, int attribute, const void *value, size_t bytes))
{
    int *field = attribute == DESC_TRANSA     ? &d->transpose_a
                 : attribute == DESC_TRANSB   ? &d->transpose_b
                 : attribute == DESC_EPILOGUE ? &d->epilogue
                                              : NULL;

    if (field && bytes != sizeof *field) {
        return INVALID_VALUE;
    }
    if (field) {
        memcpy(field, value, bytes);
    }
    return SUCCESS;
}

LIBRARY(int, cublasLtMatrixLayoutCreate,
        (struct layout * *out, int type, uint64_t rows, uint64_t columns, int64_t leading))
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return ALLOC_FAILED;
    }
    **out = (struct layout){type, rows, columns, 1};
    return SUCCESS;
}

LIBRARY(int, cublasLtMatrixLayoutDestroy, (struct layout * l))
{
    free(l);
    return SUCCESS;
}

LIBRARY(int, cublasLtMatrixLayoutSetAttribute,
        (struct layout * l, int attribute, const void *value, size_t bytes))
{
    if (attribute == LAYOUT_BATCH_COUNT) {
        memcpy(&l->batch, value, sizeof l->batch);
    }
    return SUCCESS;
}

LIBRARY(int, cublasLtMatmulPreferenceCreate, (void **out))
{
    *out = calloc(1, 8);
    return *out ? SUCCESS : ALLOC_FAILED;
}

LIBRARY(int, cublasLtMatmulPreferenceDestroy, (void *preference))
{
    free(preference);
    return SUCCESS;
}

LIBRARY(int, cublasLtMatmulPreferenceSetAttribute,
        (void *preference, int attribute, const void *value, size_t bytes))
{
    return SUCCESS;
}

LIBRARY(int, cublasLtMatmulAlgoGetHeuristic,
        (void *handle, const struct description *d, const struct layout *a, const struct layout *b,
         const struct layout *c, const struct layout *out, const void *preference, int wanted,
         struct heuristic *results, int *found))
{
    *found = wanted > 0;
    if (*found) {
        results[0] = (struct heuristic){.algorithm = {1}, .waves = 1};
    }
    return wanted > 0 ? SUCCESS : INVALID_VALUE;
}

LIBRARY(int, cublasLtMatmul,
        (void *handle, const struct description *d, const void *alpha, const void *a,
         const struct layout *a_layout, const void *b, const struct layout *b_layout,
         const void *beta, const void *c, const struct layout *c_layout, void *out,
         const struct layout *out_layout, const void *algorithm, void *workspace, size_t bytes,
         void *stream))
{
    if (!d || !a_layout || !out_layout) {
        return INVALID_VALUE;
    }
    const struct sim_gemm gemm = {
        .transpose_a = d->transpose_a != 0,
        .transpose_b = d->transpose_b != 0,
        .m = (int64_t)out_layout->rows,
        .n = (int64_t)out_layout->columns,
        .k = (int64_t)(d->transpose_a ? a_layout->rows : a_layout->columns),
        .batch = out_layout->batch,
        .precision = sim_gemm_precision(a_layout->type, d->compute, false),
        .epilogue = d->epilogue != EPILOGUE_DEFAULT,
    };

    return sim_gemm_launch(stream, &gemm) ? EXECUTION_FAILED : SUCCESS;
}
