/*
 * api.h - finding libcupti and calling it.
 *
 * The only place that knows CUPTI's functions. No header of NVIDIA's is needed by those who include
 * this: kinds and attributes are named here in our words, their values come from the generated
 * tables.h. Calls return 0 or a negative errno; CUPTI's own code and text go to the log, once
 * per function, and are counted in SL_STAT_CUPTI_ERRORS.
 *
 * Threads: open/close from one thread; the calls from any thread that is not inside a CUPTI
 * callback. No lock of ours is ever held across one of them.
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

/* ActivityFlushAll: the buffers whose records are all complete, or all buffers. */
#define SL_CUPTI_FLUSH_PLAIN  0u
#define SL_CUPTI_FLUSH_FORCED 1u

/* The table tests replace. Values of kinds and attributes are CUPTI's. Results are CUptiResult:
 * 0 = success. After open or adopt, only those marked "may be NULL" may be. */
struct sl_cupti_functions {
    int (*GetVersion)(uint32_t *version);
    int (*ActivityRegisterCallbacks)(sl_cupti_request_fn request, sl_cupti_complete_fn complete);
    int (*ActivityEnable)(int kind);
    int (*ActivityDisable)(int kind);
    int (*ActivityEnableRuntimeApi)(uint32_t cbid, uint8_t enable); /* may be NULL */
    int (*ActivityEnableDriverApi)(uint32_t cbid, uint8_t enable);  /* may be NULL */
    /* RUNTIME or DRIVER with these calls alone (v2.c). May be NULL. */
    int (*ActivityEnableCalls)(int kind, uint32_t *callbacks, size_t count);
    int (*ActivityEnableAllSyncRecords)(uint8_t enable); /* may be NULL */
    int (*ActivityFlushAll)(uint32_t flag);
    int (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid_size, void **record);
    int (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
    /* For others to call, never us. May be NULL. */
    int (*ActivityRegisterTimestampCallback)(sl_cupti_stamp_fn stamp);
    /* For others, and for graph_nodes.c. May be NULL. */
    int (*Subscribe)(void **subscriber, void *callback, void *user);
    /* For others to call, never us. May be NULL. */
    int (*Finalize)(void);
    int (*ActivitySetAttribute)(int attribute, size_t *size, void *value);
    int (*ActivityGetAttribute)(int attribute, size_t *size, void *value); /* may be NULL */
    /* Until told otherwise, records carry pthread_self(). May be NULL. */
    int (*SetThreadIdType)(int type);
    int (*GetTimestamp)(uint64_t *ns);
    int (*GetResultString)(int result, const char **text);
    /* For graph_nodes.c; may be NULL, all of them. */
    int (*Unsubscribe)(void *subscriber);
    int (*EnableCallback)(uint32_t enable, void *subscriber, int domain, uint32_t cbid);
    int (*GetGraphId)(void *graph, uint32_t *id);
    int (*GetGraphNodeId)(void *node, uint64_t *id);
};

struct sl_cupti_api {
    struct sl_cupti_functions fn;
    void *handle;     /* dlopen handle; pinned with RTLD_NODELETE */
    uint32_t version; /* cuptiGetVersion: 18..28 for CUDA 12, 130000.. for 13 */
    uint32_t whole;   /* sl_cupti_set bits of calls that are on as whole kinds, not one by one */
    uint32_t listed;  /* the same, as kinds with a list */
    char path[512];   /* where it was loaded from */

    /* With a subscriber of our own: `fn` goes through it, `v1` does not. Else both are the same. */
    int is_v2, has_fields; /* records have our choice of fields (fields.h) */
    int hides_drops;       /* 13.2 tells a subscriber of none: any record may be missing */
    struct sl_cupti_functions v1;

    /* Attributes as they were before sl_cupti_attach(), and, once known, whether CUPTI had buffers
     * per thread at the first one. */
    uint8_t zeroed, per_thread, first_per_thread;
    int has_per_thread;
};

/* Finds libcupti: one already in the process, then the loader's path, then the toolkit's and the
 * Python packages' folders; the major version follows the CUDA driver API in the process.
 * 0; -ENOENT no driver, or none found; -ENOTSUP too old (below 12.0) or unusable; `why` says it
 * for a person. */
int sl_cupti_api_open(struct sl_cupti_api *api, char *why, size_t why_size);

/* The same from a given table of functions (tests). 0 or -ENOTSUP. */
int sl_cupti_api_adopt(struct sl_cupti_api *api, const struct sl_cupti_functions *fn);

/* From now on everything goes through a subscriber of our own (SYNCLINE_CUPTI_API), with `fields`
 * of our choice where the library can do it. 0; -ENOTSUP: the library has none; -EBUSY: another
 * tool holds CUPTI, `holder` is its name or ""; -EIO. */
int sl_cupti_api_use_v2(struct sl_cupti_api *api, int fields, char *holder, size_t holder_size);

/* How records lie in buffers that CUPTI has now. */
const struct sl_cupti_layout *sl_cupti_api_layout(const struct sl_cupti_api *api);

/* Turns the result of one function of the table into 0/-errno, and logs the first failure of each:
 * CUPTI's text, the consequence, a remedy. `name` is the function's name without "cupti". */
int sl_cupti_check(const struct sl_cupti_api *api, int result, const char *name);

/* Enables the kinds of `set`. With `all_api` the whole RUNTIME and DRIVER kinds, else the calls of
 * the generated filter, through the per-call filter where the library has it (with
 * `*filter_at_decode` = 0) and else the whole kinds (`*filter_at_decode` = 1).
 * Returns the sets that took effect; a kind that fails is logged and leaves the others recording.
 * One thread at a time, as with disable. */
uint32_t sl_cupti_enable(struct sl_cupti_api *api, uint32_t set, int all_api,
                         int *filter_at_decode);

/* Disables the kinds of `set`, calls the way they were enabled. Returns the sets now off. */
uint32_t sl_cupti_disable(struct sl_cupti_api *api, uint32_t set);

/* Makes these CUPTI's callbacks, and before that sets what must be set by then: no zeroing of
 * buffers on the application's threads, the system's thread ids in records. 0 or -errno. */
int sl_cupti_attach(struct sl_cupti_api *api, sl_cupti_request_fn request,
                    sl_cupti_complete_fn complete);

/* Another client may have taken CUPTI without a word: puts back what would spoil or thin out its
 * records. The thread ids stay the system's. It may have set them so itself by now (XLA's profiler
 * does), libkineto takes a thread id that it does not know as the system's, and if nobody has taken
 * CUPTI our own rows go on being those of their threads. Not with a subscriber of our own. */
void sl_cupti_yield(struct sl_cupti_api *api);

/* After sl_cupti_yield(), where callbacks and kinds have stayed ours: the settings again. */
void sl_cupti_set_up(struct sl_cupti_api *api);

/* Puts all settings back to what they were before: for another client, whose buffers are not
 * zeroed, say. The callbacks stay ours until it registers its own. A subscriber of our own is given
 * up for good: that client would be refused beside it. Kinds must be off, buffers back. */
void sl_cupti_detach(struct sl_cupti_api *api);

#endif
