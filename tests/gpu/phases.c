/*
 * phases.c - measures each phase of a CUDA process, to compare runs with and without syncline.
 *
 * Prints one line of JSON: durations in us of cuInit(), of creating the context, of loading a
 * module, of the first and second launch, and of --launches N short launches; the free GPU memory;
 * and CLOCK_REALTIME stamps around a kernel of 1 ms, before and after all work, and at the end of
 * main(), from which the parent computes the duration of the exit. One thread.
 */
#include "cuda_load.h"

#include <inttypes.h>
#include <time.h>

#include "spin_kernel.h"

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("bracket_spin_ns") SPIN_KERNEL("short_spin_ns");

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the time since the last call, in us. */
static double lap_us(void)
{
    static uint64_t last;
    uint64_t now = now_ns(CLOCK_MONOTONIC), before = last;

    last = now;
    return 1e-3 * (double)(now - before);
}

int main(int argc, char **argv)
{
    unsigned long launches = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    double init_us, context_us, module_us, first_us, second_us, launches_us, drained_us;
    uint64_t before_ns, after_ns;
    size_t free_bytes = 0, total_bytes = 0;
    CUmodule module;
    CUfunction bracket, brief;
    CUstream stream;

    lap_us();
    cuda_open();
    init_us = lap_us();
    cuda_use_device(0);
    context_us = lap_us();
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&bracket, module, "bracket_spin_ns"));
    CHECK(cu.ModuleGetFunction(&brief, module, "short_spin_ns"));
    module_us = lap_us();
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    lap_us();
    spin_launch(brief, stream, 1, 32, 0);
    CHECK(cu.StreamSynchronize(stream));
    first_us = lap_us();
    spin_launch(brief, stream, 1, 32, 0);
    CHECK(cu.StreamSynchronize(stream));
    second_us = lap_us();

    before_ns = now_ns(CLOCK_REALTIME);
    spin_launch(bracket, stream, 4, 64, 1000000);
    CHECK(cu.StreamSynchronize(stream));
    after_ns = now_ns(CLOCK_REALTIME);

    lap_us();
    for (unsigned long i = 0; i < launches; i++)
        spin_launch(brief, stream, 1, 32, 0);
    launches_us = lap_us();
    CHECK(cu.StreamSynchronize(stream));
    drained_us = lap_us();
    CHECK(cu.MemGetInfo(&free_bytes, &total_bytes));

    printf("{\"init_us\": %.1f, \"context_us\": %.1f, \"module_us\": %.1f, "
           "\"first_launch_us\": %.1f, \"second_launch_us\": %.1f, \"launches\": %lu, "
           "\"launches_us\": %.1f, \"drained_us\": %.1f, \"free_bytes\": %zu, "
           "\"before_ns\": %" PRIu64 ", \"after_ns\": %" PRIu64 ", \"main_end_ns\": %" PRIu64 "}\n",
           init_us, context_us, module_us, first_us, second_us, launches, launches_us, drained_us,
           free_bytes, before_ns, after_ns, now_ns(CLOCK_REALTIME));
    return 0;
}
