/*
 * ranges.c - runs the steps in its arguments one after the other, with NVTX and CUDA:
 *
 *     ranges context push:forward kernel:2 pop sync
 *
 * The steps are (`:N` may be left out):
 *     context          Makes the primary context of device 0. NVTX calls of earlier steps
 *                      are made before CUDA is initialised.
 *     push:NAME        Begins a nested range. `wide:NAME` passes wide characters, and `string:NAME`
 *                      passes a registered string.
 *     pop              Ends the innermost nested range.
 *     start:NAME       Starts a range that any thread may end.
 *     end              Ends the newest started range that has not ended.
 *     mark:NAME        Makes a mark.
 *     domain:NAME      Later ranges belong to this domain. `domain:` selects the default domain.
 *     full:NAME        Begins a range with category 7, a color and a payload.
 *     category:NAME    Gives category 7 a name.
 *     payload:TYPE     Makes a mark with a payload. The types are u64 i64 f64 u32 i32 f32.
 *     schema           Makes a range with payloads of NVTX's extension, with registered schemas.
 *     deferred:CLOCK   Reports an event after the event has ended (ranges_deferred.c).
 *     lock:NAME        Waits for a lock, holds the lock, and releases it.
 *     hold:NAME        Acquires a lock and keeps it until `destroy`, or until the program's end.
 *     thread:NAME      Names the thread. Also: stream:NAME, device:NAME, event:NAME.
 *     stream-rt:NAME   Names the stream by the function for the CUDA runtime. Also: device-rt:NAME,
 *                      event-rt:NAME.
 *     worker:STEPS     Runs the steps, which are joined by +, on a new thread.
 *     many:N           Makes N ranges "step 0", "step 1" and so on.
 *     churn:N          Starts N threads with a range each, four threads at a time.
 *     threads          Starts a thread that does not end, before CUDA is used.
 *     loading:MS       Loads and unloads a library for MS milliseconds, on a new thread.
 *     kernel:N         Runs N kernels. Also: sync, sleep:MS.
 *     begin            Starts a window. `stop` stops the window, and `windows:N` waits until N
 *                      windows are complete.
 *     fork             Forks a child, which makes ranges and ends.
 *
 * The last thing printed is `done`.
 */
#include "ranges.h"

#include <cuda.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "syncline/syncline.h"

static _Thread_local nvtxDomainHandle_t domain;
static _Thread_local nvtxRangeId_t started[16];
static _Thread_local int starts;

void ranges_sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left))
        ;
}

static int is_recording(const struct sl_status *status, uint64_t n)
{
    return status->state == SL_STATE_RECORDING;
}

static int are_complete(const struct sl_status *status, uint64_t n)
{
    return status->windows_completed >= n;
}

static void wait_until(int (*is_so)(const struct sl_status *status, uint64_t n), uint64_t n)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 10000; i++) {
        if (sl_status(&status) == 0 && is_so(&status, n))
            return;
        ranges_sleep_ms(1);
    }
}

static void run_step(char *step)
{
    char *colon = strchr(step, ':'), *argument = colon ? colon + 1 : step + strlen(step);
    long n;

    if (colon)
        *colon = '\0';
    n = *argument ? strtol(argument, NULL, 10) : 1;
#define STEP(name, action)                                                                         \
    if (!strcmp(step, name)) {                                                                     \
        action;                                                                                    \
        return;                                                                                    \
    }
    STEP("context", ranges_context())
    STEP("push", ranges_push(domain, argument))
    STEP("wide", ranges_push_wide(argument))
    STEP("string", ranges_push_string(domain, argument))
    STEP("full", ranges_push_full(domain, argument))
    STEP("pop", printf("pop %d\n", nvtxDomainRangePop(domain)))
    STEP("start", started[starts++] = nvtxRangeStartA(argument))
    STEP("end", nvtxRangeEnd(started[--starts]))
    STEP("mark", nvtxMarkA(argument))
    STEP("domain", domain = *argument ? nvtxDomainCreateA(argument) : NULL)
    STEP("category", nvtxDomainNameCategoryA(domain, 7, argument))
    STEP("payload", ranges_mark_payload(domain, argument))
    STEP("schema", ranges_by_schema(domain))
    STEP("deferred", ranges_deferred(domain, argument))
    STEP("lock", ranges_lock(domain, argument))
    STEP("hold", ranges_hold(domain, argument))
    STEP("destroy", ranges_destroy_held())
    STEP("thread", nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), argument))
    STEP("stream", ranges_name_stream(argument))
    STEP("event", nvtxNameCuEventA((CUevent)(uintptr_t)0xe0e0, argument))
    STEP("device", nvtxNameCuDeviceA(0, argument))
    STEP("stream-rt", ranges_name_stream_rt(argument))
    STEP("event-rt", nvtxNameCudaEventA((cudaEvent_t)(uintptr_t)0xe0e0, argument))
    STEP("device-rt", nvtxNameCudaDeviceA(0, argument))
    STEP("worker", ranges_worker(argument))
    STEP("many", ranges_push_many(n))
    STEP("churn", ranges_churn(n))
    STEP("threads", ranges_thread_that_stays())
    STEP("loading", ranges_loading(n))
    STEP("kernel", ranges_kernels(n))
    STEP("sync", ranges_sync())
    STEP("sleep", ranges_sleep_ms(n))
    STEP("begin", (sl_start(), wait_until(is_recording, 0)))
    STEP("stop", sl_stop())
    STEP("windows", wait_until(are_complete, (uint64_t)n))
    STEP("fork", ranges_fork())
#undef STEP
    fprintf(stderr, "ranges: unknown step '%s'\n", step);
    exit(2);
}

void ranges_run(char **step, int steps)
{
    for (int i = 0; i < steps; i++)
        run_step(step[i]);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("main %ld\n", (long)syscall(SYS_gettid));
    ranges_run(argv + 1, argc - 1);
    puts("done");
    return 0;
}
