/* api_test.c - which record kinds and API calls syncline enables in CUPTI, and how. If CUPTI
 * refuses one kind, the other kinds are still recorded. A line on stderr then says what is lost and
 * what to do. */
#include "unit/stderr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/api.h"
#include "collect/cupti/tables.h"

#define ALL 0xffu /* every sl_cupti_set */

/* A fake CUPTI that records its calls. */
static struct {
    uint32_t version;
    uint8_t kind[SL_CUPTI_KIND_COUNT]; /* 1 = on */
    uint8_t runtime[2048], driver[2048];
    int all_sync, thread_id_type;
    uint8_t attribute[16];
    int refused_kind, refuse_calls, refuse_attributes, code;
    uint32_t refused_from; /* CUPTI refuses this call id and all higher ids */
} cupti;

static int get_version(uint32_t *version)
{
    *version = cupti.version;
    return cupti.version ? 0 : SL_CUPTI_ERROR_UNKNOWN;
}

static int register_callbacks(sl_cupti_request_fn request, sl_cupti_complete_fn complete)
{
    (void)request;
    (void)complete;
    return 0;
}

static int enable(int kind)
{
    if (kind == cupti.refused_kind)
        return cupti.code;
    cupti.kind[kind] = 1;
    return 0;
}

static int disable(int kind)
{
    if (kind == cupti.refused_kind)
        return cupti.code;
    cupti.kind[kind] = 0;
    return 0;
}

static int enable_runtime_api(uint32_t cbid, uint8_t on)
{
    if (cupti.refuse_calls && cbid >= cupti.refused_from)
        return cupti.code;
    cupti.runtime[cbid] = on;
    return 0;
}

static int enable_driver_api(uint32_t cbid, uint8_t on)
{
    if (cupti.refuse_calls && cbid >= cupti.refused_from)
        return cupti.code;
    cupti.driver[cbid] = on;
    return 0;
}

static int enable_all_sync(uint8_t on)
{
    cupti.all_sync = on;
    return 0;
}

static int flush_all(uint32_t flag)
{
    (void)flag;
    return 0;
}

static int get_next_record(uint8_t *buffer, size_t valid, void **record)
{
    (void)buffer;
    (void)valid;
    (void)record;
    return SL_CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static int get_dropped(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = 0;
    return 0;
}

static int set_attribute(int attribute, size_t *size, void *value)
{
    if (cupti.refuse_attributes)
        return cupti.code;
    assert_int_equal(*size, 1);
    cupti.attribute[attribute] = *(uint8_t *)value;
    return 0;
}

static int read_attribute(int attribute, size_t *size, void *value)
{
    assert_int_equal(*size, 1);
    *(uint8_t *)value = cupti.attribute[attribute];
    return 0;
}

static int set_thread_id_type(int type)
{
    cupti.thread_id_type = type;
    return 0;
}

static int get_timestamp(uint64_t *ns)
{
    *ns = 1;
    return 0;
}

static int get_result_string(int result, const char **text)
{
    if (result != SL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
        return SL_CUPTI_ERROR_INVALID_PARAMETER;
    *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
    return 0;
}

static const struct sl_cupti_functions complete_table = {
    .GetVersion = get_version,
    .ActivityRegisterCallbacks = register_callbacks,
    .ActivityEnable = enable,
    .ActivityDisable = disable,
    .ActivityEnableRuntimeApi = enable_runtime_api,
    .ActivityEnableDriverApi = enable_driver_api,
    .ActivityEnableAllSyncRecords = enable_all_sync,
    .ActivityFlushAll = flush_all,
    .ActivityGetNextRecord = get_next_record,
    .ActivityGetNumDroppedRecords = get_dropped,
    .ActivitySetAttribute = set_attribute,
    .ActivityGetAttribute = set_attribute,
    .SetThreadIdType = set_thread_id_type,
    .GetTimestamp = get_timestamp,
    .GetResultString = get_result_string,
};

static struct sl_cupti_api api;

static void adopt(uint32_t version, const struct sl_cupti_functions *fn)
{
    memset(&cupti, 0, sizeof cupti);
    cupti.version = version;
    cupti.all_sync = cupti.thread_id_type = -1;
    cupti.refused_kind = -1;
    cupti.code = SL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    sl_stats_reset();
    assert_int_equal(sl_cupti_api_adopt(&api, fn), 0);
    assert_int_equal(api.version, version);
}

static void unusable_libraries_are_refused(void **state)
{
    struct sl_cupti_functions fn = complete_table;

    cupti.version = 17; /* CUDA 11.8 */
    assert_int_equal(sl_cupti_api_adopt(&api, &complete_table), -ENOTSUP);
    cupti.version = 0;
    listen_to_stderr();
    assert_int_equal(sl_cupti_api_adopt(&api, &complete_table), -ENOTSUP);
    assert_non_null(strstr(stop_listening(), "cuptiGetVersion failed: unknown error (999): nothing "
                                             "is recorded"));
    cupti.version = 18;
    fn.ActivityFlushAll = NULL;
    assert_int_equal(sl_cupti_api_adopt(&api, &fn), -ENOTSUP);
    fn = complete_table;
    fn.ActivityEnableRuntimeApi = fn.ActivityEnableDriverApi = NULL;
    fn.ActivityEnableAllSyncRecords = NULL;
    fn.ActivityGetAttribute = NULL;
    fn.SetThreadIdType = NULL;
    assert_int_equal(sl_cupti_api_adopt(&api, &fn), 0);
    /* syncline does not call functions that this CUPTI lacks. */
    assert_int_equal(sl_cupti_attach(&api, NULL, NULL), 0);
    sl_cupti_detach(&api);
}

static void everything_on_and_off_with_the_per_call_filter(void **state)
{
    static const int kinds[] = {
        SL_CUPTI_KIND_CONCURRENT_KERNEL,
        SL_CUPTI_KIND_MEMCPY,
        SL_CUPTI_KIND_MEMCPY2,
        SL_CUPTI_KIND_MEMSET,
        SL_CUPTI_KIND_OVERHEAD,
        SL_CUPTI_KIND_SYNCHRONIZATION,
        SL_CUPTI_KIND_CUDA_EVENT,
        SL_CUPTI_KIND_CONTEXT,
        SL_CUPTI_KIND_STREAM,
        SL_CUPTI_KIND_NAME,
    };
    unsigned on = 0;
    int filter = 9;

    adopt(130001, &complete_table);
    assert_int_equal(sl_cupti_enable(&api, ALL, 0, &filter), ALL);
    assert_int_equal(filter, 0);
    for (int k = 0; k < SL_CUPTI_KIND_COUNT; k++)
        on += cupti.kind[k];
    /* and no other kind: KERNEL is off, because it serializes kernels */
    assert_int_equal(on, sizeof kinds / sizeof *kinds);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(cupti.kind[kinds[i]], 1);
    assert_int_equal(cupti.all_sync, 0);
    assert_int_equal(cupti.runtime[211], 1); /* cudaLaunchKernel */
    assert_int_equal(cupti.runtime[131], 1); /* cudaStreamSynchronize */
    assert_int_equal(cupti.runtime[17], 0);  /* cudaGetDevice */
    assert_int_equal(cupti.driver[652], 1);  /* cuLaunchKernelEx */

    assert_int_equal(sl_cupti_disable(&api, ALL), ALL);
    for (int k = 0; k < SL_CUPTI_KIND_COUNT; k++)
        assert_int_equal(cupti.kind[k], 0);
    for (unsigned i = 0; i < sizeof cupti.runtime; i++)
        assert_int_equal(cupti.runtime[i] + cupti.driver[i], 0);
    assert_int_equal(sl_stats_get(SL_STAT_CUPTI_ERRORS), 0);
}

static void calls_that_a_version_does_not_know_are_not_asked_of_it(void **state)
{
    int filter;

    adopt(23, &complete_table); /* CUPTI 12.5 has runtime ids below 470 and driver ids below 761 */
    sl_cupti_enable(&api, ALL, 0, &filter);
    for (unsigned i = 470; i < sizeof cupti.runtime; i++)
        assert_int_equal(cupti.runtime[i], 0);
    for (unsigned i = 761; i < sizeof cupti.driver; i++)
        assert_int_equal(cupti.driver[i], 0);
}

static void without_the_per_call_filter_whole_kinds_and_a_filter_at_decode(void **state)
{
    struct sl_cupti_functions fn = complete_table;
    int filter = 0;

    fn.ActivityEnableRuntimeApi = fn.ActivityEnableDriverApi = NULL;
    adopt(22, &fn);
    assert_int_equal(sl_cupti_enable(&api, SL_CUPTI_RUNTIME, 0, &filter), SL_CUPTI_RUNTIME);
    assert_int_equal(filter, 1);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 1);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_DRIVER], 0);
    assert_int_equal(sl_cupti_disable(&api, SL_CUPTI_RUNTIME), SL_CUPTI_RUNTIME);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 0);

    adopt(130001, &complete_table); /* the user wants all calls recorded */
    assert_int_equal(sl_cupti_enable(&api, SL_CUPTI_RUNTIME, 1, &filter), SL_CUPTI_RUNTIME);
    assert_int_equal(filter, 0);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 1);
    assert_int_equal(cupti.runtime[211], 0);
    sl_cupti_disable(&api, SL_CUPTI_RUNTIME);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 0);
}

static void a_filter_that_fails_falls_back_to_the_whole_kind(void **state)
{
    int filter = 0;
    const char *line;

    adopt(130001, &complete_table);
    cupti.refuse_calls = 1;
    listen_to_stderr();
    assert_int_equal(sl_cupti_enable(&api, SL_CUPTI_RUNTIME, 0, &filter), SL_CUPTI_RUNTIME);
    line = stop_listening();
    assert_int_equal(filter, 1);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 1);
    assert_non_null(strstr(line, "cuptiActivityEnableRuntimeApi failed"));
    /* the failure is counted once, not once per call */
    assert_int_equal(sl_stats_get(SL_STAT_CUPTI_ERRORS), 1);
}

/* CUPTI refuses to enable some of the calls that syncline wants. So syncline enables the whole
 * kind, so that no wanted call is missing. */
static void a_filter_that_takes_some_calls_falls_back_to_the_whole_kind(void **state)
{
    int filter = 0;

    adopt(130001, &complete_table);
    cupti.refuse_calls = 1;
    cupti.refused_from = 100;
    listen_to_stderr();
    assert_int_equal(sl_cupti_enable(&api, SL_CUPTI_RUNTIME, 0, &filter), SL_CUPTI_RUNTIME);
    stop_listening();
    assert_int_equal(filter, 1);
    assert_int_equal(cupti.kind[SL_CUPTI_KIND_RUNTIME], 1);
    for (unsigned i = 0; i < sizeof cupti.runtime; i++)
        assert_int_equal(cupti.runtime[i], 0);
}

static void a_kind_that_fails_leaves_the_others_recording(void **state)
{
    static const struct {
        int kind;
        uint32_t set; /* the set of kinds whose records will be missing */
        const char *words;
    } want[] = {
        {SL_CUPTI_KIND_CONCURRENT_KERNEL, SL_CUPTI_KERNEL, "(CONCURRENT_KERNEL) failed"},
        {SL_CUPTI_KIND_MEMCPY, SL_CUPTI_MEMCPY, "copies are not recorded"},
        {SL_CUPTI_KIND_MEMCPY2, 0, "copies between devices are not recorded"},
        {SL_CUPTI_KIND_MEMSET, SL_CUPTI_MEMSET, "memsets are not recorded"},
        {SL_CUPTI_KIND_SYNCHRONIZATION, SL_CUPTI_SYNC, "waits are not recorded"},
        {SL_CUPTI_KIND_CUDA_EVENT, 0, "event records are not recorded"},
        {SL_CUPTI_KIND_OVERHEAD, SL_CUPTI_OVERHEAD, "CUPTI's own costs are not recorded"},
        {SL_CUPTI_KIND_STREAM, 0, "stream flags and priorities are not recorded"},
    };

    for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
        int filter;
        const char *line;

        adopt(130001, &complete_table);
        cupti.refused_kind = want[i].kind;
        listen_to_stderr();
        assert_int_equal(sl_cupti_enable(&api, ALL, 0, &filter), ALL & ~want[i].set);
        /* the message is printed once, although the call fails each time */
        sl_cupti_enable(&api, ALL, 0, &filter);
        line = stop_listening();
        assert_non_null(strstr(line, want[i].words));
        assert_non_null(strstr(line, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"));
        assert_non_null(strstr(line, "NVreg_RestrictProfilingToAdminUsers=0"));
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
        assert_int_equal(sl_stats_get(SL_STAT_CUPTI_ERRORS), 2);
        for (unsigned k = 0; k < sizeof want / sizeof *want; k++)
            assert_int_equal(cupti.kind[want[k].kind], k != i);
        assert_int_equal(cupti.runtime[211], 1);
    }
}

static void results_become_errnos(void **state)
{
    static const struct {
        int result, error;
    } want[] = {
        {SL_CUPTI_SUCCESS, 0},
        {SL_CUPTI_ERROR_INVALID_PARAMETER, -EINVAL},
        {SL_CUPTI_ERROR_OUT_OF_MEMORY, -ENOMEM},
        {SL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, -EPERM},
        {SL_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, -EBUSY},
        {SL_CUPTI_ERROR_NOT_SUPPORTED, -ENOTSUP},
        {SL_CUPTI_ERROR_UNKNOWN, -EIO},
        {12345, -EIO},
    };
    const char *line;

    adopt(130001, &complete_table);
    listen_to_stderr();
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(sl_cupti_check(&api, want[i].result, "ActivityFlushAll"), want[i].error);
    assert_int_equal(sl_cupti_check(&api, SL_CUPTI_ERROR_UNKNOWN, "SomethingElse"), -EIO);
    line = stop_listening();
    assert_non_null(strstr(line, "cuptiActivityFlushAll failed"));
    assert_non_null(strstr(line, "cuptiSomethingElse failed"));
    assert_int_equal(sl_stats_get(SL_STAT_CUPTI_ERRORS), 8);
}

static void buffers_are_zeroed_by_us_and_threads_are_the_systems(void **state)
{
    adopt(130001, &complete_table);
    sl_cupti_attach(&api, NULL, NULL);
    assert_int_equal(cupti.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER], 1);
    assert_int_equal(cupti.thread_id_type, SL_CUPTI_THREAD_ID_TYPE_SYSTEM);
    cupti.refuse_attributes = 1;
    listen_to_stderr();
    sl_cupti_attach(&api, NULL, NULL);
    assert_non_null(strstr(stop_listening(), "cuptiActivitySetAttribute failed"));
}

/* Another client uses CUPTI. Before that, syncline restores CUPTI's original settings. Afterwards
 * syncline sets its own settings again. */
static void another_client_finds_everything_as_it_was(void **state)
{
    uint8_t *zeroed = &cupti.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER];
    uint8_t *per_thread = &cupti.attribute[SL_CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER];
    struct sl_cupti_functions fn = complete_table;
    int filter;

    fn.ActivityGetAttribute = read_attribute;
    adopt(130001, &fn);
    *per_thread = 1;
    assert_int_equal(sl_cupti_attach(&api, NULL, NULL), 0);
    sl_cupti_enable(&api, SL_CUPTI_SYNC, 0, &filter);
    assert_int_equal(cupti.all_sync, 0);
    sl_cupti_detach(&api);
    assert_int_equal(*zeroed, 0);
    assert_int_equal(*per_thread, 1);
    assert_int_equal(cupti.thread_id_type, SL_CUPTI_THREAD_ID_TYPE_DEFAULT);
    assert_int_equal(cupti.all_sync, 1);
    *per_thread = 0; /* another profiler changes the attribute, like torch.profiler at its end */
    assert_int_equal(sl_cupti_attach(&api, NULL, NULL), 0);
    assert_int_equal(*zeroed, 1);
    assert_int_equal(*per_thread, 1);
    sl_cupti_detach(&api);
    assert_int_equal(*per_thread, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unusable_libraries_are_refused),
        cmocka_unit_test(everything_on_and_off_with_the_per_call_filter),
        cmocka_unit_test(calls_that_a_version_does_not_know_are_not_asked_of_it),
        cmocka_unit_test(without_the_per_call_filter_whole_kinds_and_a_filter_at_decode),
        cmocka_unit_test(a_filter_that_fails_falls_back_to_the_whole_kind),
        cmocka_unit_test(a_filter_that_takes_some_calls_falls_back_to_the_whole_kind),
        cmocka_unit_test(a_kind_that_fails_leaves_the_others_recording),
        cmocka_unit_test(results_become_errnos),
        cmocka_unit_test(buffers_are_zeroed_by_us_and_threads_are_the_systems),
        cmocka_unit_test(another_client_finds_everything_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
