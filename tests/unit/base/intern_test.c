/* intern_test.c - interned texts: equal texts get the same id, even if the hint is wrong, if the
 * memory limit is reached, or if another thread reads meanwhile. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/intern.h"

static void equal_texts_share_an_id(void **state)
{
    struct sl_intern *in;
    size_t length = 0;

    assert_int_equal(sl_intern_create(&in, 1 << 20), 0);
    assert_int_equal(sl_intern_put(in, "gemm", 4), 1);
    assert_int_equal(sl_intern_put(in, "gemm_f16", 8), 2);
    /* the length alone determines the end of the text */
    assert_int_equal(sl_intern_put(in, "gemm_f16 and more", 4), 1);
    assert_int_equal(sl_intern_put(in, "", 0), 3);
    assert_int_equal(sl_intern_put(in, "a\0b", 3), 4);
    assert_int_equal(sl_intern_put(in, "a\0c", 3), 5);
    assert_int_equal(sl_intern_count(in), 5);
    assert_string_equal(sl_intern_get(in, 1, NULL), "gemm");
    assert_memory_equal(sl_intern_get(in, 4, &length), "a\0b", 4); /* NUL-terminated */
    assert_int_equal(length, 3);
    assert_null(sl_intern_get(in, 0, NULL));
    assert_null(sl_intern_get(in, 6, NULL));
    sl_intern_destroy(in);
    sl_intern_destroy(NULL);
}

static void many_texts_survive_the_growth_of_the_index(void **state)
{
    struct sl_intern *in;
    const char *first;
    char text[32];

    assert_int_equal(sl_intern_create(&in, 16 << 20), 0);
    sl_intern_put(in, "n0", 2);
    first = sl_intern_get(in, 1, NULL);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 20000; i++) {
            int n = snprintf(text, sizeof(text), "n%u", i);

            assert_int_equal(sl_intern_put(in, text, (size_t)n), i + 1);
        }
    }
    assert_int_equal(sl_intern_count(in), 20000);
    assert_ptr_equal(sl_intern_get(in, 1, NULL), first);
    assert_string_equal(sl_intern_get(in, 20000, NULL), "n19999");
    sl_intern_destroy(in);
}

static void a_hint_whose_address_holds_another_text_later(void **state)
{
    struct sl_intern *in;
    char name[16] = "kernel_a";
    uint32_t a, b;

    assert_int_equal(sl_intern_create(&in, 1 << 20), 0);
    a = sl_intern_put_hinted(in, name);
    assert_int_equal(sl_intern_put_hinted(in, name), a);
    strcpy(name, "kernel_b");
    b = sl_intern_put_hinted(in, name);
    assert_int_not_equal(a, b);
    strcpy(name, "kernel_bb");
    assert_string_equal(sl_intern_get(in, sl_intern_put_hinted(in, name), NULL), "kernel_bb");
    strcpy(name, "kernel");
    assert_string_equal(sl_intern_get(in, sl_intern_put_hinted(in, name), NULL), "kernel");
    strcpy(name, "kernel_a");
    assert_int_equal(sl_intern_put_hinted(in, name), a);
    sl_intern_destroy(in);
}

static void the_cap_holds_and_known_texts_stay_known(void **state)
{
    const size_t cap = 256 * 1024;
    struct sl_intern *in;
    uint32_t kept = 0;
    char text[64];

    assert_int_equal(sl_intern_create(&in, 100), -ENOMEM);
    assert_int_equal(sl_intern_create(&in, cap), 0);
    for (uint32_t i = 0; i < 100000; i++) {
        int n = snprintf(text, sizeof(text), "a kernel's name, some forty bytes long %u", i);

        kept += sl_intern_put(in, text, (size_t)n) != 0;
        assert_true(sl_intern_bytes(in) <= cap);
    }
    assert_in_range(kept, 1000, 5000);
    assert_int_equal(sl_intern_count(in), kept);
    snprintf(text, sizeof(text), "a kernel's name, some forty bytes long %u", 7);
    assert_int_equal(sl_intern_put(in, text, strlen(text)), 8);
    assert_int_equal(sl_intern_put_hinted(in, "a text that has no room, long enough not to fit "
                                              "into whatever crumbs are left in the last chunk"),
                     0);
    sl_intern_destroy(in);
}

/* The inserting thread passes each new id to the reader, as the event ring does. The reader looks
 * up each id. */
struct hand_over {
    struct sl_intern *in;
    _Atomic uint32_t id;
};

#define HANDED 5000u

static void *read_ids(void *arg)
{
    struct hand_over *h = arg;
    uintptr_t wrong = 0;
    char expect[32];

    for (uint32_t seen = 0; seen < HANDED;) {
        uint32_t id = atomic_load_explicit(&h->id, memory_order_acquire);
        const char *text = sl_intern_get(h->in, id, NULL);

        if (id == seen) {
            sched_yield();
            continue;
        }
        snprintf(expect, sizeof(expect), "text %u", id);
        wrong += !text || strcmp(text, expect);
        seen = id;
    }
    return (void *)wrong;
}

static void a_reader_beside_the_inserter(void **state)
{
    struct hand_over h = {0};
    pthread_t thread;
    char text[32];
    void *wrong;

    assert_int_equal(sl_intern_create(&h.in, 4 << 20), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_ids, &h), 0);
    for (uint32_t i = 1; i <= HANDED; i++) {
        int n = snprintf(text, sizeof(text), "text %u", i);

        atomic_store_explicit(&h.id, sl_intern_put(h.in, text, (size_t)n), memory_order_release);
    }
    pthread_join(thread, &wrong);
    assert_null(wrong);
    sl_intern_destroy(h.in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_share_an_id),
        cmocka_unit_test(many_texts_survive_the_growth_of_the_index),
        cmocka_unit_test(a_hint_whose_address_holds_another_text_later),
        cmocka_unit_test(the_cap_holds_and_known_texts_stay_known),
        cmocka_unit_test(a_reader_beside_the_inserter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
