/*
 * et_check_test.c - checks Chakra files. The output is their nodes and the rules that they break.
 * Each case in et_cases/ is a separate test (et_cases/README.md describes the format).
 */
#include "unit/cases.h"

#include <unistd.h>

#include "check/et_check.h"

/* ---- messages, by the field numbers of Chakra's schema ---- */

struct bytes {
    char data[4096];
    size_t size;
};

static const char *const words[][2] = {
    {"META", "1='0.0.4'"},
    {"COMP", "3=4"},
    {"SEND", "3=5"},
    {"RECV", "3=6"},
    {"COLL", "3=7"},
    {"GPU", "10(1='is_cpu_op' 27=0)"},
    {"CPU", "10(1='is_cpu_op' 27=1)"},
    {"SIZE", "10(1='comm_size' 9=8)"},
    {"ALL_REDUCE", "10(1='comm_type' 9=0)"},
    {"TAG", "10(1='comm_tag' 7=0)"},
};

static void put_varint(struct bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->size++] = (char)(value | 0x80);
    b->data[b->size++] = (char)value;
}

static void put_bytes(struct bytes *b, const struct bytes *more)
{
    put_varint(b, more->size);
    memcpy(b->data + b->size, more->data, more->size);
    b->size += more->size;
}

/* Appends the bytes of `at` up to a quote or a blank. \xHH is one byte. */
static const char *put_text(struct bytes *b, const char *at)
{
    while (*at && *at != '\'' && *at != ' ') {
        char hex[3] = {at[0], 0, 0};

        if (*at == '\\') {
            memcpy(hex, at + 2, 2);
            hex[0] = (char)strtoul(hex, NULL, 16);
            at += 3;
        }
        b->data[b->size++] = hex[0];
        at++;
    }
    return at;
}

/* Appends the fields of `at` up to the end of the line or a closing bracket. */
static const char *put_message(struct bytes *b, const char *at)
{
    while (*at && *at != ')') {
        struct bytes inner = {.size = 0};
        char *behind;
        uint64_t field = strtoull(at, &behind, 10);

        if (*at == ' ') {
            at++;
            continue;
        }
        if (*at == '\\') {
            at = put_text(b, at);
            continue;
        }
        if (behind == at) {
            size_t length = strcspn(at, " )"), i = 0;

            while (strlen(words[i][0]) != length || strncmp(words[i][0], at, length) != 0)
                if (++i == sizeof(words) / sizeof(words[0]))
                    fail_msg("no word: %s", at);
            put_message(b, words[i][1]);
            at += length;
            continue;
        }
        at = behind + 1;
        if (*behind == '=' && *at != '\'') {
            put_varint(b, field << 3);
            put_varint(b, strtoull(at, (char **)&at, 0));
            continue;
        }
        if (*behind == '[') /* packed numbers */
            for (; *at != ']'; at += *at == ' ')
                put_varint(&inner, strtoull(at, (char **)&at, 0));
        else
            at = *behind == '(' ? put_message(&inner, at) : put_text(&inner, at + 1);
        at++;
        put_varint(b, field << 3 | 2);
        put_bytes(b, &inner);
    }
    return at;
}

static char path[] = "/tmp/et_check_XXXXXX";

static void write_file(const void *data, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* ---- the result as text ---- */

static struct sl_et *open_file(void)
{
    struct sl_et *et;
    char why[256];

    assert_int_equal(sl_et_open(&et, path, why, sizeof(why)), 0);
    return et;
}

static void say_number(const char *name, uint64_t number)
{
    if (number)
        say(" %s %llu", name, (unsigned long long)number);
}

static void say_node(const struct sl_et_node *n)
{
    say("at %llu: %llu", (unsigned long long)n->at, (unsigned long long)n->id);
    say(" %s%s", sl_et_type_name[n->type], n->is_cpu ? " cpu" : "");
    for (size_t i = 0; i < n->name.size; i++)
        say("%s%c", i ? "" : " ", n->name.data[i] < ' ' ? '?' : n->name.data[i]);
    for (size_t i = 0; i < n->deps; i++)
        say("%s%llu", i ? ", " : " <- ", (unsigned long long)n->dep[i]);
    say_number("start_us", n->start_us);
    say_number("duration_us", n->duration_us);
    say_number("comm_type", n->comm_type);
    say_number("comm_size", n->comm_size);
    if (n->pg_name.size)
        say(" group '%.*s'", (int)n->pg_name.size, n->pg_name.data);
    say("\n");
}

static void run(const char *given)
{
    static const char *const ends[] = {"open", "whole", "cut", "damaged"};
    struct bytes file = {.size = 0};
    struct sl_et_check *c;
    struct sl_et_node n;
    struct sl_et *et;
    char line[1024];

    while (next_line(&given, line, sizeof(line))) {
        struct bytes message = {.size = 0};

        if (strncmp(line, "bytes ", 6) == 0) {
            put_text(&file, line + 6);
            continue;
        }
        put_message(&message, strcmp(line, "nothing") == 0 ? "" : line);
        put_bytes(&file, &message);
    }
    write_file(file.data, file.size);
    et = open_file();
    assert_int_equal(sl_et_check_create(&c), 0);
    if (!et->state.has_metadata || strcmp(et->state.version, "0.0.4") != 0)
        say("%s\n", et->state.has_metadata ? "no version" : "no metadata");
    while (sl_et_next(et, &n)) {
        say_node(&n);
        sl_et_check_node(c, &n);
    }
    assert_int_equal(sl_et_next(et, &n), 0);
    if (et->state.end != SL_ET_WHOLE)
        say("%s\n", ends[et->state.end]);
    sl_et_check_end(c, et);
    for (int i = 0; i < SL_FIND_COUNT; i++)
        if (c->findings.of[i].count)
            say("%s %llu: %s\n", sl_finding_kind[i].name,
                (unsigned long long)c->findings.of[i].count, c->findings.of[i].example);
    say("%s:", sl_severity_name[sl_findings_worst(&c->findings, 1)]);
    say_number("nodes", c->nodes);
    say_number("cpu_nodes", c->cpu_nodes);
    say_number("deps", c->deps);
    say_number("cpu_ns", c->cpu_ns);
    say_number("gpu_ns", c->gpu_ns);
    say("\n");
    sl_et_check_destroy(c);
    sl_et_close(et);
}

/* There are too many large ids to check all of them. It is unknown whether the file is valid, so
 * the check does not report it as valid. */
static void test_more_large_ids_than_can_be_told_apart(void **state)
{
    struct sl_et_node n = {.type = SL_ET_COMP, .has = SL_ET_HAS_IS_CPU};
    struct sl_et_check *c;
    uint64_t i;

    assert_int_equal(sl_et_check_create(&c), 0);
    for (i = 0; i < 1 << 22; i++) {
        n.id = (1ull << 32) + i;
        sl_et_check_node(c, &n);
    }
    assert_int_equal(c->findings.of[SL_ET_RULE_NOT_CHECKED].count, 0);
    n.id = UINT64_MAX;
    sl_et_check_node(c, &n);
    assert_int_equal(c->findings.of[SL_ET_RULE_NOT_CHECKED].count, 1);
    assert_int_equal(sl_findings_worst(&c->findings, 1), SL_SEVERITY_ERROR);
    n.id = 1ull << 32; /* ids that are already in the table are still checked */
    sl_et_check_node(c, &n);
    assert_int_equal(c->findings.of[SL_ET_RULE_ID_TWICE].count, 1);
    sl_et_check_destroy(c);
}

static void test_every_cut_is_noticed(void **state)
{
    static const char text[] = "\x07\x0a\x05"
                               "0.0.4"
                               "\x07\x08\x01\x12\x01"
                               "k"
                               "\x18\x04";

    for (size_t size = 8; size < sizeof(text) - 1; size++) {
        struct sl_et_node n;
        struct sl_et *et;

        write_file(text, size);
        et = open_file();
        assert_int_equal(sl_et_next(et, &n), 0);
        assert_int_equal(et->state.end, size == 8 ? SL_ET_WHOLE : SL_ET_CUT);
        sl_et_close(et);
    }
}

static void test_what_looks_like_one(void **state)
{
    assert_true(sl_et_looks_like("\x07\x0a\x05"
                                 "0.0.4",
                                 8));
    assert_true(sl_et_looks_like("\x50\x12\x1e\x0a\x06schema\xea\x01", 13));
    assert_false(sl_et_looks_like("\x50\x12\x1e\x0a\x06sch", 8));
    assert_false(sl_et_looks_like("\x50\x12\x1e\x0a", 4));
    assert_false(sl_et_looks_like("{\n  \"traceEvents\": []}", 22));
    assert_false(sl_et_looks_like("{\n\t1\n2345678901", 15));
    assert_false(sl_et_looks_like("\x07\x0a\x05"
                                  "0.0.4",
                                  5));
    assert_false(sl_et_looks_like("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_large_ids_than_can_be_told_apart),
        cmocka_unit_test(test_every_cut_is_noticed),
        cmocka_unit_test(test_what_looks_like_one),
    };
    int failed, fd = mkstemp(path);

    if (fd < 0)
        return 1;
    close(fd);
    failed =
        run_cases(SYNCLINE_SOURCE_DIR "/tests/unit/tools/check/et_cases/*.txt", run, NULL, NULL) +
        cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
