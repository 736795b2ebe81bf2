/*
 * kinds.c - stores what is enabled: record kinds (for all contexts and per context), and single API
 * calls.
 *
 * Any thread; switches are atomic, and a lock guards the few per-context settings. Each change is
 * logged with the current value of the correlation counter. So a test knows for which correlation
 * ids the records must match the truth.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/fork.h"
#include "cupti/simcupti.h"

#define MAX_KINDS            64
#define MAX_CBIDS            1024
#define MAX_CONTEXT_SETTINGS 256

static struct sim_switches switches[SIM_CLIENTS] = {{.all_sync_records = true}};
static atomic_bool kinds[SIM_CLIENTS][MAX_KINDS];
static atomic_bool calls[SIM_CLIENTS][2][MAX_CBIDS];

SIM_MUTEX(lock);
static struct {
    uint32_t context, kind;
    unsigned client;
    bool on;
} settings[MAX_CONTEXT_SETTINGS];
static atomic_size_t setting_count; /* written under the lock */

struct sim_switches *sim_switches(void)
{
    return &switches[sim_client];
}

bool sim_kind_on(uint32_t kind, uint32_t context)
{
    bool on = atomic_load_explicit(&kinds[sim_client][kind], memory_order_relaxed);

    if (!context || !atomic_load_explicit(&setting_count, memory_order_relaxed)) {
        return on;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].client == sim_client && settings[i].context == context &&
            settings[i].kind == kind) {
            on = settings[i].on;
        }
    }
    pthread_mutex_unlock(&lock);
    return on;
}

bool sim_api_on(enum sim_domain domain, uint32_t cbid)
{
    return cbid < MAX_CBIDS &&
           atomic_load_explicit(&calls[sim_client][domain][cbid], memory_order_relaxed);
}

/* Returns true for a kind that cannot be enabled: its records are made only by other kinds, or need
 * an API that is not simulated. */
static bool kind_unsupported(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_EVENT:
    case CUPTI_ACTIVITY_KIND_METRIC:
    case CUPTI_ACTIVITY_KIND_EVENT_INSTANCE:
    case CUPTI_ACTIVITY_KIND_METRIC_INSTANCE:
    case CUPTI_ACTIVITY_KIND_CDP_KERNEL:
    case CUPTI_ACTIVITY_KIND_MODULE:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return true;
    default:
        return false;
    }
}

static bool kind_is_legacy(uint32_t kind)
{
    return kind == CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR || kind == CUPTI_ACTIVITY_KIND_BRANCH ||
           kind == CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS || kind == CUPTI_ACTIVITY_KIND_SHARED_ACCESS ||
           kind == CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION ||
           (kind >= CUPTI_ACTIVITY_KIND_PC_SAMPLING &&
            kind <= CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION);
}

static CUptiResult check(uint32_t kind, bool on)
{
    uint32_t other = kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                                        : CUPTI_ACTIVITY_KIND_KERNEL;

    if (kind == 0 || kind > sim_version()->max_kind || kind_unsupported(kind)) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    if (kind_is_legacy(kind) && sim_version()->number >= 130000) {
        return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
    }
    if (on &&
        (kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) &&
        kinds[sim_client][other]) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    return CUPTI_SUCCESS;
}

/* Implements the option cupti-enable-stall: the first enabling of CONCURRENT_KERNEL takes long, as
 * if CUPTI compiled its instrumentation. */
static void instrument(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;

    if (atomic_flag_test_and_set(&done)) {
        return;
    }
    uint64_t start = sim_now_ns();
    struct timespec stall = {.tv_sec = (time_t)(sim_trouble.stall_ns / 1000000000u),
                             .tv_nsec = (long)(sim_trouble.stall_ns % 1000000000u)};

    if (sim_trouble.stall_ns) {
        nanosleep(&stall, NULL);
        sim_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, start, sim_now_ns());
    }
}

static void log_change(const char *what, const char *name, uint32_t context)
{
    sim_log("{\"what\":\"%s\",\"kind\":\"%s\",\"context\":%u,\"correlation\":%llu,\"ns\":%llu,"
            "\"client\":%u,\"by\":\"%s\"}",
            what, name, context, (unsigned long long)sim_correlation_now(),
            (unsigned long long)sim_now_ns(), sim_client, sim_caller_name());
}

CUptiResult sim_kind_set(uint32_t kind, bool on)
{
    CUptiResult result = check(kind, on);

    if (result != CUPTI_SUCCESS) {
        return result;
    }
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        /* Enabling or disabling a kind overrides the settings of single API calls. */
        atomic_bool *domain = calls[sim_client][kind == CUPTI_ACTIVITY_KIND_DRIVER];

        for (uint32_t i = 0; i < MAX_CBIDS; i++) {
            atomic_store_explicit(&domain[i], on, memory_order_relaxed);
        }
    }
    if (!on) {
        atomic_store_explicit(&kinds[sim_client][kind], false, memory_order_relaxed);
        log_change("disabled", sim_kind_name(kind), 0);
        return result;
    }
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        instrument();
    }
    log_change("enabled", sim_kind_name(kind), 0);
    atomic_store_explicit(&kinds[sim_client][kind], true, memory_order_relaxed);
    return result;
}

CUptiResult sim_kind_set_context(uint32_t context, uint32_t kind, bool on)
{
    CUptiResult result = check(kind, on);

    if (result != CUPTI_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < setting_count && (settings[i].client != sim_client ||
                                 settings[i].context != context || settings[i].kind != kind)) {
        i++;
    }
    if (i == MAX_CONTEXT_SETTINGS) {
        result = CUPTI_ERROR_OUT_OF_MEMORY;
    } else {
        settings[i].client = sim_client;
        settings[i].context = context;
        settings[i].kind = kind;
        settings[i].on = on;
        if (i == setting_count) {
            setting_count++;
        }
    }
    pthread_mutex_unlock(&lock);
    if (result == CUPTI_SUCCESS) {
        log_change(on ? "enabled" : "disabled", sim_kind_name(kind), context);
    }
    return result;
}

CUptiResult sim_api_set(enum sim_domain domain, uint32_t cbid, bool on)
{
    uint32_t end =
        domain == SIM_DRIVER ? sim_version()->driver_cbids : sim_version()->runtime_cbids;

    if (cbid == 0 || cbid >= end) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    atomic_store_explicit(&calls[sim_client][domain][cbid], on, memory_order_relaxed);
    log_change(on ? "enabled" : "disabled", sim_callback_name(domain, cbid), 0);
    return CUPTI_SUCCESS;
}

bool sim_kinds_any(void)
{
    for (uint32_t i = 0; i < MAX_KINDS; i++) {
        if (atomic_load_explicit(&kinds[sim_client][i], memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void sim_kinds_clear(void)
{
    for (uint32_t i = 0; i < MAX_KINDS; i++) {
        atomic_store_explicit(&kinds[sim_client][i], false, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < MAX_CBIDS; i++) {
        atomic_store_explicit(&calls[sim_client][0][i], false, memory_order_relaxed);
        atomic_store_explicit(&calls[sim_client][1][i], false, memory_order_relaxed);
    }
    sim_switches()->all_sync_records = false;
    sim_switches()->event_timestamps = false;
    sim_switches()->latency_timestamps = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < setting_count;) {
        if (settings[i].client == sim_client) {
            settings[i] = settings[--setting_count];
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&lock);
}
