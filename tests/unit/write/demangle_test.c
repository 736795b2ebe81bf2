/* demangle_test.c - a C program finds the demangler of a C++ runtime at run time. Names that are
 * not mangled need no demangler. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "write/demangle.h"

static char out[65536];

static void mangled_names_become_readable(void **state)
{
    size_t n = sl_demangle(out, sizeof(out), "_ZN2at6native3addIfEEvPT_i");

    /* The machine has a C++ runtime, because the compiler needs one. */
    assert_int_equal(n, strlen("void at::native::add<float>(float*, int)"));
    assert_memory_equal(out, "void at::native::add<float>(float*, int)", n);
}

static void others_are_left_to_the_caller(void **state)
{
    size_t length = 100000;
    char *giant = malloc(length + 1);

    assert_int_equal(sl_demangle(out, sizeof(out), "ampere_sgemm_128x64_nn"), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), ""), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), "_Z"), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), "_Z\xff\xff"), 0);
    /* The result does not fit. */
    assert_int_equal(sl_demangle(out, 5, "_ZN2at6native3addIfEEvPT_i"), 0);
    memset(giant, 'a', length);
    memcpy(giant, "_Z99990", 7);
    giant[length] = 0;
    assert_int_equal(sl_demangle(out, sizeof(out), giant), 0);
    free(giant);
}

static void *demangle(void *name)
{
    sl_demangle(out, sizeof(out), name);
    return NULL;
}

/* A name of 32 KB is one nested template: f<a<a<...a<int>...>>>(). The demangler may refuse the
 * name, but the stack of a thread like the writer's does not overflow. */
static void the_deepest_name_fits_the_stack(void **state)
{
    const int depth = 8188;
    char *name = malloc(5 + 3 * (size_t)depth + 1 + (size_t)depth + 3 + 1), *at = name;
    pthread_t thread;

    (void)state;
    at = stpcpy(at, "_Z1fI");
    for (int i = 0; i < depth; i++)
        at = stpcpy(at, "1aI");
    *at++ = 'i';
    memset(at, 'E', (size_t)depth);
    strcpy(at + depth, "Evv");
    assert_in_range(strlen(name), 32700, 32768);
    assert_int_equal(sl_thread_start(&thread, SL_DEMANGLE_STACK_BYTES, demangle, name), 0);
    pthread_join(thread, NULL);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mangled_names_become_readable),
        cmocka_unit_test(others_are_left_to_the_caller),
        cmocka_unit_test(the_deepest_name_fits_the_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
