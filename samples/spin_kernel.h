/*
 * spin_kernel.h - kernels that keep a GPU busy for a given time.
 *
 * The first parameter is a duration in ns: the kernel reads the GPU clock until that time has
 * passed. So the work of a sample takes the same time on any GPU. The simulated GPU recognises the
 * duration parameter by the suffix `_spin_ns` of the kernel name. The kernels are PTX, which the
 * driver compiles when it loads the module, so no CUDA compiler is needed:
 *
 *     static const char ptx[] = SPIN_MODULE SPIN_KERNEL("forward_spin_ns");
 *
 * Include this header after cuda_load.h.
 */
#ifndef SAMPLES_SPIN_KERNEL_H
#define SAMPLES_SPIN_KERNEL_H

#include <stdint.h>

/* PTX for sm_52 runs on every GPU that a current driver supports. */
#define SPIN_MODULE ".version 7.0\n.target sm_52\n.address_size 64\n"

#define SPIN_KERNEL(name)                                                                          \
    ".visible .entry " name "(.param .u64 duration)\n"                                             \
    "{\n"                                                                                          \
    "    .reg .pred %waiting;\n"                                                                   \
    "    .reg .u64 %limit, %begin, %now;\n"                                                        \
    "    ld.param.u64 %limit, [duration];\n"                                                       \
    "    mov.u64 %begin, %globaltimer;\n"                                                          \
    "AGAIN:\n"                                                                                     \
    "    mov.u64 %now, %globaltimer;\n"                                                            \
    "    sub.u64 %now, %now, %begin;\n"                                                            \
    "    setp.lt.u64 %waiting, %now, %limit;\n"                                                    \
    "    @%waiting bra AGAIN;\n"                                                                   \
    "    ret;\n"                                                                                   \
    "}\n"

/* Enqueues `kernel` on `stream` and returns at once. */
static inline void spin_launch(CUfunction kernel, CUstream stream, unsigned blocks,
                               unsigned threads, uint64_t duration_ns)
{
    void *arguments[] = {&duration_ns};

    CHECK(cu.LaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL));
}

#endif
