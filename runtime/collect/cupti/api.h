/*
 * api.h - opens libcupti and calls its functions.
 *
 * Only this module knows CUPTI's functions. Users of this module need no NVIDIA header, because
 * kinds and attributes have our own names, with values from the generated tables.h. Calls return 0
 * or a negative errno. A failure is counted in SL_STAT_CUPTI_ERRORS. The first failure of each
 * function is logged with CUPTI's code and text.
 *
 * Threads: one thread opens and closes libcupti. Any thread that is not inside a CUPTI callback may
 * make the other calls. No lock of ours is ever held across a call.
 */
#ifndef SL_CUPTI_API_H
#define SL_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "collect/cupti/layout.h"

typedef void (*sl_cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*sl_cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                     size_t valid_size);

typedef uint64_t (*sl_cupti_stamp_fn)(void);
typedef void (*sl_cupti_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);

/* Values for ActivityFlushAll. PLAIN makes CUPTI return the buffers whose records are all complete.
 * FORCED makes CUPTI return all buffers. */
#define SL_CUPTI_FLUSH_PLAIN  0u
#define SL_CUPTI_FLUSH_FORCED 1u

/* CUPTI's functions. Tests pass functions of their own. Kinds and attributes have CUPTI's values.
 * Results are CUptiResult (0: success). After sl_cupti_open() or sl_cupti_adopt(), only pointers
 * marked "may be NULL" can be NULL. */
struct sl_cupti_functions {
    int (*GetVersion)(uint32_t *version);
    int (*ActivityRegisterCallbacks)(sl_cupti_request_fn request, sl_cupti_complete_fn complete);
    int (*ActivityEnable)(int kind);
    int (*ActivityDisable)(int kind);
    int (*ActivityEnableRuntimeApi)(uint32_t cbid, uint8_t enable); /* may be NULL */
    int (*ActivityEnableDriverApi)(uint32_t cbid, uint8_t enable);  /* may be NULL */
    /* Enables RUNTIME or DRIVER with these calls only (v2.c). May be NULL. */
    int (*ActivityEnableCalls)(int kind, uint32_t *callbacks, size_t count);
    int (*ActivityEnableAllSyncRecords)(uint8_t enable); /* may be NULL */
    int (*ActivityFlushAll)(uint32_t flag);
    int (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid_size, void **record);
    int (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
    /* Only other CUPTI clients call this function, through syncline. May be NULL. */
    int (*ActivityRegisterTimestampCallback)(sl_cupti_stamp_fn stamp);
    /* graph_nodes.c and other CUPTI clients (through syncline) call this function. May be NULL. */
    int (*Subscribe)(void **subscriber, void *callback, void *user);
    /* Only other CUPTI clients call this function, through syncline. May be NULL. */
    int (*Finalize)(void);
    int (*ActivitySetAttribute)(int attribute, size_t *size, void *value);
    int (*ActivityGetAttribute)(int attribute, size_t *size, void *value); /* may be NULL */
    /* Without this call, records carry pthread_self() as the thread's id. May be NULL. */
    int (*SetThreadIdType)(int type);
    int (*GetTimestamp)(uint64_t *ns);
    int (*GetResultString)(int result, const char **text);
    /* Functions for graph_nodes.c. All may be NULL. */
    int (*Unsubscribe)(void *subscriber);
    int (*EnableCallback)(uint32_t enable, void *subscriber, int domain, uint32_t cbid);
    int (*GetGraphId)(void *graph, uint32_t *id);
    int (*GetGraphNodeId)(void *node, uint64_t *id);
};

struct sl_cupti_api {
    struct sl_cupti_functions fn;
    void *handle;     /* dlopen handle; pinned with RTLD_NODELETE */
    uint32_t version; /* cuptiGetVersion: 18..28 for CUDA 12, 130000.. for 13 */
    uint32_t whole;   /* sl_cupti_set bits of the kinds RUNTIME and DRIVER that are enabled as a
                       * whole and not call by call */
    uint32_t listed;  /* sl_cupti_set bits of kinds enabled with a list of calls */
    char path[512];   /* path of the loaded library */

    /* If we have a subscriber of our own, the functions in `fn` use the subscriber and the
     * functions in `v1` do not. Without a subscriber, both tables are the same. */
    int is_v2, has_fields; /* has_fields: records have only the fields that we selected
                            * (fields.h) */
    int hides_drops;       /* CUPTI 13.2 does not report dropped records to a subscriber, so any
                            * record may be missing */
    struct sl_cupti_functions v1;

    /* CUPTI's attributes before sl_cupti_attach() or sl_cupti_set_up() changed them. `per_thread`:
     * 1 if CUPTI had a buffer for each thread. `first_per_thread`: `per_thread` before the first
     * change. */
    uint8_t zeroed, per_thread, first_per_thread;
    int has_per_thread;
};

/* Finds libcupti in the process, on the loader's path, or in the folders of the toolkit and of
 * Python packages. libcupti must have the major version of the CUDA in the process. Returns 0,
 * -ENOENT if there is no driver or no libcupti, or -ENOTSUP if libcupti is too old (below 12.0) or
 * unusable. After a failure, `why` is the reason, for the user. */
int sl_cupti_api_open(struct sl_cupti_api *api, char *why, size_t why_size);

/* Uses the given table of functions instead of libcupti, for tests. Returns 0 or -ENOTSUP. */
int sl_cupti_api_adopt(struct sl_cupti_api *api, const struct sl_cupti_functions *fn);

/* Makes all later calls use a subscriber of our own (SYNCLINE_CUPTI_API). If `fields` is set and
 * the library supports it, records have only the fields that we select. Returns 0, -ENOTSUP if the
 * library has no subscribers of this form, -EBUSY if another tool named `holder` ("": not known)
 * has subscribed, or -EIO. */
int sl_cupti_api_use_v2(struct sl_cupti_api *api, int fields, char *holder, size_t holder_size);

/* Returns the layout of the records in the buffers that CUPTI holds now. */
const struct sl_cupti_layout *sl_cupti_api_layout(const struct sl_cupti_api *api);

/* Converts a function's result to 0 or -errno. Logs the first failure of each function, with
 * CUPTI's text, the consequence and a remedy. `name` is the function's name without "cupti". */
int sl_cupti_check(const struct sl_cupti_api *api, int result, const char *name);

/* Enables the kinds of `set`. With `all_api`, all RUNTIME and DRIVER calls are enabled. Otherwise
 * only the calls of the generated table are enabled, by the library's per-call filter. If the
 * library has no such filter, all calls are enabled and *filter_at_decode is set to 1, so that the
 * decoder filters them. Returns the sets that are on now. If a kind cannot be enabled, the function
 * logs the failure and still enables the other kinds. Only one thread at a time may enable or
 * disable kinds. */
uint32_t sl_cupti_enable(struct sl_cupti_api *api, uint32_t set, int all_api,
                         int *filter_at_decode);

/* Disables the kinds of `set` in the way in which they were enabled. Returns the sets that are off
 * now. */
uint32_t sl_cupti_disable(struct sl_cupti_api *api, uint32_t set);

/* Registers `request` and `complete` as CUPTI's callbacks. Before that, sets two attributes: CUPTI
 * must not zero buffers on application threads, and records must have system thread ids. Returns 0
 * or -errno. */
int sl_cupti_attach(struct sl_cupti_api *api, sl_cupti_request_fn request,
                    sl_cupti_complete_fn complete);

/* Called if another client may have registered its own CUPTI callbacks without notice. Restores the
 * settings that would damage that client's records, or leave some of its records out. Does not
 * restore the kind of thread ids, so records keep system thread ids, for three reasons. The other
 * client may have chosen system ids itself, like XLA's profiler. libkineto treats a thread id that
 * it does not know as a system id. If in fact no client has taken CUPTI, our own events still show
 * the right threads. Must not be called with a subscriber of our own. */
void sl_cupti_yield(struct sl_cupti_api *api);

/* Applies our settings again after sl_cupti_yield(). Called if no other client had registered its
 * callbacks after all. */
void sl_cupti_set_up(struct sl_cupti_api *api);

/* Restores all settings for another client, which may not zero its buffers, for example. Our
 * callbacks stay registered until that client registers its own. If we have a subscriber of our
 * own, we unsubscribe for good, because CUPTI would refuse the other client while our subscriber
 * exists. Kinds must be off and buffers returned. */
void sl_cupti_detach(struct sl_cupti_api *api);

#endif
