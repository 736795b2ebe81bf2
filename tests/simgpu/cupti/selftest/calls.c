/* calls.c - tests the functions that a client calls: enabling of kinds and single API calls,
 * attributes, callbacks. */
#include "client.h"

static void filters(void)
{
    attach();
    if (version >= 23) {
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_LAUNCH, 1) == CUPTI_SUCCESS);
        CHECK(F(cuptiActivityEnableRuntimeApi)(60000, 1) == CUPTI_ERROR_INVALID_PARAMETER);
        fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 2, 0);
        fake_call(SIM_DRIVER, CBID_CU_LAUNCH, 3, 0);
        flush(0);
        CHECK(seen_count == 1 && seen[0].cbid == CBID_LAUNCH);
        enable(CUPTI_ACTIVITY_KIND_RUNTIME); /* enabling the whole kind removes the filter */
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 4, 0);
        flush(0);
        CHECK(seen_count == 2 && seen[1].cbid == CBID_GET_DEVICE);
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_GET_DEVICE, 0) == CUPTI_SUCCESS);
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 5, 0);
        flush(0);
        CHECK(seen_count == 2);
    } else {
        CHECK(!dlsym(library, "cuptiActivityEnableRuntimeApi"));
        CHECK(!dlsym(library, "cuptiActivityEnableDriverApi"));
    }
    CHECK(F(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 6, 0);
    size_t before = seen_count;
    flush(0);
    CHECK(seen_count == before);

    /* A setting for a context overrides the global setting. */
    CHECK(F(cuptiActivityEnableContext)((CUcontext)(uintptr_t)1, CUPTI_ACTIVITY_KIND_MEMSET) ==
          CUPTI_SUCCESS);
    CHECK(F(cuptiActivityEnableContext)(NULL, CUPTI_ACTIVITY_KIND_MEMSET) ==
          CUPTI_ERROR_INVALID_CONTEXT);
    fake_finish(fake_memset());
    flush(0);
    CHECK(seen_count == before + 1);

    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_INVALID) == CUPTI_ERROR_INVALID_KIND);
    CHECK(F(cuptiActivityEnable)((CUpti_ActivityKind)200) == CUPTI_ERROR_INVALID_KIND);
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_KERNEL) == CUPTI_ERROR_NOT_COMPATIBLE);
    fake_fail("cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY) ==
          CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    fake_fail(NULL, 0);
}

static void attributes(void)
{
    size_t value = 4096, size = sizeof value, small = 4;
    uint8_t flag = 1;
    size_t flag_size = 1;

    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value) ==
          CUPTI_SUCCESS);
    value = 0;
    CHECK(F(cuptiActivityGetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value) ==
              CUPTI_SUCCESS &&
          value == 4096);
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &small, &value) ==
          CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, NULL, &value) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiActivitySetAttribute)((CUpti_ActivityAttribute)77, &size, &value) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CUptiResult per_thread = F(cuptiActivityGetAttribute)(
        CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &flag_size, &flag);
    CHECK(version < 21 ? per_thread == CUPTI_ERROR_INVALID_PARAMETER
                       : per_thread == CUPTI_SUCCESS && flag == (version >= 130000));

    /* The client said that its buffers are zeroed, but this one is not. */
    flag = 1;
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &flag_size,
                                       &flag) == CUPTI_SUCCESS);
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(fake_log_count("misuse") == 0);
}

static int calls_seen;

static void on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                    const void *data)
{
    const CUpti_CallbackData *d = data;

    CHECK(userdata == &calls_seen && domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CBID_LAUNCH);
    CHECK(d->correlationId == 5 && strcmp(d->functionName, "cudaLaunchKernel_v7000") == 0);
    calls_seen += d->callbackSite == CUPTI_API_EXIT ? 10 : 1;
}

static void subscribe(void)
{
    CUpti_SubscriberHandle handle, second;
    const char *text;

    CHECK(F(cuptiSubscribe)(&handle, (CUpti_CallbackFunc)on_call, &calls_seen) == CUPTI_SUCCESS);
    CHECK(F(cuptiSubscribe)(&second, (CUpti_CallbackFunc)on_call, NULL) ==
          CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(F(cuptiEnableCallback)(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, CBID_LAUNCH) ==
          CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 5, 0);
    fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 6, 0);
    CHECK(calls_seen == 11);
    CHECK(F(cuptiUnsubscribe)(handle) == CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 5, 0);
    CHECK(calls_seen == 11);
    CHECK(F(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, CBID_CU_LAUNCH, &text) ==
              CUPTI_SUCCESS &&
          strcmp(text, "cuLaunchKernel") == 0);
    CHECK(F(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, 60000, &text) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetResultString)(CUPTI_ERROR_INVALID_KIND, &text) == CUPTI_SUCCESS &&
          strcmp(text, "CUPTI_ERROR_INVALID_KIND") == 0);
}

static const struct scenario scenarios[] = {
    {"filters", NULL, NULL, filters},
    {"attributes", NULL, NULL, attributes},
    {"subscribe", NULL, NULL, subscribe},
};

int main(int argc, char **argv)
{
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
