/*
 * check_test.c - each case makes one problem in an otherwise good trace. The check finds exactly
 * this problem, and the documentation explains it. Each case in cases/ is a separate test
 * (cases/README.md describes the format).
 *
 * Threads: one. The test owns the memory of the check.
 */
#include "unit/cases.h"

#include "../text.h"
#include "check/check.h"
#include "unit/page.h"

enum {
    TRACE_ROOM = 16 << 20
};

#define HEADER                                                                                     \
    "{\"schemaVersion\":1,\"baseTimeNanoseconds\":1700000000000000000,\"distributedInfo\": {"      \
    "\"rank\": 3, \"world_size\": 8},\n\"traceEvents\":[\n"
#define OWN_END                                                                                    \
    "],\"syncline\":{\"version\":\"0.1.0\",\"opened_ns\":1700000000000003000,\"closed_ns\":"       \
    "1700000000001000000,\"counters\":{\"records\":2%s}},\"traceName\":\"t\"}"

/* Short words for rows. In the row, $1, $2 and so on are replaced by the words that follow the
 * short word. */
static const char *const rows[][2] = {
    {"process", "{'ph':'M','name':'process_name','pid':$1,'tid':0,'ts':0.000,"
                "'args':{'name':'python'}}"},
    {"call", "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':42,'tid':43,"
             "'ts':$2,'dur':2.000,'args':{'correlation':$1}}"},
    {"sync", "{'ph':'X','cat':'cuda_runtime','name':'cudaStreamSynchronize','pid':42,'tid':43,"
             "'ts':$2,'dur':$3,'args':{'correlation':$1}}"},
    {"record", "{'ph':'X','cat':'cuda_runtime','name':'cudaEventRecord','pid':42,'tid':43,"
               "'ts':$2,'dur':1.000,'args':{'correlation':$1}}"},
    {"kernel", "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':$2,'ts':$3,'dur':$4,"
               "'args':{'device':0,'context':1,'stream':$2,'correlation':$1}}"},
    {"node", "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':$2,'ts':$3,'dur':$4,"
             "'args':{'device':0,'context':1,'stream':$2,'correlation':5,'graph node id':$1}}"},
    {"wait", "{'ph':'X','cat':'cuda_sync','name':'Stream Wait Event','pid':0,'tid':7,"
             "'ts':$2,'dur':0.000,'args':{'stream':7,'correlation':90,"
             "'wait_on_cuda_event_record_corr_id':$1}}"},
    {"range", "{'ph':'X','cat':'user_annotation','name':'r','pid':42,'tid':43,'ts':$1,"
              "'dur':2.000}"},
    {"context_sync", "{'ph':'X','cat':'cuda_sync','name':'Context Sync','pid':0,'tid':7,"
                     "'ts':30.000,'dur':1.000,'args':{'stream':$1,'correlation':90}}"},
    {"flow", "{'ph':'$1','cat':'ac2g','name':'ac2g','id':$2,'pid':42,'tid':43,'ts':10.000}"},
    {"arrow", "{'ph':'$1','cat':'sync','name':'sync','id':$2,'pid':42,'tid':43,'ts':$3}"},
    {"edge", "{'ph':'M','name':'sync_edge','pid':42,'tid':43,'ts':0,'args':{$1,'src_stream':7,"
             "'src_device':0,'src_name':'k','dst_thread':43,'dst_name':'cudaStreamSynchronize'}}"},
};

static char trace[TRACE_ROOM];
static size_t trace_size;

static void add(const char *text, size_t size)
{
    assert_true(trace_size + size < TRACE_ROOM);
    memcpy(trace + trace_size, text, size);
    trace_size += size;
    trace[trace_size] = '\0';
}

/* Appends the row of this line to the trace. Single quotes become double quotes. */
static void add_row(char *line)
{
    char *word[8] = {NULL}, row[1024];
    const char *format = line;
    size_t at = 0;

    if (*line != '{') {
        size_t words = 0, i = 0;

        for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
            word[words++] = w;
        while (i < sizeof(rows) / sizeof(rows[0]) && strcmp(rows[i][0], word[0]) != 0)
            i++;
        if (i == sizeof(rows) / sizeof(rows[0]))
            fail_msg("no row is called %s", word[0]);
        format = rows[i][1];
    }
    for (; *format; format++) {
        if (*format == '$')
            at += (size_t)sprintf(row + at, "%s", word[*++format - '0']);
        else
            row[at++] = *format;
    }
    row[at] = '\0';
    for (char *quote = row; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    if (trace_size && trace[trace_size - 1] == '}')
        add(",\n", 2);
    add(row, strlen(row));
}

static void add_rows(const char *lines)
{
    char line[1024];

    while (next_line(&lines, line, sizeof(line)))
        add_row(line);
}

static const char good_rows[] = "process 42\nprocess 0\ncall 5 10.000\nflow s 5\nflow f 5\n"
                                "kernel 5 7 20.000 3.500\n";

static void make_trace(const char *given)
{
    char line[1024], end[512];
    const char *rest = given;

    trace_size = 0;
    assert_true(next_line(&rest, line, sizeof(line)));
    if (strcmp(line, "text") == 0) {
        add(rest, strlen(rest) - 1);
        return;
    }
    add(HEADER, strlen(HEADER));
    if (strncmp(line, "own", 3) == 0) {
        add_rows(good_rows);
        add_rows(rest);
        snprintf(end, sizeof(end), OWN_END, line + 3 + (line[3] == ' '));
        add(end, strlen(end));
        return;
    }
    add_rows(strcmp(line, "bare") == 0 ? "process 42\nprocess 0\n" : good_rows);
    add_rows(rest);
    add("]}", 2);
}

static struct sl_check *check(void)
{
    struct text_reader reader = text_reader(trace, 0);
    struct sl_input_status status;
    struct sl_trace_item *item;
    struct sl_check *c;
    struct sl_trace *t;

    assert_int_equal(sl_check_create(&c), 0);
    assert_int_equal(sl_trace_open_reader(&t, text_read, &reader), 0);
    while (sl_trace_next(t, &item))
        sl_check_item(c, t, item);
    sl_trace_get_status(t, &status);
    sl_check_end(c, &item->span, &status);
    sl_trace_close(t);
    return c;
}

/* Prints each problem that was found, its count, and an example. */
static void run(const char *given)
{
    struct sl_check *c;

    make_trace(given);
    c = check();
    for (int i = 0; i < SL_FIND_COUNT; i++)
        if (c->findings.of[i].count)
            say("%s %llu: %s\n", sl_finding_kind[i].name,
                (unsigned long long)c->findings.of[i].count, c->findings.of[i].example);
    say("%s\n",
        said_size ? sl_severity_name[sl_findings_worst(&c->findings, c->is_strict)] : "good");
    sl_check_destroy(c);
}

/* The row of a driver call follows some time after the rows of waits that refer to the call. This
 * trace has many of these waits. */
static void test_waits_long_before_their_records(void **state)
{
    enum {
        WAITS = 20000
    };
    char line[64];
    struct sl_check *c;

    make_trace("bare\n");
    trace_size -= 2; /* removes "]}", so that more events can be appended */
    add_rows(good_rows);
    for (int i = 0; i < 2 * WAITS; i++) {
        sprintf(line, i < WAITS ? "wait %d 50.000" : "record %d 40.000", 100 + 3 * (i % WAITS));
        add_row(line);
    }
    add("]}", 2);
    c = check();
    for (int i = 0; i < SL_FIND_COUNT; i++)
        assert_int_equal(c->findings.of[i].count, 0);
    assert_int_equal(c->tally.events, WAITS * 2 + 8);
    sl_check_destroy(c);
}

static void test_what_is_counted(void **state)
{
    struct sl_check *c;

    make_trace("own ,\"dropped_ring\":0\nkernel 5 9 24.000 1.000\n");
    c = check();
    assert_true(c->whole && c->header.own_file);
    assert_string_equal(c->header.version, "0.1.0");
    assert_true(c->header.rank == 3 && c->header.world_size == 8);
    assert_int_equal(c->tally.events, 7);
    assert_int_equal(c->tally.gpu_operations, 2);
    assert_true(c->tally.first_ns == 10000 && c->tally.last_ns == 25000);
    assert_int_equal(c->tally.categories, 4);
    assert_string_equal(c->tally.category[3].name, "kernel");
    assert_int_equal(c->tally.category[3].events, 2);
    assert_int_equal(c->tally.category[3].total_ns, 4500);
    assert_int_equal(c->header.counters, 2);
    sl_check_destroy(c);
    make_trace("text\n{\"generator\":\"syncline 0.1.0\",\"traceEvents\":[\n");
    c = check();
    assert_true(!c->whole && c->header.own_file);
    sl_check_destroy(c);
}

static void test_place_and_example_of_what_is_no_json(void **state)
{
    struct sl_check *c;

    /* the example must not contain control characters */
    make_trace("text\n{\"traceEvents\":[],\"\x1b[31m\":1}\n");
    c = check();
    assert_non_null(strstr(c->findings.of[SL_FIND_JSON_INVALID].example, "?[31m"));
    sl_check_destroy(c);
    make_trace("foreign\n{'ph':'X','dur':1.}\n");
    c = check();
    assert_int_equal(c->findings.of[SL_FIND_JSON_INVALID].at / 10,
                     (strstr(trace, "1.}") - trace) / 10);
    sl_check_destroy(c);
}

static void test_texts(void **state)
{
    char wanted[64];

    /* docs/chakra.md documents the rules from SL_ET_RULE_METADATA on. */
    for (int i = 0; i < SL_ET_RULE_METADATA; i++) {
        enum sl_finding_id id = (enum sl_finding_id)i;

        assert_non_null(sl_finding_kind[i].text);
        assert_true(sl_finding_severity(id, 1) >= sl_finding_severity(id, 0));
        snprintf(wanted, sizeof(wanted), "`%s`", sl_finding_kind[i].name);
        if (!strstr(page_read("trace-format.md"), wanted))
            fail_msg("docs/trace-format.md does not name %s", wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_long_before_their_records),
        cmocka_unit_test(test_what_is_counted),
        cmocka_unit_test(test_place_and_example_of_what_is_no_json),
        cmocka_unit_test(test_texts),
    };

    return run_cases(SYNCLINE_SOURCE_DIR "/tests/unit/tools/check/cases/*.txt", run, NULL, NULL) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
