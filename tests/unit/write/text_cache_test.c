/* text_cache_test.c - the cache of row texts by key. Texts are found although the cache forgets
 * other texts. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/text_cache.h"

static void both_halves_of_the_key_count(void **state)
{
    struct sl_text_cache c;
    struct sl_text *a, *b;

    assert_int_equal(sl_text_cache_init(&c, 1 << 20), 0);
    assert_null(sl_text_cache_find(&c, 1, 2));
    a = sl_text_cache_add(&c, 1, 2, "one", 3);
    b = sl_text_cache_add(&c, 2, 1, "other", 5);
    assert_ptr_equal(sl_text_cache_find(&c, 1, 2), a);
    assert_ptr_equal(sl_text_cache_find(&c, 2, 1), b);
    assert_null(sl_text_cache_find(&c, 1, 1));
    assert_int_equal(b->length, 5);
    assert_memory_equal(b->text, "other", 5);
    assert_int_equal(b->file, 0);
    sl_text_cache_clear(&c);
    assert_null(sl_text_cache_find(&c, 1, 2));
    sl_text_cache_destroy(&c);
}

static void a_full_cache_starts_anew_and_stays_under_its_cap(void **state)
{
    char text[1000], giant[400000];
    struct sl_text_cache c;
    uint64_t i, found = 0;

    assert_int_equal(sl_text_cache_init(&c, 512 * 1024), 0);
    for (i = 1; i <= 20000; i++) {
        struct sl_text *t;

        memset(text, (int)(i % 251), sizeof(text));
        t = sl_text_cache_add(&c, i, 0, text, sizeof(text));
        assert_non_null(t);
        assert_ptr_equal(sl_text_cache_find(&c, i, 0), t);
        assert_memory_equal(t->text, text, sizeof(text));
        assert_true(c.arena.taken_bytes <= 512 * 1024);
    }
    for (i = 1; i <= 20000; i++) {
        struct sl_text *t = sl_text_cache_find(&c, i, 0);

        if (!t)
            continue;
        found++;
        assert_int_equal((unsigned char)t->text[0], i % 251);
    }
    assert_true(found > 0 && found < 600);
    /* A text longer than the whole cache is refused, and the cache still works. */
    memset(giant, 'x', sizeof(giant));
    assert_null(sl_text_cache_add(&c, 99999, 0, giant, 2 * sizeof(giant)));
    assert_non_null(sl_text_cache_add(&c, 7, 7, "x", 1));
    sl_text_cache_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_halves_of_the_key_count),
        cmocka_unit_test(a_full_cache_starts_anew_and_stays_under_its_cap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
