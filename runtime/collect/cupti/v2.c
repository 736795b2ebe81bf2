/*
 * v2.c - replaces CUPTI's functions by functions that use a subscriber of our own.
 *
 * Each function here has the signature of an older CUPTI function and calls the newer function
 * (`_v2`) with our subscriber. CUPTI 13.2 has only some of the newer functions. If a newer function
 * is missing, the older function is used where that does no harm.
 *
 * Threads: CUPTI calls back on any thread. Memory: static.
 */
#include "collect/cupti/v2.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/loader.h"
#include "base/stats.h"
#include "collect/cupti/fields.h"
#include "collect/cupti/tables.h"

#define HOLDER_BYTES 64 /* bytes of the holder's name; CUPTI requires this size */

/* A copy of the struct in NVIDIA's header of 13.2. New versions only append members. */
struct subscriber_params {
    size_t struct_size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t allow_multiple;
    uint8_t padding[7];
};

typedef void (*request_v2_fn)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*complete_v2_fn)(uint8_t *buffer, size_t size, size_t valid,
                               struct sl_cupti_complete_info *info);

static struct {
    void *subscriber;
    int with_fields; /* 1: records have selected fields; constant after callbacks are registered */
    _Atomic(sl_cupti_request_fn) request;
    _Atomic(sl_cupti_complete_fn) complete;

    int (*Subscribe)(void **out, void *callback, void *user, struct subscriber_params *params);
    int (*Unsubscribe)(void *subscriber);
    int (*RegisterCallbacks)(void *subscriber, request_v2_fn request, complete_v2_fn complete);
    int (*Enable)(void *subscriber, int kind, struct sl_cupti_config *config);
    int (*Disable)(void *subscriber, int kind, struct sl_cupti_config *config);
    int (*SetAttribute)(void *subscriber, int attribute, size_t *size, void *value);
    int (*GetAttribute)(void *subscriber, int attribute, size_t *size, void *value);
    /* available from 13.3 on */
    int (*EnableRuntimeApi)(void *subscriber, uint32_t cbid, uint8_t enable);
    int (*EnableDriverApi)(void *subscriber, uint32_t cbid, uint8_t enable);
    int (*OldGetNextRecord)(uint8_t *buffer, size_t valid, void **record);
    int (*GetNextRecord)(void *subscriber, uint8_t *buffer, size_t valid, void **record);
    int (*GetNumDropped)(void *subscriber, void *context, uint32_t stream, size_t *dropped);
    int (*GetTimestamp)(void *subscriber, uint64_t *ns);
} v2;

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    (void)info;
    atomic_load_explicit(&v2.request, memory_order_acquire)(buffer, size, max_records);
}

static void on_complete(uint8_t *buffer, size_t size, size_t valid,
                        struct sl_cupti_complete_info *info)
{
    void *context = v2.with_fields ? sl_cupti_fields_mark() : NULL;

    if (v2.with_fields && valid && sl_cupti_fields_learn(info)) {
        sl_stats_add(SL_STAT_RECORDS_INVALID, 1); /* the whole buffer counts as one, because its
                                                   * records cannot be counted */
        valid = 0;
    }
    atomic_load_explicit(&v2.complete, memory_order_acquire)(context, 0, buffer, size, valid);
}

static int register_callbacks(sl_cupti_request_fn request, sl_cupti_complete_fn complete)
{
    atomic_store_explicit(&v2.request, request, memory_order_release);
    atomic_store_explicit(&v2.complete, complete, memory_order_release);
    return v2.RegisterCallbacks(v2.subscriber, on_request, on_complete);
}

static int enable_with(int kind, struct sl_cupti_calls_option *option)
{
    struct sl_cupti_config config = {
        .struct_size = sizeof(config),
        .fields = {.struct_size = sizeof(config.fields)},
        .option = option,
    };

    config.fields.ids = sl_cupti_fields_select((uint32_t)kind, &config.fields.count);
    return v2.Enable(v2.subscriber, kind, &config);
}

static int enable(int kind)
{
    return v2.with_fields ? enable_with(kind, NULL) : v2.Enable(v2.subscriber, kind, NULL);
}

static int enable_calls(int kind, uint32_t *callbacks, size_t count)
{
    struct sl_cupti_calls calls = {sizeof(calls), callbacks, count, 1};
    struct sl_cupti_calls_option option = {sizeof(option), &calls};

    return enable_with(kind, &option);
}

static int disable(int kind)
{
    return v2.Disable(v2.subscriber, kind, NULL);
}

static int enable_runtime_api(uint32_t cbid, uint8_t on)
{
    return v2.EnableRuntimeApi(v2.subscriber, cbid, on);
}

static int enable_driver_api(uint32_t cbid, uint8_t on)
{
    return v2.EnableDriverApi(v2.subscriber, cbid, on);
}

static int enable_all_sync_records(uint8_t on)
{
    size_t size = sizeof(on);

    return v2.SetAttribute(v2.subscriber, SL_CUPTI_ATTR_ENABLE_ALL_SYNC_RECORDS, &size, &on);
}

static int get_next_record(uint8_t *buffer, size_t valid, void **record)
{
    /* CUPTI also calls this function after we have unsubscribed. */
    return v2.subscriber ? v2.GetNextRecord(v2.subscriber, buffer, valid, record)
                         : v2.OldGetNextRecord(buffer, valid, record);
}

static int get_num_dropped(void *context, uint32_t stream, size_t *dropped)
{
    (void)context; /* a subscriber's buffers have no context */
    return v2.GetNumDropped(v2.subscriber, NULL, stream, dropped);
}

static int set_attribute(int attribute, size_t *size, void *value)
{
    return v2.SetAttribute(v2.subscriber, attribute, size, value);
}

static int get_attribute(int attribute, size_t *size, void *value)
{
    return v2.GetAttribute(v2.subscriber, attribute, size, value);
}

static int set_thread_id_type(int type)
{
    size_t size = sizeof(type);

    return v2.SetAttribute(v2.subscriber, SL_CUPTI_ATTR_THREAD_ID_TYPE, &size, &type);
}

static int get_timestamp(uint64_t *ns)
{
    return v2.GetTimestamp(v2.subscriber, ns);
}

static void find_functions(void *handle)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"cuptiSubscribe_v2", &v2.Subscribe},
        {"cuptiUnsubscribe", &v2.Unsubscribe},
        {"cuptiActivityRegisterCallbacks_v2", &v2.RegisterCallbacks},
        {"cuptiActivityEnable_v2", &v2.Enable},
        {"cuptiActivityDisable_v2", &v2.Disable},
        {"cuptiActivitySetAttribute_v2", &v2.SetAttribute},
        {"cuptiActivityGetAttribute_v2", &v2.GetAttribute},
        {"cuptiActivityEnableRuntimeApi_v2", &v2.EnableRuntimeApi},
        {"cuptiActivityEnableDriverApi_v2", &v2.EnableDriverApi},
        {"cuptiActivityGetNextRecord_v2", &v2.GetNextRecord},
        {"cuptiActivityGetNumDroppedRecords_v2", &v2.GetNumDropped},
        {"cuptiGetTimestamp_v2", &v2.GetTimestamp},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        *(void **)functions[i].slot = sl_loader_symbol(handle, functions[i].name);
}

static int has_functions(void *handle)
{
    find_functions(handle);
    return v2.Subscribe && v2.Unsubscribe && v2.RegisterCallbacks && v2.Enable && v2.Disable &&
           v2.SetAttribute && v2.GetAttribute;
}

/* Calls are selected by a list when the kind is enabled, or one by one. If the library lacks the
 * `_v2` functions for both ways, whole kinds are enabled and the decoder filters the calls. */
static void replace(struct sl_cupti_functions *fn)
{
    fn->ActivityRegisterCallbacks = register_callbacks;
    fn->ActivityEnable = enable;
    fn->ActivityDisable = disable;
    fn->ActivityEnableCalls = v2.with_fields ? enable_calls : NULL;
    fn->ActivityEnableRuntimeApi =
        v2.EnableRuntimeApi && !v2.with_fields ? enable_runtime_api : NULL;
    fn->ActivityEnableDriverApi = v2.EnableDriverApi && !v2.with_fields ? enable_driver_api : NULL;
    fn->ActivityEnableAllSyncRecords = enable_all_sync_records;
    fn->ActivitySetAttribute = set_attribute;
    fn->ActivityGetAttribute = get_attribute;
    fn->SetThreadIdType = set_thread_id_type;
    if (v2.GetNextRecord)
        fn->ActivityGetNextRecord = get_next_record;
    if (v2.GetNumDropped)
        fn->ActivityGetNumDroppedRecords = get_num_dropped;
    if (v2.GetTimestamp)
        fn->GetTimestamp = get_timestamp;
}

static _Atomic(sl_cupti_callback_fn) listener;

/* The subscriber's callback. CUPTI requires a function here even if no callback is enabled. */
static void pass_on(void *user, int domain, uint32_t cbid, const void *data)
{
    /* Acquire pairs with the release in sl_cupti_v2_listen(), so that the listener's data is
     * visible. */
    sl_cupti_callback_fn listen = atomic_load_explicit(&listener, memory_order_acquire);

    if (listen)
        listen(user, domain, cbid, data);
}

void *sl_cupti_v2_listen(sl_cupti_callback_fn callback)
{
    if (v2.subscriber)
        atomic_store_explicit(&listener, callback, memory_order_release);
    return v2.subscriber;
}

static int choose_fields(void)
{
    uint8_t on = 1;
    size_t size = sizeof(on);

    return v2.SetAttribute(v2.subscriber, SL_CUPTI_ATTR_USER_DEFINED_RECORDS, &size, &on) ==
           SL_CUPTI_SUCCESS;
}

int sl_cupti_v2_subscribe(struct sl_cupti_functions *fn, struct sl_cupti_functions *old,
                          void *handle, int *fields, char *holder, size_t holder_size)
{
    char first[HOLDER_BYTES] = "";
    struct subscriber_params params = {.struct_size = sizeof(params),
                                       .name = "syncline",
                                       .holder = first,
                                       .holder_size = sizeof(first),
                                       .allow_multiple = 1};
    int result;

    holder[0] = '\0';
    if (!handle || !has_functions(handle))
        return -ENOTSUP;
    result = v2.Subscribe(&v2.subscriber, (void *)pass_on, NULL, &params);
    if (result != SL_CUPTI_SUCCESS) {
        v2.subscriber = NULL; /* the failed call may have written a value */
        first[sizeof(first) - 1] = '\0';
        strncat(holder, first, holder_size - 1);
        return result == SL_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? -EBUSY : -EIO;
    }
    *fields = v2.with_fields = *fields && choose_fields();
    *old = *fn;
    v2.OldGetNextRecord = fn->ActivityGetNextRecord;
    replace(fn);
    return 0;
}

void sl_cupti_v2_unsubscribe(struct sl_cupti_functions *fn, const struct sl_cupti_functions *old)
{
    v2.Unsubscribe(v2.subscriber);
    v2.subscriber = NULL;
    *fn = *old;
}
