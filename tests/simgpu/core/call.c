/*
 * call.c - the code around every API call: it assigns the correlation id, takes the stamps, calls
 * the probe, returns injected and sticky errors, and writes the truth. Also keeps the per-thread
 * state of the simulation.
 *
 * Threads: each application thread uses its own data. The process has one correlation counter.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/sim.h"

static _Atomic(const struct sim_probe *) probe;
static atomic_uint_fast64_t correlation; /* the last correlation id assigned */
static __thread struct sim_thread self;

__attribute__((constructor)) static void first_correlation(void)
{
    atomic_store(&correlation, sim_option_u64("CORRELATION_START", 1) - 1);
}

struct sim_thread *sim_thread_self(void)
{
    if (!self.tid) {
        self.tid = (uint32_t)syscall(SYS_gettid);
    }
    return &self;
}

void sim_probe_set(const struct sim_probe *table)
{
    /* The release pairs with the acquire in sim_probe_registered(), which then sees the filled
     * table. */
    atomic_store_explicit(&probe, table, memory_order_release);
}

const struct sim_probe *sim_probe_registered(void)
{
    return atomic_load_explicit(&probe, memory_order_acquire);
}

const struct sim_probe *sim_probe_get(void)
{
    if (sim_record_on) {
        return &sim_record_probe;
    }
    return sim_replaying() ? NULL : sim_probe_registered();
}

uint64_t sim_correlation_now(void)
{
    return atomic_load_explicit(&correlation, memory_order_relaxed);
}

uint32_t sim_correlation_of_thread(void)
{
    return self.call ? (uint32_t)self.call->correlation : 0;
}

uint64_t sim_call_correlation(void)
{
    return self.call ? self.call->correlation : 0;
}

/* Returns whether a function still works after a sticky error. */
static bool survives(const char *name)
{
    static const char *const names[] = {"cudaDeviceReset",      "cudaGetLastError",
                                        "cudaPeekAtLastError",  "cudaGetErrorString",
                                        "cudaGetErrorName",     "cuDevicePrimaryCtxReset",
                                        "cuCtxDestroy",         "cuGetErrorName",
                                        "cuGetErrorString",     "__cudaUnregisterFatBinary",
                                        "cudaSetDevice",        "cudaGetDevice",
                                        "cudaGetDeviceCount",   "cuCtxGetCurrent",
                                        "cuCtxSetCurrent",      "cuCtxPushCurrent",
                                        "cuCtxPopCurrent",      "cudaDriverGetVersion",
                                        "cuDriverGetVersion",   "cuInit",
                                        "cudaRuntimeGetVersion"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(name, names[i], n) == 0 && (!name[n] || name[n] == '_')) {
            return true;
        }
    }
    return false;
}

static int sticky(const char *name)
{
    struct sim_context *context = self.depth ? self.stack[self.depth - 1] : NULL;

    if (!context) {
        return 0;
    }
    sim_lock();
    int error = context->sticky;

    sim_unlock();
    return error && !survives(name) ? error : 0;
}

static int enter(struct sim_call *call)
{
    call->outer = sim_thread_self()->call;
    self.call = call;
    call->start_ns = sim_now_ns();
    call->probe = sim_probe_get();
    if (call->probe) {
        call->probe->api_enter(call->domain, call->cbid, (uint32_t)call->correlation,
                               call->start_ns);
    }
    if (self.in_callback) {
        return SIM_E_NOT_PERMITTED;
    }
    int error = sim_fail(call->name);

    /* Most errors from 700 to 720 end their context. The exceptions are errors of peer access and
     * of registered memory. */
    if (error >= 700 && error <= 720 && error != SIM_E_PEER_ENABLED &&
        error != SIM_E_PEER_NOT_ENABLED && error != SIM_E_HOST_REGISTERED &&
        error != SIM_E_HOST_NOT_REGISTERED && self.depth) {
        sim_lock();
        self.stack[self.depth - 1]->sticky = error;
        sim_unlock();
    }
    return error ? error : sticky(call->name);
}

/* Imitates a thread that is preempted between taking its call's id and its time stamp. Calls of
 * other threads with higher ids may begin and end meanwhile. */
static void late_stamp(uint64_t id)
{
    static _Atomic double most_s = -1;
    double late_s = atomic_load_explicit(&most_s, memory_order_relaxed);

    if (late_s < 0) {
        late_s = sim_option_double("STAMP_LATE", 0);
        atomic_store_explicit(&most_s, late_s, memory_order_relaxed);
    }
    if (late_s <= 0)
        return;
    late_s *= 8 * sim_random("stamp", id) - 7; /* one call in eight */
    if (late_s > 0)
        sim_clock_sleep_until(sim_now_ns() + (uint64_t)(late_s * 1e9));
}

/* CUPTI's 32 bits reserve 0 for "none", so ids whose low 32 bits are 0 are skipped. */
static uint64_t next_correlation(void)
{
    uint64_t next;

    do {
        next = atomic_fetch_add_explicit(&correlation, 1, memory_order_relaxed) + 1;
    } while ((uint32_t)next == 0);
    return next;
}

int sim_call_enter(struct sim_call *call, enum sim_domain domain, uint32_t cbid, const char *name,
                   bool per_thread)
{
    *call =
        (struct sim_call){.domain = domain, .cbid = cbid, .name = name, .per_thread = per_thread};
    call->correlation = next_correlation();
    if (sim_forked()) {
        call->outer = self.call;
        self.call = call;
        return SIM_E_NOT_INITIALIZED;
    }
    late_stamp(call->correlation);
    return enter(call);
}

int sim_call_enter_nested(struct sim_call *call, uint32_t cbid, const char *name)
{
    *call = (struct sim_call){.domain = SIM_DRIVER,
                              .cbid = cbid,
                              .name = name,
                              .per_thread = self.call->per_thread,
                              .correlation = self.call->correlation};
    return enter(call);
}

int sim_call_exit(struct sim_call *call, int result)
{
    self.call = call->outer;
    if (sim_forked()) {
        return result;
    }
    sim_graph_tell_kept();
    uint64_t end = sim_now_ns();

    if (call->probe) {
        call->probe->api_exit(call->domain, call->cbid, (uint32_t)call->correlation, call->start_ns,
                              end, result);
    }
    if (sim_truth_on) {
        sim_truth_call(call, end, result);
    }
    return result;
}
