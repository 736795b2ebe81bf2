/* et_check_test.c - each rule of a Chakra trace is broken by a file typed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/et_check.h"
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

/* Checks that the file breaks exactly this rule, once; SL_ET_RULES means none. */
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
}

#define NODE(id, more) ET_MESSAGE(ET_ID(id) ET_COMP ET_GPU more)

/* The ids 2^40 + 5, 2^31 and 2^64 - 1. */
#define LARGE        "\x85\x80\x80\x80\x80\x20"
#define TWO_31       "\x80\x80\x80\x80\x08"
#define LAST         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
#define LARGE_DEP    "\x2a\x06" LARGE
#define LAST_DEP     "\x2a\x0a" LAST
#define LARGE_NUMBER "1099511627781"
#define LAST_NUMBER  "18446744073709551615"

static void test_large_ids(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x01", ""), NODE(LARGE, ET_DEP("\x01")),
            NODE(LAST, LARGE_DEP), NODE("\x02", LAST_DEP LARGE_DEP));
    assert_breaks(SL_ET_RULES);
    ET_FILE(ET_MESSAGE(ET_META), NODE(LARGE, ""), NODE(LAST, ""), NODE(LARGE, ""));
    assert_breaks(SL_ET_RULE_ID_TWICE);
    assert_string_equal(checked->found[SL_ET_RULE_ID_TWICE].example, "node " LARGE_NUMBER);
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x01", "\x2a\x05" TWO_31));
    assert_breaks(SL_ET_RULE_DEP_MISSING);
    assert_string_equal(checked->found[SL_ET_RULE_DEP_MISSING].example, "id 2147483648");
    ET_FILE(ET_MESSAGE(ET_META), NODE(LARGE, LAST_DEP));
    assert_breaks(SL_ET_RULE_DEP_MISSING);
    assert_string_equal(checked->found[SL_ET_RULE_DEP_MISSING].example, "id " LAST_NUMBER);
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x01", LAST_DEP), NODE(LAST, ""));
    assert_breaks(SL_ET_RULE_DEP_LATER);
    assert_string_equal(checked->found[SL_ET_RULE_DEP_LATER].example, "node " LAST_NUMBER);
    ET_FILE(ET_MESSAGE(ET_META), NODE(LAST, LAST_DEP));
    assert_breaks(SL_ET_RULE_DEP_SELF);
}

static void test_cycle_of_large_ids(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META), NODE("\x01", ""), NODE(LARGE, LAST_DEP ET_DEP("\x01")),
            NODE(LAST, LARGE_DEP));
    check_file();
    assert_int_equal(checked->found[SL_ET_RULE_CYCLE].count, 2);
    assert_string_equal(checked->found[SL_ET_RULE_CYCLE].example, "node " LARGE_NUMBER);
}

/* There are more large ids than the check can distinguish. It cannot know whether the file is
 * valid, and reports an error. */
static void test_more_large_ids_than_can_be_told_apart(void **state)
{
    struct sl_et_node n = {.type = SL_ET_COMP, .has = SL_ET_HAS_IS_CPU};
    uint64_t i;

    (void)state;
    sl_et_check_destroy(checked);
    assert_int_equal(sl_et_check_create(&checked), 0);
    for (i = 0; i < 1 << 22; i++) {
        n.id = (1ull << 32) + i;
        sl_et_check_node(checked, &n);
    }
    assert_int_equal(checked->found[SL_ET_RULE_NOT_CHECKED].count, 0);
    n.id = UINT64_MAX;
    sl_et_check_node(checked, &n);
    assert_int_equal(checked->found[SL_ET_RULE_NOT_CHECKED].count, 1);
    assert_int_equal(sl_et_check_worst(checked), SL_SEVERITY_ERROR);
    n.id = 1ull << 32; /* ids that already have a place keep it */
    sl_et_check_node(checked, &n);
    assert_int_equal(checked->found[SL_ET_RULE_ID_TWICE].count, 1);
}

/* Nodes 3 and 4 depend on each other, and 5 depends on 4. Node 2 is correct, although it precedes
 * its dependency. */
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
    /* All parents follow their children, and one is missing. There is no cycle. */
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

/* Checks that protobuf readers refuse a text of a node with `more` after its type, and which text
 * the check names. */
static void assert_refused(const char *more, size_t size, const char *example)
{
    static const char node[] = ET_ID("\x01") ET_COMP ET_GPU;
    char text[128];

    memcpy(text, node, sizeof(node) - 1);
    memcpy(text + sizeof(node) - 1, more, size);
    et_write_messages((struct et_message[]){ET_MESSAGE(ET_META), {text, sizeof(node) - 1 + size}},
                      2);
    assert_breaks(example ? SL_ET_RULE_TEXT : SL_ET_RULES);
    if (example)
        assert_string_equal(checked->found[SL_ET_RULE_TEXT].example, example);
}

#define REFUSED(more, example) assert_refused(more, sizeof(more) - 1, example)

/* A string in the schema must be UTF-8. Bytes may be anything. */
static void test_texts(void **state)
{
    (void)state;
    REFUSED("\x52\x04\x0a\x02"
            "a\xff",
            "attribute a? of node 1");
    REFUSED("\x52\x08\x0a\x02"
            "ab\xea\x01\x01\xff",
            "attribute ab of node 1");
    REFUSED("\x52\x08\xea\x01\x01\xff\x0a\x02"
            "ab",
            "attribute ab of node 1");
    REFUSED("\x52\x06\x0a\x01\x1b\x12\x01\xff", "attribute ? of node 1"); /* doc_string */
    REFUSED("\x52\x0d\x0a\x02"
            "ab\xf2\x01\x06\x0a\x01"
            "x\x0a\x01\xff",
            "attribute ab of node 1"); /* the second text of a list is refused */
    REFUSED("\x52\x0f\x0a\x09"
            "is_cpu_ox\x12\x02\xc3\xa9",
            NULL);
    REFUSED("\x52\x08\x0a\x02"
            "ab\xfa\x01\x01\xff",
            NULL); /* bytes, and a list of bytes */
    REFUSED("\x52\x0a\x0a\x02"
            "ab\x82\x02\x03\x0a\x01\xff",
            NULL);
    REFUSED("\x42\x03\x0a\x01\xff", "inputs of node 1");
    REFUSED("\x42\x06\x0a\x01"
            "x\x12\x01\xff",
            "inputs of node 1");
    REFUSED("\x4a\x03\x1a\x01\xff", "outputs of node 1");
    REFUSED("\x4a\x04\x1a\x02\xc3\xa9", NULL);
    /* If two texts are refused, the first is named. */
    REFUSED("\x4a\x03\x1a\x01\xff\x52\x04\x0a\x02"
            "a\xff",
            "outputs of node 1");
}

/* Texts of the metadata are read long before they are reported. */
static void test_texts_of_the_metadata(void **state)
{
    (void)state;
    ET_FILE(ET_MESSAGE(ET_META "\x12\x08\x0a\x02"
                               "ab\xea\x01\x01\xff"),
            FIRST);
    assert_breaks(SL_ET_RULE_TEXT);
    assert_string_equal(checked->found[SL_ET_RULE_TEXT].example, "attribute ab of GlobalMetadata");
    ET_FILE(ET_MESSAGE(ET_META "\x0a\x01\xff"), FIRST);
    assert_breaks(SL_ET_RULE_TEXT);
    assert_string_equal(checked->found[SL_ET_RULE_TEXT].example, "version of GlobalMetadata");
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

/* Trace feeders read a value from one member of the oneof only. */
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

/* A negative int64 has ten bytes. duration_micros has no sign. */
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
    /* 2^63 ns in microseconds: the shortest duration that is too long, and the longest valid
     * one. */
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

/* Groups with ten and more digits. */
#define LONG_GROUP(size, length, digits)                                                           \
    ET_MESSAGE(ET_ID("\x01") ET_COLL ET_GPU ET_TYPE("\x00") ET_SIZE "\x52" size "\x0a\x07"         \
                                                                    "pg_name"                      \
                                                                    "\xea\x01" length digits)

/* ASTRA-sim reads a group's name as an int. */
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

/* -1 as an int32 has ten bytes. Readers use the lower half of longer values. */
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

/* -1 as an int64 has ten bytes. */
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
        cmocka_unit_test(test_large_ids),
        cmocka_unit_test(test_cycle_of_large_ids),
        cmocka_unit_test(test_more_large_ids_than_can_be_told_apart),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_texts_of_the_metadata),
        cmocka_unit_test(test_types_of_attributes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_communication),
        cmocka_unit_test(test_groups_fit_an_int),
        cmocka_unit_test(test_operation_without_its_call),
    };

    return cmocka_run_group_tests(tests, NULL, clean_up);
}
