/* store_test.c - tests the memory limit, the pool of objects, and the hash map. The map must always
 * have the same content as an array. */
#include "test.h"

#include <stdlib.h>

#include "base/store.h"

#define BLOCK (64 * 1024)

static void the_bound_holds_for_all_together(void **state)
{
    struct sl_store store = {.cap_bytes = 2 * BLOCK};
    struct sl_pool pool;
    struct sl_map map;

    sl_pool_init(&pool, &store, 64);
    sl_map_init(&map, &store);
    void *pages = sl_store_map(&store, BLOCK);

    assert_non_null(pages);
    assert_non_null(sl_pool_get(&pool));
    assert_int_equal(store.used_bytes, 2 * BLOCK);
    assert_null(sl_store_map(&store, 1));
    assert_null(sl_map_put(&map, 5));
    assert_null(sl_map_find(&map, 5));
    sl_store_unmap(&store, pages, BLOCK);
    sl_store_unmap(&store, NULL, BLOCK);
    assert_non_null(sl_map_put(&map, 5));
    sl_map_free(&map);
    sl_pool_free(&pool);
    assert_int_equal(store.used_bytes, 0);
}

static void what_grows_counts_its_growth(void **state)
{
    struct sl_store store = {.cap_bytes = 3 * BLOCK};
    uint8_t *memory = sl_store_grow(&store, NULL, 0, BLOCK);

    assert_non_null(memory);
    memory[BLOCK - 1] = 7;
    memory = sl_store_grow(&store, memory, BLOCK, 3 * BLOCK);
    assert_non_null(memory);
    assert_int_equal(memory[BLOCK - 1], 7);
    assert_int_equal(store.used_bytes, 3 * BLOCK);
    assert_null(sl_store_grow(&store, memory, 3 * BLOCK, 3 * BLOCK + 1));
    sl_store_unmap(&store, memory, 3 * BLOCK);
    assert_int_equal(store.used_bytes, 0);
}

static void a_pool_gives_zeroed_objects_and_takes_them_back(void **state)
{
    struct sl_store store = {.cap_bytes = BLOCK};
    struct sl_pool pool;
    uint64_t *object[BLOCK / 64], *more;
    size_t count = 0;

    sl_pool_init(&pool, &store, 64);
    while ((object[count] = sl_pool_get(&pool))) {
        for (int i = 0; i < 8; i++) {
            assert_int_equal(object[count][i], 0);
            object[count][i] = count + 1;
        }
        count++;
    }
    /* the space of one object holds the link to the next block */
    assert_int_equal(count, BLOCK / 64 - 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(object[i][7], i + 1); /* objects do not overlap */
    sl_pool_put(&pool, object[3]);
    more = sl_pool_get(&pool);
    assert_ptr_equal(more, object[3]);
    for (int i = 0; i < 8; i++)
        assert_int_equal(more[i], 0);
    assert_null(sl_pool_get(&pool));
    sl_pool_free(&pool);
    assert_int_equal(store.used_bytes, 0);
}

static void an_object_larger_than_a_block_is_refused(void **state)
{
    struct sl_store store = {.cap_bytes = 4 * BLOCK};
    struct sl_pool pool;

    sl_pool_init(&pool, &store, BLOCK);
    assert_null(sl_pool_get(&pool));
    sl_pool_free(&pool);
}

/* Keys that collide in few hash slots are inserted and removed at random. After each change, the
 * map has the same content as an array. */
static void the_map_is_an_array_with_holes(void **state)
{
    enum {
        KEYS = 3000
    };
    static uint64_t want[KEYS];
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_map map;
    size_t there = 0;

    srand(1);
    sl_map_init(&map, &store);
    for (int round = 0; round < 100000; round++) {
        uint64_t i = (uint64_t)rand() % KEYS, key = (i % 2 ? i << 32 : i) + 1;

        if (rand() % 2) {
            uint64_t *value = sl_map_put(&map, key);

            assert_non_null(value);
            assert_int_equal(*value, want[i]);
            there += want[i] == 0;
            *value = want[i] = (uint64_t)round + 1;
        } else {
            there -= want[i] != 0;
            sl_map_drop(&map, key);
            want[i] = 0;
        }
        assert_int_equal(map.used, there);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t *value = sl_map_find(&map, (i % 2 ? i << 32 : i) + 1);

        assert_int_equal(value ? *value : 0, want[i]);
    }
    sl_map_free(&map);
    assert_int_equal(store.used_bytes, 0);
}

/* Keys are inserted and removed many times. The map does not grow. */
static void a_map_never_ages(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_map map;
    size_t slots;

    sl_map_init(&map, &store);
    for (uint64_t key = 1; key <= 64; key++)
        *sl_map_put(&map, key) = key;
    slots = map.slots;
    for (uint64_t key = 65; key < 100000; key++) {
        sl_map_drop(&map, key - 64);
        *sl_map_put(&map, key) = key;
    }
    assert_int_equal(map.slots, slots);
    assert_int_equal(map.used, 64);
    assert_int_equal(*sl_map_find(&map, 99999), 99999);
    assert_null(sl_map_find(&map, 99999 - 64));
    sl_map_free(&map);
}

/* The map reaches its memory limit. It accepts keys while they fit, then refuses them, and stays
 * intact. */
static void a_full_map_refuses(void **state)
{
    struct sl_store store = {.cap_bytes = 256 * sizeof(struct sl_map_slot)};
    struct sl_map map;
    uint64_t key;

    sl_map_init(&map, &store);
    for (key = 1; sl_map_put(&map, key); key++)
        assert_true(key < 256);
    assert_int_equal(key, 256);
    assert_null(sl_map_find(&map, key));
    for (key = 1; key < 256; key++)
        assert_non_null(sl_map_find(&map, key));
    sl_map_drop(&map, 7);
    assert_non_null(sl_map_put(&map, 7777));
    sl_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_holds_for_all_together),
        cmocka_unit_test(what_grows_counts_its_growth),
        cmocka_unit_test(a_pool_gives_zeroed_objects_and_takes_them_back),
        cmocka_unit_test(an_object_larger_than_a_block_is_refused),
        cmocka_unit_test(the_map_is_an_array_with_holes),
        cmocka_unit_test(a_map_never_ages),
        cmocka_unit_test(a_full_map_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
