/* shape_test.c - the table of shapes (the members that many events have in common). Equal shapes
 * share an id, entries never move, and the memory limit is respected. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "event/event.h"
#include "event/shape.h"

static struct sl_shape kernel(uint32_t name, uint32_t grid)
{
    struct sl_shape s;

    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_KERNEL;
    s.name = name;
    s.grid[0] = grid;
    s.dst_context = name ^ grid; /* the last bytes of the struct are compared, too */
    return s;
}

static void equal_shapes_share_an_id(void **state)
{
    struct sl_shape a = kernel(1, 2), b = kernel(1, 2), c = kernel(1, 2);
    struct sl_shape_table *t;

    c.dst_context++;
    assert_int_equal(sl_shape_create(&t, 1 << 20), 0);
    assert_int_equal(sl_shape_put(t, &a), 1);
    assert_int_equal(sl_shape_put(t, &b), 1);
    assert_int_equal(sl_shape_put(t, &c), 2);
    assert_int_equal(sl_shape_count(t), 2);
    assert_memory_equal(sl_shape_get(t, 2), &c, sizeof(c));
    assert_null(sl_shape_get(t, 0));
    assert_null(sl_shape_get(t, 3));
    sl_shape_destroy(t);
    sl_shape_destroy(NULL);
}

static void a_full_table_gives_zero_and_keeps_what_it_has(void **state)
{
    struct sl_shape_table *t;
    struct sl_shape s;
    uint32_t n = 0, i;

    assert_int_equal(sl_shape_create(&t, 64 * 1024), 0);
    while (s = kernel(n, n * 7), sl_shape_put(t, &s) != 0)
        n++;
    assert_true(n > 64 && n * sizeof(s) <= 64 * 1024);
    for (i = 0; i < n; i++) {
        s = kernel(i, i * 7);
        assert_int_equal(sl_shape_put(t, &s), i + 1);
        assert_memory_equal(sl_shape_get(t, i + 1), &s, sizeof(s));
    }
    sl_shape_destroy(t);
}

struct reader {
    struct sl_shape_table *table;
    _Atomic int stop;
    int wrong;
};

static void *read_all_the_time(void *user)
{
    struct reader *r = user;

    while (!atomic_load(&r->stop)) {
        uint32_t id = sl_shape_count(r->table);
        const struct sl_shape *s = sl_shape_get(r->table, id);

        if (id && (!s || s->name != id || s->grid[0] != id * 3))
            r->wrong++;
    }
    return NULL;
}

static void readers_see_whole_entries(void **state)
{
    struct reader r = {0};
    pthread_t thread;
    uint32_t i;

    assert_int_equal(sl_shape_create(&r.table, 8 << 20), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all_the_time, &r), 0);
    for (i = 1; i <= 20000; i++) {
        struct sl_shape s = kernel(i, i * 3);

        assert_int_equal(sl_shape_put(r.table, &s), i);
    }
    atomic_store(&r.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(r.wrong, 0);
    sl_shape_destroy(r.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_shapes_share_an_id),
        cmocka_unit_test(a_full_table_gives_zero_and_keeps_what_it_has),
        cmocka_unit_test(readers_see_whole_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
