/* et_check_test.c - each rule of a Chakra trace, broken by a file typed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/et_check.h"
#include "unit/tools/et_bytes.h"

#define FIRST ET_MESSAGE(ET_ID("\x01") ET_NAME ET_COMP ET_GPU)

static struct sl_et_check *checked;

static void check_file(void)
{
    struct sl_et_node n;
    struct sl_et *et;
    char why[256];

    sl_et_check_destroy(checked);
    assert_int_equal(sl_et_check_create(&checked), 0);
    assert_int_equal(sl_et_open(&et, et_path, why, sizeof(why)), 0);
    while (sl_et_next(et, &n))
        sl_et_check_node(checked, &n);
    sl_et_check_end(checked, et);
    sl_et_close(et);
}

/* The file breaks this rule, once, and no other; SL_ET_RULES: none. */
static void assert_breaks(enum sl_et_rule rule)
{
    check_file();
    for (int i = 0; i < SL_ET_RULES; i++)
        if (checked->found[i].count != (i == (int)rule))
            fail_msg("rule %s broken %llu times", sl_et_rule_name((enum sl_et_rule)i),
                     (unsigned long long)checked->found[i].count);
    assert_int_equal(sl_et_check_worst(checked),
                     rule < SL_ET_RULES ? sl_et_rule_severity(rule) : SL_SEVERITY_NOTE);
}

static void test_valid_file(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), FIRST, ET_MESSAGE(ET_ID("\x02") ET_COMP ET_CPU ET_DEP("\x01")),
            ET_MESSAGE(ET_ID("\x03") ET_COLL ET_GPU ET_TYPE("\x00") ET_SIZE ET_GROUP("1")));
    assert_breaks(SL_ET_RULES);
    assert_int_equal(checked->nodes, 3);
    assert_int_equal(checked->cpu_nodes, 1);
    assert_int_equal(checked->deps, 1);
    assert_int_equal(checked->of_type[SL_ET_COMP], 2);
}

static void test_frames(void **state)
{
    (void)state;
    ET_FILE(FIRST);
    assert_breaks(SL_ET_RULE_METADATA);
    ET_FILE(ET_MESSAGE(ET_META));
    assert_breaks(SL_ET_RULE_EMPTY);
    ET_FILE(ET_MESSAGE(ET_META), FIRST, ET_MESSAGE("\x52\x7f"));
    assert_breaks(SL_ET_RULE_DAMAGED);
}

static void test_ids(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), FIRST, FIRST);
    assert_breaks(SL_ET_RULE_ID_TWICE);
    ET_FILE(ET_MESSAGE(ET_META), FIRST, ET_MESSAGE(ET_ID("\x02") ET_COMP ET_GPU ET_DEP("\x09")));
    assert_breaks(SL_ET_RULE_DEP_MISSING);
    ET_FILE(ET_MESSAGE(ET_META), FIRST, ET_MESSAGE(ET_ID("\x02") ET_COMP ET_GPU ET_CTRL("\x09")));
    assert_breaks(SL_ET_RULE_DEP_MISSING);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x02") ET_COMP ET_GPU ET_DEP("\x01")), FIRST);
    assert_breaks(SL_ET_RULE_DEP_LATER);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x02") ET_COMP ET_GPU ET_DEP("\x02")));
    assert_breaks(SL_ET_RULE_DEP_SELF);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x80\x80\x80\x80\x10") ET_COMP ET_GPU));
    assert_breaks(SL_ET_RULE_NOT_CHECKED);
}

#define NODE(id, more) ET_MESSAGE(ET_ID(id) ET_COMP ET_GPU more)

/* 3 and 4 need each other, 5 needs 4; nothing is wrong with 2, which stands before what it needs.
 */
static void test_cycles(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x02", ET_DEP("\x01")), NODE("\x01", ""),
            NODE("\x03", ET_DEP("\x01") ET_DEP("\x04")),
            NODE("\x04", ET_DEP("\x03") ET_DEP("\x02")), NODE("\x05", ET_DEP("\x04")));
    check_file();
    assert_int_equal(checked->found[SL_ET_RULE_CYCLE].count, 3);
    assert_string_equal(checked->found[SL_ET_RULE_CYCLE].example, "node 3");
    assert_int_equal(checked->found[SL_ET_RULE_DEP_LATER].count, 2);
    assert_int_equal(sl_et_check_worst(checked), SL_SEVERITY_ERROR);
    /* All parents behind their children, and one that is not there: no cycle. */
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x05", ET_DEP("\x04") ET_DEP("\x03") ET_DEP("\x04")),
            NODE("\x04", ET_DEP("\x03") ET_DEP("\x09")), NODE("\x03", ET_DEP("\x02")),
            NODE("\x02", ET_CTRL("\x01")), NODE("\x01", ""));
    check_file();
    assert_int_equal(checked->found[SL_ET_RULE_CYCLE].count, 0);
    assert_int_equal(checked->found[SL_ET_RULE_DEP_MISSING].count, 1);
}

static void test_nodes(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") "\x18\x01" ET_GPU));
    assert_breaks(SL_ET_RULE_TYPE);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU "\x12\x01\xff"));
    assert_breaks(SL_ET_RULE_NAME);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP));
    assert_breaks(SL_ET_RULE_NO_IS_CPU);
}

#define NO_LAUNCH                                                                                  \
    "\x52\x0e\x0a\x09"                                                                             \
    "no_launch\xd8\x01\x01"

static void test_operation_without_its_call(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU NO_LAUNCH));
    assert_breaks(SL_ET_RULE_NO_LAUNCH);
    assert_int_equal(sl_et_check_worst(checked), SL_SEVERITY_WARNING);
}

#define BYTES(value)                                                                               \
    "\x52\x0f\x0a\x0b"                                                                             \
    "tensor_size" value

/* Feeders take a value from one member of the oneof, and nothing from another. */
static void test_types_of_attributes(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU BYTES("\x68\x08")));
    check_file();
    assert_int_equal(checked->found[SL_ET_RULE_MEMBER].count, 0);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU BYTES("\x48\x08")));
    assert_breaks(SL_ET_RULE_MEMBER);
}

#define MICROS(value) "\x38" value
#define NANOS(value)                                                                               \
    "\x52\x18\x0a\x0b"                                                                             \
    "duration_ns\x48" value

/* A negative int64 takes ten bytes; duration_micros has no sign. */
static void test_durations(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU NANOS(
                                     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    assert_breaks(SL_ET_RULE_DURATION);
    assert_int_equal(checked->gpu_ns, 0);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_CPU MICROS(
                                     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    assert_breaks(SL_ET_RULE_DURATION);
    /* 2^63 ns, to the microsecond: the shortest that is too long, and the longest that is not. */
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU MICROS("\xf8\xa7\x8d\xaf\xba\x93\xb1\x10")));
    assert_breaks(SL_ET_RULE_DURATION);
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x01") ET_COMP ET_GPU MICROS("\xf7\xa7\x8d\xaf\xba\x93\xb1\x10")));
    assert_breaks(SL_ET_RULES);
}

static void test_communication(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COLL ET_CPU ET_TYPE("\x00") ET_SIZE));
    assert_breaks(SL_ET_RULE_COMM_ON_CPU);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x00")));
    assert_breaks(SL_ET_RULE_COMM_FIELDS);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") "\x18\x05" ET_GPU ET_SIZE));
    assert_breaks(SL_ET_RULE_COMM_FIELDS);
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x09") ET_SIZE));
    assert_breaks(SL_ET_RULE_COMM_TYPE);
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x00") ET_SIZE ET_GROUP("x")));
    assert_breaks(SL_ET_RULE_GROUP);
}

/* Of ten and more digits. */
#define LONG_GROUP(size, length, digits)                                                           \
    ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x00") ET_SIZE "\x52" size "\x0a\x07"         \
                                                                    "pg_name"                      \
                                                                    "\xea\x01" length digits)

/* ASTRA-sim reads it as an int. */
static void test_groups_fit_an_int(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), LONG_GROUP("\x16", "\x0a", "2147483647"));
    assert_breaks(SL_ET_RULES);
    ET_FILE(ET_MESSAGE(ET_META), LONG_GROUP("\x16", "\x0a", "0000000012"));
    assert_breaks(SL_ET_RULES);
    ET_FILE(ET_MESSAGE(ET_META), LONG_GROUP("\x16", "\x0a", "2147483648"));
    assert_breaks(SL_ET_RULE_GROUP);
    ET_FILE(ET_MESSAGE(ET_META), LONG_GROUP("\x17", "\x0b", "99999999999"));
    assert_breaks(SL_ET_RULE_GROUP);
    ET_FILE(ET_MESSAGE(ET_META), LONG_GROUP("\x21", "\x15", "184467440737095516160"));
    assert_breaks(SL_ET_RULE_GROUP);
}

#define PEER(name, size, value) "\x52" size "\x0a\x08" name "\x38" value
#define TAG                     PEER("comm_tag", "\x0c", "\x00")
#define SEND                    "\x18\x05"
#define RECV                    "\x18\x06"

/* -1 as an int32 stands in ten bytes; readers take the lower half of what is longer. */
static void test_peers(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x01") SEND ET_GPU ET_SIZE TAG PEER("comm_dst", "\x0c", "\x03")
                           PEER("comm_src", "\x10", "\xff\xff\xff\xff\x0f")),
            ET_MESSAGE(ET_ID("\x02") RECV ET_GPU ET_SIZE TAG PEER("comm_src", "\x0c", "\x00")));
    assert_breaks(SL_ET_RULES);
    ET_FILE(ET_MESSAGE(ET_META),
            ET_MESSAGE(ET_ID("\x01") SEND ET_GPU ET_SIZE TAG PEER(
                "comm_dst", "\x15", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    assert_breaks(SL_ET_RULE_COMM_PEER);
    assert_string_equal(checked->found[SL_ET_RULE_COMM_PEER].example, "node 1: rank -1");
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") RECV ET_GPU ET_SIZE TAG PEER(
                                     "comm_src", "\x10", "\xff\xff\xff\xff\x0f")));
    assert_breaks(SL_ET_RULE_COMM_PEER);
}

/* -1 as an int64 stands in ten bytes. */
static void test_size_below_0(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x00") ET_GROUP(
                                     "1") "\x52\x16\x0a\x09"
                                          "comm_size"
                                          "\x48"
                                          "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_breaks(SL_ET_RULE_COMM_SIZE);
    assert_string_equal(checked->found[SL_ET_RULE_COMM_SIZE].example, "node 1: -1");
}

static void test_attribute_twice(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), ET_MESSAGE(ET_ID("\x01") ET_COMP ET_CPU ET_GPU));
    assert_breaks(SL_ET_RULE_TWICE);
    assert_string_equal(checked->found[SL_ET_RULE_TWICE].example, "is_cpu_op of node 1");
}

static int clean_up(void **state)
{
    (void)state;
    sl_et_check_destroy(checked);
    return unlink(et_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_file),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_size_below_0),
        cmocka_unit_test(test_attribute_twice),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_types_of_attributes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_communication),
        cmocka_unit_test(test_groups_fit_an_int),
        cmocka_unit_test(test_operation_without_its_call),
    };

    return cmocka_run_group_tests(tests, NULL, clean_up);
}
