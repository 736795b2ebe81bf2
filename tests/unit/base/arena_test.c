/* arena_test.c - tests the arena: alignment, zeroed memory, large pieces, and the memory limit. */
#include "test.h"

#include <string.h>

#include "base/arena.h"

static void pieces_are_aligned_zeroed_and_apart(void **state)
{
    struct sl_arena a;
    char *piece[200];
    size_t size[200];

    sl_arena_init(&a, 1 << 20, 8192);
    assert_int_equal(a.taken_bytes, 0);
    for (int i = 0; i < 200; i++) {
        size_t align = (size_t)1 << (i % 7);

        size[i] = (size_t)(i * 7 % 300 + 1);
        piece[i] = sl_arena_alloc(&a, size[i], align);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % align, 0);
        for (size_t at = 0; at < size[i]; at++)
            assert_int_equal(piece[i][at], 0);
        memset(piece[i], i, size[i]);
    }
    for (int i = 0; i < 200; i++) {
        for (size_t at = 0; at < size[i]; at++)
            assert_int_equal((unsigned char)piece[i][at], i);
    }
    sl_arena_destroy(&a);
}

static void a_page_aligned_piece(void **state)
{
    struct sl_arena a;
    char *piece;

    sl_arena_init(&a, 1 << 20, 0);
    sl_arena_alloc(&a, 3, 1);
    piece = sl_arena_alloc(&a, 100, 4096);
    assert_non_null(piece);
    assert_int_equal((uintptr_t)piece % 4096, 0);
    sl_arena_destroy(&a);
}

static void a_piece_larger_than_a_chunk(void **state)
{
    struct sl_arena a;
    char *piece;

    sl_arena_init(&a, 1 << 20, 8192);
    piece = sl_arena_alloc(&a, 100000, 8);
    assert_non_null(piece);
    memset(piece, 1, 100000);
    assert_true(a.taken_bytes >= 100000);
    sl_arena_destroy(&a);
}

static void the_cap_holds(void **state)
{
    struct sl_arena a;
    size_t got = 0;

    sl_arena_init(&a, 65536, 8192);
    while (sl_arena_alloc(&a, 1000, 8))
        got += 1000;
    assert_true(got > 60000 * 9 / 10);
    assert_true(a.taken_bytes <= 65536);
    assert_null(sl_arena_alloc(&a, SIZE_MAX - 10, 8));
    assert_null(sl_arena_alloc(&a, SIZE_MAX - 64, 64));
    sl_arena_destroy(&a);
    assert_int_equal(a.taken_bytes, 0);
    assert_non_null(sl_arena_alloc(&a, 1000, 8)); /* the arena is usable again */
    sl_arena_destroy(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(a_page_aligned_piece),
        cmocka_unit_test(a_piece_larger_than_a_chunk),
        cmocka_unit_test(the_cap_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
