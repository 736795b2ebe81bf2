/* demangle_test.c - a C program finds a demangler, and returns nothing for names that are not
 * mangled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "write/demangle.h"

static char out[65536];

static void mangled_names_become_readable(void **state)
{
    size_t n = sl_demangle(out, sizeof(out), "_ZN2at6native3addIfEEvPT_i");

    (void)state;
    /* The machine has a C++ runtime, because the compiler that built this needs one. */
    assert_int_equal(n, strlen("void at::native::add<float>(float*, int)"));
    assert_memory_equal(out, "void at::native::add<float>(float*, int)", n);
}

static void others_are_left_to_the_caller(void **state)
{
    size_t length = 100000;
    char *giant = malloc(length + 1);

    (void)state;
    assert_int_equal(sl_demangle(out, sizeof(out), "ampere_sgemm_128x64_nn"), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), ""), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), "_Z"), 0);
    assert_int_equal(sl_demangle(out, sizeof(out), "_Z\xff\xff"), 0);
    assert_int_equal(sl_demangle(out, 5, "_ZN2at6native3addIfEEvPT_i"), 0); /* does not fit */
    memset(giant, 'a', length);
    memcpy(giant, "_Z99990", 7);
    giant[length] = 0;
    assert_int_equal(sl_demangle(out, sizeof(out), giant), 0);
    free(giant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mangled_names_become_readable),
        cmocka_unit_test(others_are_left_to_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
