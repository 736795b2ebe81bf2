/* discover_test.c - finds the copy of NVTX that is compiled into this program, by its data in
 * memory, and rejects data that only resembles such a copy. */
#include <nvtx3/nvToolsExt.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "collect/nvtx/discover.h"

/* The beginning of the state that each copy of NVTX has in memory. */
struct state {
    unsigned state, pad;
    NvtxExportTableCallbacks callbacks;
    NvtxExportTableVersionInfo version;
    uintptr_t function[64];
};

static int NVTX_API get_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    (void)module;
    (void)table;
    (void)size;
    return 0;
}

static void NVTX_API set_version(uint32_t version)
{
    (void)version;
}

#define LOOKS_LIKE_ONE                                                                             \
    .callbacks = {sizeof(NvtxExportTableCallbacks), get_table},                                    \
    .version = {sizeof(NvtxExportTableVersionInfo), NVTX_VERSION, 0, set_version}

/* Fake copies. The first is complete and cannot be distinguished from a real copy. Each other copy
 * has one wrong or missing member. */
static struct state whole = {.state = 2, LOOKS_LIKE_ONE};
static struct state other_state = {.state = 3, LOOKS_LIKE_ONE};
static struct state other_size = {LOOKS_LIKE_ONE};
static struct state other_version = {LOOKS_LIKE_ONE};
static struct state no_functions = {LOOKS_LIKE_ONE};
static struct state functions_elsewhere = {LOOKS_LIKE_ONE};

static struct sl_nvtx_copy found[64];
static unsigned count;

static void take(const struct sl_nvtx_copy *copy)
{
    assert_in_range(count, 0, 63);
    found[count++] = *copy;
}

static int is_found(const struct state *s)
{
    int times = 0;

    for (unsigned i = 0; i < count; i++)
        times += found[i].state == &s->state;
    return times;
}

static void find(void)
{
    count = 0;
    sl_nvtx_discover(take);
}

static void what_has_all_of_a_copy_s_state_is_one(void **state)
{
    find();
    assert_int_equal(is_found(&whole), 1);
    assert_int_equal(is_found(&other_state), 0);
}

static void what_lacks_something_is_none(void **state)
{
    other_size.callbacks.struct_size++;
    other_version.version.version++;
    no_functions.callbacks.GetModuleFunctionTable = NULL;
    /* The function belongs to another object. */
    memcpy(&functions_elsewhere.version.SetInjectionNvtxVersion, &(void *){(void *)free},
           sizeof(void *));
    find();
    assert_int_equal(is_found(&whole), 1);
    assert_int_equal(is_found(&other_size), 0);
    assert_int_equal(is_found(&other_version), 0);
    assert_int_equal(is_found(&no_functions), 0);
    assert_int_equal(is_found(&functions_elsewhere), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_all_of_a_copy_s_state_is_one),
        cmocka_unit_test(what_lacks_something_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
