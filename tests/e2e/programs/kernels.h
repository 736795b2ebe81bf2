/*
 * kernels.h - steps that the test programs neighbour.c and subscriber.c have in common. Both
 * programs are CUPTI clients. The program's arguments are steps of the form NAME or NAME:NUMBER,
 * which run one after the other:
 *
 *     context          Initialises CUDA.
 *     kernel[:N]       Runs N kernels of 20 us, and waits for them.
 *     sleep:MS         Sleeps for MS milliseconds.
 *
 * One thread. The state is static, so include this header in only one file of a program.
 */
#ifndef SL_E2E_KERNELS_H
#define SL_E2E_KERNELS_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_load.h"
#include "spin_kernel.h"

#define KERNEL_NS 20000

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
} s;

static void do_context(void)
{
    static const char ptx[] = SPIN_MODULE SPIN_KERNEL("plain_spin_ns");

    cuda_open();
    s.context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&s.module, ptx));
    CHECK(cu.ModuleGetFunction(&s.kernel, s.module, "plain_spin_ns"));
}

static void do_kernels(long n)
{
    for (long i = 0; i < n; i++)
        spin_launch(s.kernel, NULL, 1, 32, KERNEL_NS);
    CHECK(cu.CtxSynchronize());
}

static void do_sleep(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left))
        ;
}

/* Runs all steps. `own_step` runs a step of the program, and returns whether the program has such a
 * step. */
static void do_steps(int argc, char **argv, int (*own_step)(const char *name, long n))
{
    for (int i = 1; i < argc; i++) {
        char *number = strchr(argv[i], ':');
        long n = 0;

        if (number) {
            *number++ = '\0';
            n = atol(number);
        }
        if (!strcmp(argv[i], "context"))
            do_context();
        else if (!strcmp(argv[i], "kernel"))
            do_kernels(n ? n : 1);
        else if (!strcmp(argv[i], "sleep"))
            do_sleep(n);
        else if (!own_step(argv[i], n))
            exit(2);
    }
    printf("done\n");
}

#endif
