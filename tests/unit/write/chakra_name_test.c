/* chakra_name_test.c - names of nodes: what a person reads, and always valid UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra_fixture.h"
#include "write/chakra_internal.h"

static void assert_clean(const char *from, const char *to)
{
    char out[64];
    size_t n = sl_chakra_utf8(out, sizeof(out), from, strlen(from));

    assert_int_equal(n, strlen(to));
    assert_memory_equal(out, to, n);
}

static void test_only_valid_utf8_passes(void **state)
{
    (void)state;
    assert_clean("plain", "plain");
    assert_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_clean("a\xff"
                 "b",
                 "a?b");
    assert_clean("\xc0\x80", "??");           /* overlong */
    assert_clean("\xe0\x80\x80", "???");      /* overlong */
    assert_clean("\xed\xa0\x80", "???");      /* surrogate */
    assert_clean("\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
    assert_clean("cut \xe2\x82", "cut ??");
}

static void test_a_sequence_is_not_cut_in_two(void **state)
{
    char out[4];

    (void)state;
    assert_int_equal(sl_chakra_utf8(out, 4, "abc\xc3\xa9", 5), 3);
}

static void test_kernels_are_demangled_and_copies_described(void **state)
{
    struct sl_shape shape = {
        .kind = SL_EV_MEMCPY, .copy_kind = 2, .src_memory = 3, .dst_memory = 1};
    struct sl_event ev = {.kind = SL_EV_MEMCPY, .stream = 7, .correlation = 9};
    struct dom_file *d;

    (void)state;
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

    (void)state;
    ev.u.call.cbid = 307;
    ev.start_ns = BASE;
    ev.end_ns = BASE + 1000;
    put_event(&ev);
    assert_int_equal(dom_count(read_back(), "driver call 307"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_valid_utf8_passes),
        cmocka_unit_test(test_a_sequence_is_not_cut_in_two),
        CHAKRA_TEST(test_kernels_are_demangled_and_copies_described),
        CHAKRA_TEST(test_calls_without_a_name_have_their_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
