/*
 * neighbour.c - another CUPTI client, which is linked with CUPTI like torch.profiler's library.
 *
 * Its arguments are steps, which run one after the other:
 *
 *     clock            Makes the tick counter CUPTI's clock, like torch.profiler.
 *     wall             Makes the wall clock CUPTI's clock, although it already is.
 *     register         Registers buffer callbacks. New buffers contain random bytes, which CUPTI
 *                      must set to zero.
 *     enable           Enables kernels and runtime calls.
 *     disable          Disables kernels and runtime calls.
 *     flush            Flushes CUPTI by force.
 *     subscribe        Subscribes to CUPTI's callbacks, like libkineto before its first session.
 *     finalize         Ends CUPTI.
 *     teardown         Subscribes, and ends CUPTI in the callback after a CUDA call. libkineto does
 *                      this with TEARDOWN_CUPTI=1.
 *     long:MS          Launches a kernel of MS milliseconds, and does not wait for it.
 *     told             Prints three results: the number of received kernels, whether calls were
 *                      received, and the number of received buffers that belong to another client.
 *     stranger         Waits until CUPTI passes a buffer of another client to this client.
 *
 * The steps of kernels.h are allowed, too. The step `context` loads an injected profiler.
 *
 * Threads: one, and the threads on which CUPTI runs the callbacks.
 */
#include <cupti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "kernels.h"

#define BUFFER_BYTES     65536
#define STRANGER_MOST_MS 20000

static atomic_int kernels, calls, strangers;

static uint64_t ticks(void)
{
    return __rdtsc();
}

static uint64_t wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Gives CUPTI a buffer. If CUPTI is ended, it never returns the buffers that it holds. The pointers
 * to the newest buffers are kept here, so that the leak checker does not report them. */
static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    static _Atomic(void *) made[64];
    static atomic_uint count;

    *buffer = aligned_alloc(8, BUFFER_BYTES);
    atomic_store(&made[count++ % 64], *buffer);
    memset(*buffer, 0xa5, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max_records = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;

    if (size != BUFFER_BYTES) {
        strangers++;
        return;
    }
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        calls += record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    }
    free(buffer);
}

static void must(CUptiResult result, const char *what)
{
    if (result != CUPTI_SUCCESS) {
        fprintf(stderr, "neighbour: %s: %d\n", what, result);
        exit(1);
    }
}

static void enable(int on)
{
    static const CUpti_ActivityKind wanted[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                CUPTI_ACTIVITY_KIND_DRIVER};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        must(on ? cuptiActivityEnable(wanted[i]) : cuptiActivityDisable(wanted[i]), "kinds");
}

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const void *data)
{
}

/* 1 on the thread that ends CUPTI. Other threads, including the profiler's threads, run the same
 * callback, which must not end CUPTI there. */
static _Thread_local int tears_down;

static void teardown_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    if (((const CUpti_CallbackData *)data)->callbackSite != CUPTI_API_EXIT || !tears_down)
        return;
    tears_down = 0;
    must(cuptiFinalize(), "finalize");
}

static void teardown(void)
{
    static CUpti_SubscriberHandle subscriber;

    tears_down = 1;
    must(cuptiSubscribe(&subscriber, teardown_callback, NULL), "subscribe");
    must(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "callbacks");
    CHECK(cu.CtxSynchronize());
    if (tears_down)
        exit(2);
}

static void await_stranger(void)
{
    for (int ms = 0; !strangers; ms++) {
        if (ms == STRANGER_MOST_MS)
            exit(3);
        do_sleep(1);
    }
}

static int step(const char *name, long n)
{
    static CUpti_SubscriberHandle subscriber;

    if (!strcmp(name, "clock"))
        must(cuptiActivityRegisterTimestampCallback(ticks), "clock");
    else if (!strcmp(name, "wall"))
        must(cuptiActivityRegisterTimestampCallback(wall), "wall");
    else if (!strcmp(name, "register"))
        must(cuptiActivityRegisterCallbacks(request, complete), "register");
    else if (!strcmp(name, "enable") || !strcmp(name, "disable"))
        enable(*name == 'e');
    else if (!strcmp(name, "flush"))
        must(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush");
    else if (!strcmp(name, "subscribe"))
        must(cuptiSubscribe(&subscriber, on_callback, NULL), "subscribe");
    else if (!strcmp(name, "finalize"))
        must(cuptiFinalize(), "finalize");
    else if (!strcmp(name, "teardown"))
        teardown();
    else if (!strcmp(name, "long"))
        spin_launch(s.kernel, NULL, 1, 32, (uint64_t)n * 1000000);
    else if (!strcmp(name, "told"))
        printf("kernels %d calls %s strangers %d\n", kernels, calls ? "some" : "none", strangers);
    else if (!strcmp(name, "stranger"))
        await_stranger();
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    do_steps(argc, argv, step);
    return 0;
}
