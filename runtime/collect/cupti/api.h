/*
 * api.h - opens libcupti and calls its functions.
 *
 * Only this module knows CUPTI's functions. Its users need no NVIDIA header: kinds and attributes
 * have our own names, with values from the generated tables.h. Calls return 0 or a negative errno.
 * A failure is counted in SL_STAT_CUPTI_ERRORS; the first one of each function is logged with
 * CUPTI's code and text.
 *
 * Threads: open/close from one thread; the calls from any thread that is not inside a CUPTI
 * callback. No lock of ours is ever held across a call.
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

/* ActivityFlushAll: return buffers whose records are all complete, or return all buffers. */
#define SL_CUPTI_FLUSH_PLAIN  0u
#define SL_CUPTI_FLUSH_FORCED 1u

/* CUPTI's functions; tests pass their own. Kinds and attributes have CUPTI's values. Results are
 * CUptiResult (0: success). After open or adopt, only pointers marked "may be NULL" can be NULL. */
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
    /* For other clients to call, never us. May be NULL. */
    int (*ActivityRegisterTimestampCallback)(sl_cupti_stamp_fn stamp);
    /* For other clients, and for graph_nodes.c. May be NULL. */
    int (*Subscribe)(void **subscriber, void *callback, void *user);
    /* For other clients to call, never us. May be NULL. */
    int (*Finalize)(void);
    int (*ActivitySetAttribute)(int attribute, size_t *size, void *value);
    int (*ActivityGetAttribute)(int attribute, size_t *size, void *value); /* may be NULL */
    /* By default, records carry pthread_self(). May be NULL. */
    int (*SetThreadIdType)(int type);
    int (*GetTimestamp)(uint64_t *ns);
    int (*GetResultString)(int result, const char **text);
    /* For graph_nodes.c; all may be NULL. */
    int (*Unsubscribe)(void *subscriber);
    int (*EnableCallback)(uint32_t enable, void *subscriber, int domain, uint32_t cbid);
    int (*GetGraphId)(void *graph, uint32_t *id);
    int (*GetGraphNodeId)(void *node, uint64_t *id);
};

struct sl_cupti_api {
    struct sl_cupti_functions fn;
    void *handle;     /* dlopen handle; pinned with RTLD_NODELETE */
    uint32_t version; /* cuptiGetVersion: 18..28 for CUDA 12, 130000.. for 13 */
    uint32_t whole;   /* sl_cupti_set bits of calls enabled as whole kinds, not call by call */
    uint32_t listed;  /* the same, for kinds enabled with a list of calls */
    char path[512];   /* of the file it was loaded from */

    /* With a subscriber of our own, `fn` goes through it and `v1` does not. Otherwise both are the
     * same. */
    int is_v2, has_fields; /* records have only the fields we selected (fields.h) */
    int hides_drops;       /* 13.2 reports no drops to a subscriber: any record may be missing */
    struct sl_cupti_functions v1;

    /* Attributes as they were before sl_cupti_attach(). Once known: whether CUPTI had buffers per
     * thread at the first call. */
    uint8_t zeroed, per_thread, first_per_thread;
    int has_per_thread;
};

/* Finds libcupti in the process, then on the loader's path, then in the folders of the toolkit and
 * of Python packages. The major version follows the CUDA driver API in the process. 0; -ENOENT: no
 * driver, or no libcupti found; -ENOTSUP: too old (below 12.0) or unusable. `why` is the reason,
 * for the user. */
int sl_cupti_api_open(struct sl_cupti_api *api, char *why, size_t why_size);

/* The same with a given table of functions (tests). 0 or -ENOTSUP. */
int sl_cupti_api_adopt(struct sl_cupti_api *api, const struct sl_cupti_functions *fn);

/* From now on all calls go through a subscriber of our own (SYNCLINE_CUPTI_API). `fields`: records
 * get only the fields we select, where the library supports it. 0; -ENOTSUP: the library has no
 * subscribers of this form; -EBUSY: another tool, `holder` ("": not known), has CUPTI; -EIO. */
int sl_cupti_api_use_v2(struct sl_cupti_api *api, int fields, char *holder, size_t holder_size);

/* The record layout in the buffers that CUPTI has now. */
const struct sl_cupti_layout *sl_cupti_api_layout(const struct sl_cupti_api *api);

/* Turns a function's result into 0/-errno. Logs the first failure of each function: CUPTI's text,
 * the consequence, a remedy. `name` is the function's name without "cupti". */
int sl_cupti_check(const struct sl_cupti_api *api, int result, const char *name);

/* Enables the kinds of `set`. With `all_api`, RUNTIME and DRIVER are enabled whole. Otherwise only
 * the calls of the generated filter are, by the library's per-call filter (`*filter_at_decode` =
 * 0). Without a per-call filter, the whole kinds are (`*filter_at_decode` = 1).
 * Returns the sets that took effect. A kind that fails is logged; the others still record. One
 * thread at a time, together with disable. */
uint32_t sl_cupti_enable(struct sl_cupti_api *api, uint32_t set, int all_api,
                         int *filter_at_decode);

/* Disables the kinds of `set`, calls in the way they were enabled. Returns the sets now off. */
uint32_t sl_cupti_disable(struct sl_cupti_api *api, uint32_t set);

/* Registers these callbacks. First sets what CUPTI must know before: no zeroing of buffers on
 * application threads, system thread ids in records. 0 or -errno. */
int sl_cupti_attach(struct sl_cupti_api *api, sl_cupti_request_fn request,
                    sl_cupti_complete_fn complete);

/* Another client may have taken CUPTI without notice: restores the settings that would damage or
 * thin out its records. Thread ids stay the system's, for three reasons: the client may have set
 * them so itself (XLA's profiler does); libkineto takes a thread id that it does not know as the
 * system's; if no client has taken CUPTI, our own events keep their threads. Not with a subscriber
 * of our own. */
void sl_cupti_yield(struct sl_cupti_api *api);

/* After sl_cupti_yield(), if callbacks and kinds have stayed ours: applies our settings again. */
void sl_cupti_set_up(struct sl_cupti_api *api);

/* Restores all settings for another client (whose buffers are not zeroed, for example). The
 * callbacks stay ours until that client registers its own. A subscriber of our own is given up for
 * good, because CUPTI would refuse the client beside it. Kinds must be off and buffers returned. */
void sl_cupti_detach(struct sl_cupti_api *api);

#endif
