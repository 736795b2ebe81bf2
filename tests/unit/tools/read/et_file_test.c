/* et_file_test.c - reads nodes of files typed by hand, complete and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "read/et_file.h"
#include "unit/tools/et_bytes.h"

static struct sl_et *open_it(void)
{
    struct sl_et *et;
    char why[256];

    assert_int_equal(sl_et_open(&et, et_path, why, sizeof(why)), 0);
    return et;
}

/* Reads all nodes and returns their number. The end must be `end`. */
static unsigned read_all(enum sl_et_end end)
{
    struct sl_et *et = open_it();
    struct sl_et_node n;
    unsigned nodes = 0;

    while (sl_et_next(et, &n))
        nodes++;
    assert_int_equal(sl_et_state(et)->end, end);
    assert_int_equal(sl_et_next(et, &n), 0);
    sl_et_close(et);
    return nodes;
}

static void test_fields_of_a_node(void **state)
{
    struct sl_et_node n;
    struct sl_et *et;

    (void)state;
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x07") ET_NAME ET_COLL ET_CTRL("\x03")
                           ET_DEP("\x02") "\x30\x05"
                                          "\x38\x09" ET_CPU ET_TYPE("\x02") ET_SIZE ET_GROUP("4")));
    et = open_it();
    assert_string_equal(sl_et_state(et)->version, "0.0.4");
    assert_int_equal(sl_et_next(et, &n), 1);
    assert_int_equal(n.at, 8);
    assert_int_equal(n.id, 7);
    assert_int_equal(n.name.size, 1);
    assert_int_equal(n.type, SL_ET_COMM_COLL);
    assert_int_equal(n.deps, 2);
    assert_int_equal(n.dep[0], 3);
    assert_int_equal(n.dep[1], 2);
    assert_int_equal(n.start_us, 5);
    assert_int_equal(n.duration_us, 9);
    assert_int_equal(n.is_cpu, 1);
    assert_int_equal(n.comm_type, 2);
    assert_int_equal(n.has, SL_ET_HAS_IS_CPU | SL_ET_HAS_COMM_TYPE | SL_ET_HAS_COMM_SIZE);
    assert_memory_equal(n.pg_name.data, "4", 1);
    assert_int_equal(sl_et_next(et, &n), 0);
    assert_int_equal(sl_et_state(et)->end, SL_ET_WHOLE);
    sl_et_close(et);
}

static void test_without_metadata_the_first_message_is_a_node(void **state)
{
    struct sl_et *et;

    (void)state;
    ET_FILE(ET_MESSAGE(ET_ID("\x01") ET_NAME ET_COMP));
    et = open_it();
    assert_false(sl_et_state(et)->has_metadata);
    sl_et_close(et);
    assert_int_equal(read_all(SL_ET_WHOLE), 1);
}

/* The metadata has no version, as MLCommons' converter writes it. The nodes are read. */
static void test_metadata_without_a_version(void **state)
{
    struct sl_et_node n;
    struct sl_et *et;

    (void)state;
    ET_FILE(ET_MESSAGE("\x12\x0e\x0a\x06"
                       "schema"
                       "\xea\x01\x03"
                       "1.1"),
            ET_MESSAGE(ET_ID("\x01") ET_NAME ET_COMP));
    et = open_it();
    assert_true(sl_et_state(et)->has_metadata);
    assert_string_equal(sl_et_state(et)->version, "");
    assert_int_equal(sl_et_next(et, &n), 1);
    assert_int_equal(n.id, 1);
    sl_et_close(et);
    /* The metadata is empty. */
    ET_FILE(ET_MESSAGE(""), ET_MESSAGE(ET_ID("\x01") ET_NAME ET_COMP));
    assert_int_equal(read_all(SL_ET_WHOLE), 1);
    /* A node with id 0, which is omitted in the bytes. */
    ET_FILE(ET_MESSAGE(ET_NAME ET_COMP), ET_MESSAGE(ET_ID("\x01") ET_NAME ET_COMP));
    assert_int_equal(read_all(SL_ET_WHOLE), 2);
}

static void test_every_cut_is_noticed(void **state)
{
    static const char text[] = "\x07" ET_META "\x07" ET_ID("\x01") ET_NAME ET_COMP;

    (void)state;
    for (size_t size = 9; size < sizeof(text) - 1; size++) {
        et_write(text, size);
        assert_int_equal(read_all(SL_ET_CUT), 0);
    }
    et_write(text, 8);
    assert_int_equal(read_all(SL_ET_WHOLE), 0);
}

static void test_damage_ends_the_reading(void **state)
{
    (void)state;
    /* An attribute is longer than its node. */
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01")), ET_MESSAGE("\x52\x7f\x0a"));
    assert_int_equal(read_all(SL_ET_DAMAGED), 1);
    /* A wire type that protobuf does not have. */
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE("\x0f\x01"));
    assert_int_equal(read_all(SL_ET_DAMAGED), 0);
    /* A message of 2^34 bytes. */
    et_write("\x07" ET_META "\x80\x80\x80\x80\x40", 13);
    assert_int_equal(read_all(SL_ET_DAMAGED), 0);
}

static void test_what_looks_like_one(void **state)
{
    (void)state;
    assert_true(sl_et_looks_like("\x07" ET_META, 8));
    assert_true(sl_et_looks_like("\x50\x12\x1e\x0a\x06schema\xea\x01", 13));
    assert_false(sl_et_looks_like("\x50\x12\x1e\x0a\x06sch", 8));
    assert_false(sl_et_looks_like("\x50\x12\x1e\x0a", 4));
    assert_false(sl_et_looks_like("{\n  \"traceEvents\": []}", 22));
    assert_false(sl_et_looks_like("{\n\t1\n2345678901", 15));
    assert_false(sl_et_looks_like("\x07" ET_META, 5));
    assert_false(sl_et_looks_like("", 0));
}

static int clean_up(void **state)
{
    (void)state;
    return unlink(et_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_a_node),
        cmocka_unit_test(test_without_metadata_the_first_message_is_a_node),
        cmocka_unit_test(test_metadata_without_a_version),
        cmocka_unit_test(test_every_cut_is_noticed),
        cmocka_unit_test(test_damage_ends_the_reading),
        cmocka_unit_test(test_what_looks_like_one),
    };

    return cmocka_run_group_tests(tests, NULL, clean_up);
}
