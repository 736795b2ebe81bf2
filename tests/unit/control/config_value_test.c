/* config_value_test.c - parses sizes, durations and other values, valid and invalid. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "control/config_value.h"

static uint64_t size_of(const char *text)
{
    uint64_t bytes = 42;

    return sl_config_value_size(text, strlen(text), &bytes) ? UINT64_MAX : bytes;
}

static uint64_t duration_of(const char *text)
{
    uint64_t ns = 42;

    return sl_config_value_duration(text, strlen(text), &ns) ? UINT64_MAX : ns;
}

static void sizes(void **state)
{
    static const char *const wrong[] = {"",     "MiB", "-1",  "64 MiB",       "64MX",
                                        "1..5", "1e6", "+64", "1.0000000001K"};

    assert_int_equal(size_of("0"), 0);
    assert_int_equal(size_of("100000"), 100000);
    assert_int_equal(size_of("64MiB"), 64 << 20);
    assert_int_equal(size_of("64m"), 64 << 20);
    assert_int_equal(size_of("64MB"), 64000000);
    assert_int_equal(size_of("1.5K"), 1536);
    assert_int_equal(size_of("3GiB"), 3ull << 30);
    assert_int_equal(size_of("12B"), 12);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_true(size_of(wrong[i]) == UINT64_MAX);
    assert_true(size_of("99999999999999999999") == UINT64_MAX);
    assert_true(size_of("17179869184GiB") == UINT64_MAX); /* 2^64 */
}

static void durations(void **state)
{
    assert_int_equal(duration_of("2s"), 2000000000);
    assert_int_equal(duration_of("2"), 2000000000);
    assert_int_equal(duration_of("0.25"), 250000000);
    assert_int_equal(duration_of("250ms"), 250000000);
    assert_int_equal(duration_of("10us"), 10000);
    assert_int_equal(duration_of("7ns"), 7);
    assert_int_equal(duration_of("1.5h"), 5400000000000);
    assert_int_equal(duration_of("2min"), 120000000000);
    assert_true(duration_of("2m") == UINT64_MAX); /* ambiguous: minutes or milliseconds */
    assert_true(duration_of("s") == UINT64_MAX);
    assert_true(duration_of("999999999999h") == UINT64_MAX);
}

static const struct sl_option *option(const char *name)
{
    const struct sl_option *o = sl_config_table;

    while (strcmp(o->name, name))
        o++;
    return o;
}

static void compression(void **state)
{
    const struct sl_option *o = option("SYNCLINE_COMPRESSION");
    struct sl_config c = {.level = 77};

    assert_int_equal(sl_config_value_read(o, "zstd:-5", &c), 0);
    assert_int_equal(c.compression, SL_COMPRESS_ZSTD);
    assert_int_equal(c.level, -5);
    assert_int_equal(sl_config_value_read(o, "gzip", &c), 0);
    assert_int_equal(c.compression, SL_COMPRESS_GZIP);
    assert_int_equal(c.level, 1);
    assert_int_equal(sl_config_value_read(o, "zstd:20", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "zstd:0", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "gzip:0", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "gzip:", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "gzip:x", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "zstdx", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "lz4", &c), -EINVAL);
    assert_int_equal(c.compression, SL_COMPRESS_GZIP); /* an invalid value does not change the
                                                        * option */
    assert_int_equal(sl_config_value_read(o, "none", &c), 0);
    assert_int_equal(c.compression, SL_COMPRESS_NONE);
}

static void numbers(void **state)
{
    const struct sl_option *o = option("SYNCLINE_SOURCE_DEPTH");
    struct sl_config c = {.source_depth = 77};

    assert_int_equal(sl_config_value_read(o, "9", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "1.5", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "-1", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "1s", &c), -EINVAL);
    assert_int_equal(c.source_depth, 77);
    assert_int_equal(sl_config_value_read(o, "8", &c), 0);
    assert_int_equal(c.source_depth, 8);
    assert_int_equal(sl_config_value_read(o, "0", &c), 0);
    assert_int_equal(c.source_depth, 0);
}

static void windows(void **state)
{
    const struct sl_option *o = option("SYNCLINE_WINDOW");
    struct sl_config c = {0};

    assert_int_equal(sl_config_value_read(o, "time:100ms/1min", &c), 0);
    assert_int_equal(c.window_mode, SL_WINDOW_TIME);
    assert_int_equal(c.window_ns, 100000000);
    assert_int_equal(c.period_ns, 60000000000);
    assert_int_equal(sl_config_value_read(o, "time:2s", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "time:2s/", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "time:/2s", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "time:3s/2s", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "time:1us/2s", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "steps:3", &c), -EINVAL);
    assert_int_equal(c.period_ns, 60000000000);
    assert_int_equal(sl_config_value_read(o, "steps:3/", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "steps:/3", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "steps:3/5s", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "steps:-3/5", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "steps:0/5", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "steps:6/5", &c), -ERANGE);
    assert_int_equal(sl_config_value_read(o, "steps:1/99999999999", &c), -EINVAL);
    assert_int_equal(c.window_mode, SL_WINDOW_TIME);
    assert_int_equal(sl_config_value_read(o, "steps:3/500", &c), 0);
    assert_int_equal(c.window_mode, SL_WINDOW_STEPS);
    assert_int_equal(c.window_steps, 3);
    assert_int_equal(c.period_steps, 500);
    assert_int_equal(sl_config_value_read(o, "demand", &c), 0);
    assert_int_equal(c.window_mode, SL_WINDOW_DEMAND);
    assert_int_equal(sl_config_value_read(o, "offf", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "off", &c), 0);
    assert_int_equal(c.window_mode, SL_WINDOW_OFF);
}

static void texts_that_are_too_long_are_refused_whole(void **state)
{
    struct sl_config c = {.output = "before"};
    char longer[2000];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(sl_config_value_read(option("SYNCLINE_OUTPUT"), longer, &c), -ERANGE);
    assert_string_equal(c.output, "before");
}

static void sets(void **state)
{
    const struct sl_option *o = option("SYNCLINE_KINDS");
    struct sl_config c = {.kinds = 99};

    assert_int_equal(sl_config_value_read(o, "kernel,", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, ",kernel", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "kern", &c), -EINVAL);
    assert_int_equal(c.kinds, 99);
    assert_int_equal(sl_config_value_read(o, "memset,kernel,memset", &c), 0);
    assert_int_equal(c.kinds, o->words[0].value | o->words[2].value);
    assert_int_equal(sl_config_value_read(o, "none,kernel", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "kernel,off", &c), -EINVAL);
    assert_int_equal(sl_config_value_read(o, "None", &c), 0);
    assert_int_equal(c.kinds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),       cmocka_unit_test(durations),
        cmocka_unit_test(compression), cmocka_unit_test(numbers),
        cmocka_unit_test(windows),     cmocka_unit_test(texts_that_are_too_long_are_refused_whole),
        cmocka_unit_test(sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
