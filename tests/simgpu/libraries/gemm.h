/*
 * gemm.h - launches a matrix product as cuBLAS and cuBLASLt do.
 */
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include "libraries/library.h"

struct sim_gemm {
    bool transpose_a, transpose_b;
    int64_t m, n, k, batch;
    enum sim_precision precision;
    bool epilogue; /* bias or activation; changes a few kernel names */
};

/* Returns the precision for the cudaDataType of the operands and the cublasComputeType_t (0 if the
 * call has none). */
enum sim_precision sim_gemm_precision(int data_type, int compute_type, bool tf32);
/* Launches the product on the stream: one kernel, or two (split K) for few tiles and a deep K. */
int sim_gemm_launch(void *stream, const struct sim_gemm *gemm);

#endif
