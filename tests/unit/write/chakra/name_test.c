/* name_test.c - makes readable names of nodes. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

static void test_kernels_are_demangled_and_copies_described(void **state)
{
    struct sl_shape shape = {
        .kind = SL_EV_MEMCPY, .copy_kind = 2, .src_memory = 3, .dst_memory = 1};
    struct sl_event ev = {.kind = SL_EV_MEMCPY, .stream = 7, .correlation = 9};
    struct dom_file *d;

    kernel(7, 10, 20, 1, "_ZN3foo3barEi");
    ev.shape = sl_shape_put(f.shapes, &shape);
    ev.start_ns = BASE + 30000;
    ev.end_ns = BASE + 40000;
    put_event(&ev);
    call("na\xff"
         "me",
         10, 10, 12, 3);
    d = read_back();
    assert_int_equal(dom_count(d, "foo::bar(int)"), 1);
    assert_int_equal(dom_count(d, "Memcpy DtoH (Device -> Pageable)"), 1);
    assert_int_equal(dom_count(d, "na?me"), 1);
}

static void test_calls_without_a_name_have_their_number(void **state)
{
    struct sl_event ev = {.kind = SL_EV_DRIVER, .thread = 10, .correlation = 9};

    ev.u.call.cbid = 307;
    ev.start_ns = BASE;
    ev.end_ns = BASE + 1000;
    put_event(&ev);
    assert_int_equal(dom_count(read_back(), "driver call 307"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_kernels_are_demangled_and_copies_described),
        CHAKRA_TEST(test_calls_without_a_name_have_their_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
