/* name_calls_test.c - objects that a program registers once with NVTX: strings, domains, and names
 * of CUDA objects. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>

#include "test.h"

#include <errno.h>
#include <wchar.h>

#include "base/text_table.h"
#include "collect/nvtx/names.h"
#include "unit/collect/nvtx/slot.h"

static int init(void **state)
{
    return sl_nvtx_init(8 << 20);
}

/* ---- strings ---- */

static const char *string_of(nvtxStringHandle_t handle)
{
    return sl_text_table_get((uint32_t)(uintptr_t)handle, NULL);
}

static void registered_strings_have_one_number_in_all_domains(void **state)
{
    nvtxDomainHandle_t domain = CALL(CORE2, DomainCreateA, nvtxDomainHandle_t, const char *)("d");
    nvtxStringHandle_t ascii = CALL(CORE2, DomainRegisterStringA, nvtxStringHandle_t,
                                    nvtxDomainHandle_t, const char *)(domain, "text");
    nvtxStringHandle_t wide = CALL(CORE2, DomainRegisterStringW, nvtxStringHandle_t,
                                   nvtxDomainHandle_t, const wchar_t *)(NULL, L"text");

    assert_non_null(domain);
    assert_ptr_equal(ascii, wide);
    assert_string_equal(string_of(ascii), "text");
    assert_null(CALL(CORE2, DomainRegisterStringA, nvtxStringHandle_t, nvtxDomainHandle_t,
                     const char *)(domain, NULL));
    assert_null(CALL(CORE2, DomainRegisterStringW, nvtxStringHandle_t, nvtxDomainHandle_t,
                     const wchar_t *)(domain, NULL));
    assert_null(CALL(CORE2, DomainCreateA, nvtxDomainHandle_t, const char *)(NULL));
    assert_null(CALL(CORE2, DomainCreateW, nvtxDomainHandle_t, const wchar_t *)(NULL));
    assert_ptr_equal(CALL(CORE2, DomainCreateW, nvtxDomainHandle_t, const wchar_t *)(L"d"), domain);
}

/* ---- names ---- */

static uint32_t names; /* number of names that were checked */

static void assert_named(enum sl_named_object what, unsigned domain, uint64_t key, uint32_t within,
                         const char *text)
{
    struct sl_named name;

    assert_int_equal(sl_nvtx_name_get(++names, &name), 0);
    assert_int_equal(name.what, what);
    assert_int_equal(name.domain, domain);
    assert_int_equal(name.key, key);
    assert_int_equal(name.within, within);
    assert_string_equal(sl_text_table_get(name.string, NULL), text);
}

static void skip_names(void)
{
    struct sl_named name;

    while (sl_nvtx_name_get(names + 1, &name) == 0)
        names++;
}

static int context_ids(void *context, uint32_t *id, uint32_t *device)
{
    *id = 21;
    *device = 2;
    return context == (void *)1 ? 0 : -ENOENT;
}

static int stream_ids(void *stream, uint32_t *id, uint32_t *context)
{
    *id = 31;
    *context = 3;
    return stream == (void *)1 ? 0 : -ENOENT;
}

static const struct sl_nvtx_ids ids = {context_ids, stream_ids};

static void streams_and_contexts_have_cupti_s_ids(void **state)
{
    void (*context)(void *, const char *) = CALL(CUDA, NameCuContextA, void, void *, const char *);
    void (*stream)(void *, const char *) =
        CALL(CUDART, NameCudaStreamA, void, void *, const char *);

    skip_names();
    stream((void *)1, "before CUDA");
    assert_named(SL_NAMED_OTHER, 0, 1, 0, "before CUDA");
    sl_nvtx_set_ids(&ids);
    stream((void *)1, "stream");
    assert_named(SL_NAMED_STREAM, 0, 31, 3, "stream");
    context((void *)1, "context");
    assert_named(SL_NAMED_CONTEXT, 0, 21, 2, "context");
    stream((void *)77, "not a stream");
    assert_named(SL_NAMED_OTHER, 0, 77, 0, "not a stream");
    context((void *)77, NULL); /* the program gives no name */
    CALL(CUDA, NameCuDeviceW, void, int, const wchar_t *)(3, L"device");
    assert_named(SL_NAMED_DEVICE, 0, 3, 0, "device");
    CALL(CORE, NameOsThreadA, void, uint32_t, const char *)(99, "thread");
    assert_named(SL_NAMED_THREAD, 0, 99, 0, "thread");
    CALL(CUDART, NameCudaEventW, void, void *, const wchar_t *)((void *)&ids, L"event");
    assert_named(SL_NAMED_EVENT, 0, (uintptr_t)&ids, 0, "event");
    sl_nvtx_set_ids(NULL);
}

static nvtxResourceHandle_t resource(nvtxDomainHandle_t domain, int32_t type, uint64_t handle)
{
    nvtxResourceAttributes_t a = {.version = NVTX_VERSION,
                                  .size = sizeof(a),
                                  .identifierType = type,
                                  .messageType = NVTX_MESSAGE_TYPE_ASCII};

    a.identifier.ullValue = handle;
    a.message.ascii = "resource";
    return CALL(CORE2, DomainResourceCreate, nvtxResourceHandle_t, nvtxDomainHandle_t,
                nvtxResourceAttributes_t *)(domain, &a);
}

static void resources_are_named_as_what_they_are(void **state)
{
    nvtxDomainHandle_t domain = CALL(CORE2, DomainCreateA, nvtxDomainHandle_t, const char *)("d");
    nvtxResourceAttributes_t a = {.version = NVTX_VERSION, .size = sizeof(a) - 1};

    skip_names();
    sl_nvtx_set_ids(&ids);
    assert_non_null(resource(domain, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE, 99));
    assert_named(SL_NAMED_THREAD, 0, 99, 0, "resource");
    resource(domain, (int32_t)NVTX_RESOURCE_TYPE_CUDART_STREAM, 1);
    assert_named(SL_NAMED_STREAM, 0, 31, 3, "resource");
    resource(domain, (int32_t)NVTX_RESOURCE_TYPE_CUDA_CONTEXT, 1);
    assert_named(SL_NAMED_CONTEXT, 0, 21, 2, "resource");
    resource(domain, (int32_t)NVTX_RESOURCE_TYPE_CUDA_EVENT, 55);
    assert_named(SL_NAMED_EVENT, 0, 55, 0, "resource");
    resource(domain, 0x7fffffff, 5);
    assert_named(SL_NAMED_OTHER, (unsigned)(uintptr_t)domain, 5, 0, "resource");
    sl_nvtx_set_ids(NULL);
    assert_null(CALL(CORE2, DomainResourceCreate, nvtxResourceHandle_t, nvtxDomainHandle_t,
                     nvtxResourceAttributes_t *)(domain, NULL));
    assert_null(CALL(CORE2, DomainResourceCreate, nvtxResourceHandle_t, nvtxDomainHandle_t,
                     nvtxResourceAttributes_t *)(domain, &a)); /* an older, shorter struct */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registered_strings_have_one_number_in_all_domains),
        cmocka_unit_test(streams_and_contexts_have_cupti_s_ids),
        cmocka_unit_test(resources_are_named_as_what_they_are),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
