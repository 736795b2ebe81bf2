/*
 * api.c - finds CUPTI's functions, reports CUPTI's errors, and turns record kinds on and off.
 *
 * Threads: see api.h. Memory: static flags, so that each failure is logged once. The library stays
 * loaded.
 */
#include "collect/cupti/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/loader.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/fields.h"
#include "collect/cupti/find.h"
#include "collect/cupti/tables.h"
#include "collect/cupti/v2.h"
#include "event/call_name.h"

#define OLDEST_VERSION     18u /* CUPTI's version number in CUDA 12.0 */
#define PER_THREAD_VERSION 21u /* CUDA 12.3, the first version with a buffer for each thread */
#define MOST_CALLS         1024

struct function {
    const char *name; /* the function's name without "cupti" */
    size_t offset;    /* offset of the function's pointer in struct sl_cupti_functions */
    int required;     /* 1: without this function nothing can be recorded */
    const char *consequence;
    int *said;
};

#define FUNCTION(name, required, consequence)                                                      \
    {                                                                                              \
#name, offsetof(struct sl_cupti_functions, name), (required), (consequence), &(int)        \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

#define NO_NODES "dependencies between CUDA graph nodes are not recorded, only counted"

static const struct function functions[] = {
    FUNCTION(GetVersion, 1, "nothing is recorded"),
    FUNCTION(ActivityRegisterCallbacks, 1, "nothing is recorded"),
    FUNCTION(ActivityEnable, 1, "some kinds of events are not recorded"),
    FUNCTION(
        ActivityDisable, 1,
        "CUPTI keeps recording between windows (a cost to the job); those records are not written"),
    FUNCTION(ActivityEnableRuntimeApi, 0,
             "CUPTI records all runtime calls (a cost to the job); syncline filters them later"),
    FUNCTION(ActivityEnableDriverApi, 0,
             "CUPTI records all driver calls (a cost to the job); syncline filters them later"),
    FUNCTION(ActivityEnableAllSyncRecords, 0, "syncline filters queries of pending work later"),
    FUNCTION(ActivityFlushAll, 1,
             "records arrive only when a CUPTI buffer is full; the last ones may be lost"),
    FUNCTION(ActivityGetNextRecord, 1, "the rest of that CUPTI buffer is lost"),
    FUNCTION(ActivityGetNumDroppedRecords, 1, "records that CUPTI drops are not counted"),
    FUNCTION(ActivityRegisterTimestampCallback, 0, "syncline does not yield to other profilers"),
    FUNCTION(Subscribe, 0, NO_NODES),
    FUNCTION(Finalize, 0, "if another profiler calls it, the recording ends without a message"),
    FUNCTION(ActivitySetAttribute, 1,
             "CUPTI zeroes its buffers on the job's own threads (a small cost)"),
    FUNCTION(ActivityGetAttribute, 0, "CUPTI settings are unknown"),
    FUNCTION(SetThreadIdType, 0, "CPU events carry pthread ids instead of system thread ids"),
    FUNCTION(GetTimestamp, 1, "syncline assumes that CUPTI's clock is CLOCK_REALTIME"),
    FUNCTION(GetResultString, 1, "CUPTI errors are shown as numbers"),
    FUNCTION(Unsubscribe, 0,
             "CUPTI keeps calling syncline, which ignores the calls (a cost to the job)"),
    FUNCTION(EnableCallback, 0, NO_NODES),
    FUNCTION(GetGraphId, 0, NO_NODES),
    FUNCTION(GetGraphNodeId, 0, NO_NODES),
};

#define FUNCTIONS (sizeof functions / sizeof *functions)

/* The kinds of each set. A set counts as on if its first kind is on. */
static const struct kind {
    uint32_t set;
    int kind;
    const char *name, *lost;
    int *said;
} kinds[] = {
    {SL_CUPTI_KERNEL, SL_CUPTI_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL", "kernels", &(int){0}},
    {SL_CUPTI_MEMCPY, SL_CUPTI_KIND_MEMCPY, "MEMCPY", "copies", &(int){0}},
    {SL_CUPTI_MEMCPY, SL_CUPTI_KIND_MEMCPY2, "MEMCPY2", "copies between devices", &(int){0}},
    {SL_CUPTI_MEMSET, SL_CUPTI_KIND_MEMSET, "MEMSET", "memsets", &(int){0}},
    {SL_CUPTI_SYNC, SL_CUPTI_KIND_SYNCHRONIZATION, "SYNCHRONIZATION", "waits", &(int){0}},
    {SL_CUPTI_SYNC, SL_CUPTI_KIND_CUDA_EVENT, "CUDA_EVENT", "event records", &(int){0}},
    {SL_CUPTI_OVERHEAD, SL_CUPTI_KIND_OVERHEAD, "OVERHEAD", "CUPTI's own costs", &(int){0}},
    {SL_CUPTI_NAMES, SL_CUPTI_KIND_CONTEXT, "CONTEXT", "contexts", &(int){0}},
    {SL_CUPTI_NAMES, SL_CUPTI_KIND_STREAM, "STREAM", "stream flags and priorities", &(int){0}},
    {SL_CUPTI_NAMES, SL_CUPTI_KIND_NAME, "NAME", "names given by the program", &(int){0}},
    {SL_CUPTI_RUNTIME, SL_CUPTI_KIND_RUNTIME, "RUNTIME", "runtime calls", &(int){0}},
    {SL_CUPTI_DRIVER, SL_CUPTI_KIND_DRIVER, "DRIVER", "driver calls", &(int){0}},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static int to_errno(int result)
{
    switch (result) {
    case SL_CUPTI_SUCCESS:
        return 0;
    case SL_CUPTI_ERROR_INVALID_PARAMETER:
        return -EINVAL;
    case SL_CUPTI_ERROR_OUT_OF_MEMORY:
        return -ENOMEM;
    case SL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case SL_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return -EPERM;
    case SL_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return -EBUSY;
    case SL_CUPTI_ERROR_NOT_COMPATIBLE:
    case SL_CUPTI_ERROR_INVALID_KIND:
    case SL_CUPTI_ERROR_NOT_SUPPORTED:
        return -ENOTSUP;
    default:
        return -EIO;
    }
}

static const char *remedy(int result)
{
    switch (to_errno(result)) {
    case -EPERM:
        return "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give the process "
               "CAP_SYS_ADMIN";
    case -EBUSY:
    case -ENOTSUP:
        return "if another profiler (nsys, ncu, cuda-gdb) runs in this job, run one at a time; "
               "otherwise use a newer CUPTI";
    case -ENOMEM:
        return "give the job more memory";
    default:
        return "see 'syncline doctor'";
    }
}

static int report(const struct sl_cupti_api *api, int result, int *said, const char *function,
                  const char *argument, const char *consequence)
{
    const char *text = NULL;

    if (result == SL_CUPTI_SUCCESS)
        return 0;
    sl_stats_add(SL_STAT_CUPTI_ERRORS, 1);
    if (!api->fn.GetResultString || api->fn.GetResultString(result, &text) != SL_CUPTI_SUCCESS)
        text = NULL;
    sl_log_once(said, SL_LOG_ERROR, "cupti%s%s failed: %s (%d): %s; %s", function, argument,
                text ? text : "unknown error", result, consequence, remedy(result));
    return to_errno(result);
}

static const struct function *find_function(const char *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

int sl_cupti_check(const struct sl_cupti_api *api, int result, const char *name)
{
    static int unknown_said;
    const struct function *f;

    if (result == SL_CUPTI_SUCCESS)
        return 0;
    f = find_function(name);
    return report(api, result, f ? f->said : &unknown_said, name, "",
                  f ? f->consequence : "the trace may be incomplete");
}

static int is_calls(const struct kind *k)
{
    return (k->set & (SL_CUPTI_RUNTIME | SL_CUPTI_DRIVER)) != 0;
}

static enum sl_event_kind domain_of(const struct kind *k)
{
    return k->set == SL_CUPTI_RUNTIME ? SL_EV_RUNTIME : SL_EV_DRIVER;
}

static void **slot_of(struct sl_cupti_functions *fn, const struct function *f)
{
    return (void **)((char *)fn + f->offset);
}

/* Checks that all required functions exist and that the version is supported. Returns 0, or
 * -ENOTSUP with the reason in `why`. */
static int examine(struct sl_cupti_api *api, char *why, size_t why_size)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (functions[i].required && !*slot_of(&api->fn, &functions[i])) {
            snprintf(
                why, why_size,
                "%s has no cupti%s, so it is older than CUDA 12.0: use a newer CUDA toolkit or "
                "package",
                api->path, functions[i].name);
            return -ENOTSUP;
        }
    }
    if (sl_cupti_check(api, api->fn.GetVersion(&api->version), "GetVersion") != 0) {
        snprintf(why, why_size, "%s does not report its version", api->path);
        return -ENOTSUP;
    }
    if (api->version < OLDEST_VERSION) {
        snprintf(why, why_size,
                 "%s is CUPTI API %u, older than CUDA 12.0's: use a newer CUDA toolkit or package",
                 api->path, api->version);
        return -ENOTSUP;
    }
    return 0;
}

static int accept_library(void *user, void *handle, char *why, size_t why_size)
{
    struct sl_cupti_api *api = user;
    char symbol[64];

    for (size_t i = 0; i < FUNCTIONS; i++) {
        snprintf(symbol, sizeof symbol, "cupti%s", functions[i].name);
        *slot_of(&api->fn, &functions[i]) = sl_loader_symbol(handle, symbol);
    }
    return examine(api, why, why_size);
}

int sl_cupti_api_open(struct sl_cupti_api *api, char *why, size_t why_size)
{
    int err;

    *api = (struct sl_cupti_api){0};
    /* Without a driver, CUPTI 13.2 never returns from its first call, because it recurses until the
     * stack is used up. In 13.3 and later, the first call fails. */
    if (!sl_loader_open("libcuda.so.1", RTLD_LAZY)) {
        snprintf(why, why_size, "there is no NVIDIA driver here (libcuda.so.1)");
        return -ENOENT;
    }
    err = sl_cupti_find(accept_library, api, &api->handle, api->path, sizeof api->path, why,
                        why_size);
    api->v1 = api->fn;
    return err;
}

int sl_cupti_api_use_v2(struct sl_cupti_api *api, int fields, char *holder, size_t holder_size)
{
    int err;

    fields = fields && api->version >= SL_CUPTI_FIELDS_SINCE;
    err = sl_cupti_v2_subscribe(&api->fn, &api->v1, api->handle, &fields, holder, holder_size);
    api->is_v2 = err == 0;
    api->has_fields = err == 0 && fields;
    api->hides_drops =
        api->is_v2 && api->fn.ActivityGetNumDroppedRecords == api->v1.ActivityGetNumDroppedRecords;
    return err;
}

const struct sl_cupti_layout *sl_cupti_api_layout(const struct sl_cupti_api *api)
{
    return api->has_fields ? sl_cupti_fields_layout() : sl_cupti_layout_find(api->version);
}

int sl_cupti_api_adopt(struct sl_cupti_api *api, const struct sl_cupti_functions *fn)
{
    char why[256];

    *api = (struct sl_cupti_api){.fn = *fn, .v1 = *fn, .path = "the given table"};
    return examine(api, why, sizeof why);
}

/* Returns the number of callback ids in this CUPTI version. */
static uint32_t callbacks_of(const struct sl_cupti_api *api, enum sl_event_kind domain)
{
    for (unsigned i = sl_cupti_tables_layout_count; i-- > 0;) {
        const struct sl_cupti_layout *l = &sl_cupti_tables_layouts[i];

        if (l->version <= api->version)
            return domain == SL_EV_RUNTIME ? l->runtime_callbacks : l->driver_callbacks;
    }
    return 0;
}

static void turn_off(int (*set)(uint32_t, uint8_t), enum sl_event_kind domain, uint32_t until)
{
    for (uint32_t cbid = 0; cbid < until; cbid++)
        if (sl_call_name_is_wanted(domain, cbid))
            set(cbid, 0);
}

/* Turns the wanted calls of a domain on or off, one by one. Returns 0 if all calls were turned on,
 * or if at least one call was turned off. If one call cannot be turned on, this function turns all
 * calls off again, and the caller enables the whole kind. */
static int set_calls(const struct sl_cupti_api *api, enum sl_event_kind domain, uint8_t enable)
{
    int (*set)(uint32_t, uint8_t) = domain == SL_EV_RUNTIME ? api->fn.ActivityEnableRuntimeApi
                                                            : api->fn.ActivityEnableDriverApi;
    const char *name =
        domain == SL_EV_RUNTIME ? "ActivityEnableRuntimeApi" : "ActivityEnableDriverApi";
    uint32_t count = callbacks_of(api, domain);
    int result = -ENOSYS;

    if (!set)
        return -ENOSYS;
    for (uint32_t cbid = 0; cbid < count; cbid++) {
        if (!sl_call_name_is_wanted(domain, cbid))
            continue;
        if (sl_cupti_check(api, set(cbid, enable), name) == 0) {
            result = 0;
        } else if (enable) {
            turn_off(set, domain, cbid);
            return -EIO;
        } else if (result != 0) {
            return -EIO; /* the first call failed, so the other calls, some hundred, would fail
                          * too */
        }
    }
    return result;
}

static int set_kind(const struct sl_cupti_api *api, const struct kind *k, int enable)
{
    char argument[48], consequence[96];

    snprintf(argument, sizeof argument, "(%s)", k->name);
    snprintf(consequence, sizeof consequence, enable ? "%s are not recorded" : "%s stay recorded",
             k->lost);
    return report(api, enable ? api->fn.ActivityEnable(k->kind) : api->fn.ActivityDisable(k->kind),
                  k->said, enable ? "ActivityEnable" : "ActivityDisable", argument, consequence);
}

/* Enables the kind with one list of the wanted calls. Returns 0 if CUPTI accepted the list. */
static int enable_listed(struct sl_cupti_api *api, const struct kind *k)
{
    static uint32_t wanted[2][MOST_CALLS]; /* static, because CUPTI's documentation does not say
                                            * whether it copies the list */
    enum sl_event_kind domain = domain_of(k);
    uint32_t count = callbacks_of(api, domain), *list = wanted[domain == SL_EV_DRIVER];
    size_t n = 0;

    if (!api->fn.ActivityEnableCalls)
        return -ENOSYS;
    for (uint32_t cbid = 0; cbid < count && n < MOST_CALLS; cbid++)
        if (sl_call_name_is_wanted(domain, cbid))
            list[n++] = cbid;
    if (api->fn.ActivityEnableCalls(k->kind, list, n) != SL_CUPTI_SUCCESS)
        return -EIO; /* the caller now enables the whole kind; if that fails too, the caller logs
                      * the reason */
    api->listed |= k->set;
    return 0;
}

static int enable_calls(struct sl_cupti_api *api, const struct kind *k, int all_api)
{
    int result;

    if (!all_api && (enable_listed(api, k) == 0 || set_calls(api, domain_of(k), 1) == 0))
        return 0;
    result = set_kind(api, k, 1);
    if (result == 0)
        api->whole |= k->set;
    return result;
}

static int disable_calls(struct sl_cupti_api *api, const struct kind *k)
{
    int result;

    if (!((api->whole | api->listed) & k->set))
        return set_calls(api, domain_of(k), 0);
    result = set_kind(api, k, 0);
    if (result == 0) {
        api->whole &= ~k->set;
        api->listed &= ~k->set;
    }
    return result;
}

/* Sets whether CUPTI makes records of queries that find work pending, too. */
static void set_queries(const struct sl_cupti_api *api, uint8_t on)
{
    if (api->fn.ActivityEnableAllSyncRecords)
        sl_cupti_check(api, api->fn.ActivityEnableAllSyncRecords(on),
                       "ActivityEnableAllSyncRecords");
}

uint32_t sl_cupti_enable(struct sl_cupti_api *api, uint32_t set, int all_api, int *filter_at_decode)
{
    uint32_t done = 0, tried = 0;

    if (set & SL_CUPTI_SYNC)
        set_queries(api, 0);
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];
        int result;

        if (!(set & k->set))
            continue;
        result = is_calls(k) ? enable_calls(api, k, all_api) : set_kind(api, k, 1);
        if (result == 0 && !(tried & k->set)) /* the first kind of a set decides whether the set
                                               * counts as on */
            done |= k->set;
        tried |= k->set;
    }
    *filter_at_decode = api->whole != 0 && !all_api;
    return done;
}

uint32_t sl_cupti_disable(struct sl_cupti_api *api, uint32_t set)
{
    uint32_t done = set;

    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];

        if ((set & k->set) && (is_calls(k) ? disable_calls(api, k) : set_kind(api, k, 0)) != 0)
            done &= ~k->set;
    }
    return done;
}

/* Reads a CUPTI attribute whose value is one byte. Returns 0 or -errno. */
static int get_flag(const struct sl_cupti_api *api, int attribute, uint8_t *value)
{
    size_t size = sizeof *value;

    if (!api->fn.ActivityGetAttribute)
        return -ENOSYS;
    return sl_cupti_check(api, api->fn.ActivityGetAttribute(attribute, &size, value),
                          "ActivityGetAttribute");
}

static void set_flag(const struct sl_cupti_api *api, int attribute, uint8_t value)
{
    size_t size = sizeof value;

    sl_cupti_check(api, api->fn.ActivitySetAttribute(attribute, &size, &value),
                   "ActivitySetAttribute");
}

static void set_thread_ids(const struct sl_cupti_api *api, int type)
{
    if (api->fn.SetThreadIdType)
        sl_cupti_check(api, api->fn.SetThreadIdType(type), "SetThreadIdType");
}

static void set_per_thread(const struct sl_cupti_api *api, uint8_t value)
{
    if (api->has_per_thread && api->per_thread != api->first_per_thread)
        set_flag(api, SL_CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, value);
}

static void set_attributes(struct sl_cupti_api *api)
{
    if (get_flag(api, SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &api->zeroed))
        api->zeroed = 0;
    set_flag(api, SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
    set_thread_ids(api, SL_CUPTI_THREAD_ID_TYPE_SYSTEM);
    /* We do not change the setting for buffers per thread here. torch.profiler changes this setting
     * when it stops. The size of the pool on the GPU (up to 250 buffers of 3.2 MB) is not changed
     * either, because a limit of 8 buffers gave bad timestamps after 900 k records and no higher
     * limit has been measured. */
    if (api->version >= PER_THREAD_VERSION &&
        get_flag(api, SL_CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &api->per_thread) == 0) {
        if (!api->has_per_thread)
            api->first_per_thread = api->per_thread;
        api->has_per_thread = 1;
        set_per_thread(api, api->first_per_thread);
    }
}

void sl_cupti_set_up(struct sl_cupti_api *api)
{
    set_attributes(api);
    set_queries(api, 0);
}

int sl_cupti_attach(struct sl_cupti_api *api, sl_cupti_request_fn request,
                    sl_cupti_complete_fn complete)
{
    set_attributes(api);
    return sl_cupti_check(api, api->fn.ActivityRegisterCallbacks(request, complete),
                          "ActivityRegisterCallbacks");
}

void sl_cupti_yield(struct sl_cupti_api *api)
{
    set_flag(api, SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, api->zeroed);
    set_per_thread(api, api->per_thread);
    set_queries(api, 1);
}

void sl_cupti_detach(struct sl_cupti_api *api)
{
    if (api->is_v2) {
        sl_cupti_v2_unsubscribe(&api->fn, &api->v1);
        api->is_v2 = api->has_fields = api->hides_drops = 0;
        return;
    }
    sl_cupti_yield(api);
    set_thread_ids(api, SL_CUPTI_THREAD_ID_TYPE_DEFAULT);
}
