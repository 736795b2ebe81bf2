/* schema_test.c - finds a schema by its id, in its domain or in all domains. If several schemas
 * have one id, the first is used. */
#include "test.h"

#include "base/stats.h"
#include "collect/nvtx/schema.h"

/* NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, the first id that syncline assigns. Smaller ids are chosen
 * by the application and are valid in one domain. */
#define MADE (1ull << 32)

static void number_field(void *first, struct sl_nvtx_field *field, size_t i)
{
    *field = (struct sl_nvtx_field){.type = 7, .name = *(const uint32_t *)first + (uint32_t)i};
}

static uint64_t add(unsigned domain, uint64_t id, uint32_t fields, uint32_t first)
{
    const struct sl_nvtx_schema s = {.id = id, .domain = domain, .fields = fields};

    return sl_nvtx_schema_add(&s, number_field, &first);
}

static uint32_t first_name(unsigned domain, uint64_t id)
{
    const struct sl_nvtx_schema *s = sl_nvtx_schema_find(domain, id);

    return s ? sl_nvtx_schema_field(s, 0)->name : 0;
}

static void a_given_id_is_its_domain_s(void **state)
{
    assert_int_equal(add(1, 5, 3, 100), 5);
    assert_int_equal(add(2, 5, 3, 200), 5);
    assert_int_equal(first_name(1, 5), 100);
    assert_int_equal(first_name(2, 5), 200);
    assert_null(sl_nvtx_schema_find(3, 5));
    assert_int_equal(sl_nvtx_schema_field(sl_nvtx_schema_find(2, 5), 2)->name, 202);
    /* The program registers a schema again. The first version stays, because another thread may be
     * reading a payload with it. */
    assert_int_equal(add(1, 5, 1, 900), 5);
    assert_int_equal(first_name(1, 5), 100);
    assert_int_equal(sl_nvtx_schema_find(1, 5)->fields, 3);
}

static void a_made_id_is_good_in_every_domain(void **state)
{
    uint64_t id = add(1, 0, 1, 300), other = add(1, 0, 1, 400);

    assert_true(id >= MADE && other >= MADE && id != other);
    assert_int_equal(first_name(9, id), 300);
    assert_int_equal(first_name(1, other), 400);
}

static void what_has_no_room_is_counted(void **state)
{
    uint64_t lost = sl_stats_get(SL_STAT_NAMES_LOST), id = 10000;

    assert_int_equal(add(1, 20000, 1u << 20, 1), 0); /* more fields than fit into the table */
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST), lost + 1);
    while (add(4, id, 1, (uint32_t)id))
        id++;
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST), lost + 2);
    for (uint64_t i = 10000; i < id; i++)
        assert_int_equal(first_name(4, i), i);
    assert_null(sl_nvtx_schema_find(4, id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_given_id_is_its_domain_s),
        cmocka_unit_test(a_made_id_is_good_in_every_domain),
        cmocka_unit_test(what_has_no_room_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
