/*
 * gemm.c - chooses the kernels of a matrix product, with the names that cuBLAS uses on an H100, and
 * their times.
 *
 * Application threads.
 */
#include <stdio.h>

#include "libraries/gemm.h"

enum cuda_type { /* cudaDataType */
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29
};

enum {
    COMPUTE_32F_FAST_TF32 = 77,
    MULTIPROCESSORS = 132,
    SPLIT_FROM_K = 4096
};

enum sim_precision sim_gemm_precision(int data_type, int compute_type, bool tf32)
{
    switch (data_type) {
    case R_16F:
        return SIM_FP16;
    case R_16BF:
        return SIM_BF16;
    case R_64F:
    case C_64F:
        return SIM_FP64;
    case R_8I:
        return SIM_INT8;
    case R_8F_E4M3:
    case R_8F_E5M2:
        return SIM_FP8;
    default:
        return tf32 || compute_type == COMPUTE_32F_FAST_TF32 ? SIM_TF32 : SIM_FP32;
    }
}

/* Returns the tile size of the product's kernel: the smallest whose grid fills the device once. */
static uint32_t choose_tile(const struct sim_gemm *g, uint32_t largest)
{
    uint32_t tile = largest;

    while (tile > 32 && (uint64_t)((g->m + tile - 1) / tile) *
                                (uint64_t)((g->n + tile - 1) / tile) * (uint64_t)g->batch <
                            MULTIPROCESSORS) {
        tile /= 2;
    }
    return tile;
}

static void name_kernel(const struct sim_gemm *g, uint32_t tile, bool split, char *out, size_t size)
{
    const struct sim_precision_facts *type = &sim_precision[g->precision];
    char a = g->transpose_a ? 't' : 'n', b = g->transpose_b ? 't' : 'n';

    if (type->nvjet) {
        snprintf(out, size, "nvjet_%s_%ux%u_64x%u_%s_v_%s%s_%c%c%c", type->nvjet, tile, tile,
                 tile >= 128 ? 6 : 10, tile >= 128 ? "2x1" : "1x1", split ? "splitK_" : "",
                 g->epilogue ? "bz_bias" : "bz", g->transpose_a ? 'T' : 'N',
                 g->transpose_b ? 'T' : 'N', 'T');
    } else if (g->precision == SIM_FP64) {
        snprintf(out, size,
                 "sm80_xmma_gemm_%s_%c%c_n_tilesize%ux%ux16_stage3_warpsize2x2x1_tensor"
                 "8x8x4_execute_kernel__5x_cublas",
                 type->cutlass, a, b, tile, tile);
    } else {
        snprintf(out, size,
                 "sm80_xmma_gemm_%s_%c%c_n_tilesize%ux%ux8_stage3_warpsize1x2x1_ffma_"
                 "aligna4_alignc4_execute_%skernel__5x_cublas",
                 type->cutlass, a, b, tile, tile, split ? "split_k_" : "");
    }
}

int sim_gemm_launch(void *stream, const struct sim_gemm *g)
{
    const struct sim_precision_facts *type = &sim_precision[g->precision];
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, batch = (double)g->batch;
    uint32_t tile = choose_tile(g, type->nvjet ? 256 : 128), splits = 1;
    char name[192];

    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) {
        return SIM_OK;
    }
    if (tile == 32 && g->batch == 1 && g->k >= SPLIT_FROM_K) {
        splits = g->k >= 8 * SPLIT_FROM_K ? 16 : 4;
    }
    name_kernel(g, tile, splits > 1, name, sizeof name);
    struct sim_library_kernel kernel = {
        .name = name,
        .grid = {(uint32_t)((g->m + tile - 1) / tile), (uint32_t)((g->n + tile - 1) / tile),
                 (uint32_t)g->batch * splits},
        .block = {type->nvjet   ? 384
                  : tile >= 128 ? 256
                                : 128,
                  1, 1},
        .shared = type->nvjet ? 200 * 1024 : 32 * 1024,
        .cost_ns = sim_library_cost(batch * (m * k + k * n + m * n) * type->bytes,
                                    2 * m * n * k * batch, type->gflops),
        .driver = type->nvjet != NULL,
    };

    /* A grid that CUDA would refuse is launched like a persistent kernel. */
    if (kernel.grid[1] > 65535 || kernel.grid[2] > 65535) {
        kernel.grid[0] = MULTIPROCESSORS;
        kernel.grid[1] = kernel.grid[2] = 1;
    }
    int error = sim_library_launch(stream, &kernel);

    if (error || splits == 1) {
        return error;
    }
    const struct sim_library_kernel reduce = {
        .name = "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1ELb0ELb0EEEvNS_18cublasSplitK"
                "ParamsIT5_EEPKT2_PKT3_PT4_PKT4_PKT4_PKT5_PKT5_PT5_PvlPfPi",
        .grid = {(uint32_t)((g->m * g->n + 511) / 512), 1, 1},
        .block = {32, 16, 1},
        .cost_ns = sim_library_cost((splits + 1) * m * n * 4, 0, 1),
    };

    return sim_library_launch(stream, &reduce);
}
