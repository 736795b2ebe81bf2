/*
 * gemm.h - a matrix product as cuBLAS and cuBLASLt launch it.
 */
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include "libraries/library.h"

struct sim_gemm {
    bool transpose_a, transpose_b;
    int64_t m, n, k, batch;
    enum sim_precision precision;
    bool epilogue; /* bias or activation: a few names differ */
};

/* cudaDataType of the operands and cublasComputeType_t (0 if the call has none). */
enum sim_precision sim_gemm_precision(int data_type, int compute_type, bool tf32);
/* The product's kernels on the stream: one, or with few tiles and a deep K two (split K). */
int sim_gemm_launch(void *stream, const struct sim_gemm *gemm);

#endif
