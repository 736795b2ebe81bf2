/* config_test.c - which configurations are valid, and which messages users get. */
#include "unit/stderr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/cupti/api.h"
#include "control/config.h"

/* Reads a configuration. Afterwards `said` contains the messages that were printed on stderr. */
static struct sl_config config;

static void read_config(const char *const *environment)
{
    listen_to_stderr();
    sl_config_read(&config, (char *const *)environment);
    stop_listening();
}

#define READ(...) read_config((const char *const[]){__VA_ARGS__, NULL})

static int lines_said(void)
{
    int lines = 0;

    for (const char *c = said; *c; c++)
        lines += *c == '\n';
    return lines;
}

static void the_defaults(void **state)
{
    READ("PATH=/bin", "HOME=/");
    assert_string_equal(said, "");
    assert_int_equal(config.enabled, 1);
    assert_string_equal(config.output, "./syncline-out");
    assert_string_equal(config.job, "");
    assert_int_equal(config.kinds, SL_CUPTI_KERNEL | SL_CUPTI_MEMCPY | SL_CUPTI_MEMSET |
                                       SL_CUPTI_RUNTIME | SL_CUPTI_DRIVER | SL_CUPTI_SYNC |
                                       SL_CUPTI_OVERHEAD);
    assert_int_equal(config.api_all, 0);
    assert_int_equal(config.compression, SL_COMPRESS_ZSTD);
    assert_int_equal(config.level, 1);
    assert_int_equal(config.memory_bytes, 64 << 20);
    assert_int_equal(config.detail, SL_DETAIL_DEFAULT);
    assert_int_equal(config.log_level, SL_LOG_INFO);
    assert_int_equal(config.window_mode, SL_WINDOW_RUN);
    assert_int_equal(config.lead_in_ns, 1000000000);
}

static void every_option_can_be_set(void **state)
{
    READ("SYNCLINE_OUTPUT=/tmp/x", "SYNCLINE_JOB=llama 7b", "SYNCLINE_KINDS=kernel,SYNC",
         "SYNCLINE_API=all", "SYNCLINE_COMPRESSION=gzip:6", "SYNCLINE_MEMORY=256MiB",
         "SYNCLINE_CUPTI_MEMORY=1G", "SYNCLINE_DETAIL=lean", "SYNCLINE_LOG=debug",
         "SYNCLINE_WINDOW=time:2s/60s", "SYNCLINE_LEAD_IN=250ms", "SYNCLINE_ENABLED=yes");
    assert_string_equal(said, "");
    assert_string_equal(config.output, "/tmp/x");
    assert_string_equal(config.job, "llama 7b");
    assert_int_equal(config.kinds, SL_CUPTI_KERNEL | SL_CUPTI_SYNC);
    assert_int_equal(config.api_all, 1);
    assert_int_equal(config.compression, SL_COMPRESS_GZIP);
    assert_int_equal(config.level, 6);
    assert_int_equal(config.memory_bytes, 256 << 20);
    assert_int_equal(config.cupti_memory_bytes, 1 << 30);
    assert_int_equal(config.detail, SL_DETAIL_LEAN);
    assert_int_equal(config.log_level, SL_LOG_DEBUG);
    assert_int_equal(config.window_mode, SL_WINDOW_TIME);
    assert_int_equal(config.window_ns, 2000000000);
    assert_int_equal(config.period_ns, 60000000000);
    assert_int_equal(config.lead_in_ns, 250000000);
}

static void a_wrong_value_is_one_line_and_the_default(void **state)
{
    READ("SYNCLINE_MEMORY=lots");
    assert_int_equal(lines_said(), 1);
    assert_string_equal(said, "syncline: SYNCLINE_MEMORY=lots is not valid (expected 16MiB to "
                              "64GiB); the default 64MiB is used. Fix the value or unset it.\n");
    assert_int_equal(config.memory_bytes, 64 << 20);

    READ("SYNCLINE_MEMORY=1KiB");
    assert_int_equal(lines_said(), 1);
    assert_non_null(strstr(said, "is out of range"));
    assert_int_equal(config.memory_bytes, 64 << 20);

    READ("SYNCLINE_DETAIL=most", "SYNCLINE_API=alll", "SYNCLINE_COMPRESSION=zstd:99");
    assert_int_equal(lines_said(), 3);
    assert_non_null(strstr(said, "(expected lean, default, full); the default default is used"));
    assert_int_equal(config.detail, SL_DETAIL_DEFAULT);
    assert_int_equal(config.api_all, 0);
    assert_int_equal(config.level, 1);
}

/* A value that decides whether, when or what to record is invalid. syncline then records less than
 * asked, never more. */
static void an_invalid_value_never_means_everything(void **state)
{
    READ("SYNCLINE_WINDOW=steps:3");
    assert_string_equal(said, "syncline: SYNCLINE_WINDOW=steps:3 is not valid (expected "
                              "steps:COUNT/PERIOD); recording waits for start(). Fix the value or "
                              "unset it.\n");
    assert_int_equal(config.window_mode, SL_WINDOW_DEMAND);
    READ("SYNCLINE_WINDOW=time:60s/2s");
    assert_string_equal(said, "syncline: SYNCLINE_WINDOW=time:60s/2s is out of range (expected "
                              "time:LENGTH/PERIOD); recording waits for start(). Fix the value or "
                              "unset it.\n");
    assert_int_equal(config.window_mode, SL_WINDOW_DEMAND);
    READ("SYNCLINE_WINDOW=0");
    assert_non_null(strstr(said, "demand, off); recording waits"));
    assert_int_equal(config.window_mode, SL_WINDOW_DEMAND);

    READ("SYNCLINE_KINDS=kernel,gemm", "SYNCLINE_CHAKRA=yes", "SYNCLINE_OPS=all",
         "SYNCLINE_NVTX=none", "SYNCLINE_PYTHON=of", "SYNCLINE_SOURCE_DEPTH=off",
         "SYNCLINE_MODULES=y", "SYNCLINE_GRAPH_EDGES=y");
    assert_int_equal(lines_said(), 8);
    assert_non_null(strstr(said, "no GPU work and no CUDA calls are recorded. Fix"));
    assert_int_equal(config.kinds, 0);
    assert_int_equal(config.chakra, SL_CHAKRA_OFF);
    assert_int_equal(config.ops, SL_TORCH_OPS_OFF);
    assert_int_equal(config.nvtx, 0);
    assert_int_equal(config.python, 0);
    assert_int_equal(config.source_depth, 0);
    assert_int_equal(config.modules, 0);
    assert_int_equal(config.graph_edges, 0);

    READ("SYNCLINE_ENABLED=maybe", "SYNCLINE_MEMORY=lots");
    assert_string_equal(said, "syncline: SYNCLINE_ENABLED=maybe is not valid (expected 0 or 1); "
                              "recording is off. Fix the value or unset it.\n");
    assert_int_equal(config.enabled, 0);
}

static void one_option_is_read_by_its_name(void **state)
{
    READ("SYNCLINE_MEMORY=256MiB");
    assert_int_equal(sl_config_read_one(&config, "SYNCLINE_DETAIL", "lean"), 0);
    assert_int_equal(config.detail, SL_DETAIL_LEAN);
    assert_int_equal(sl_config_read_one(&config, "SYNCLINE_DETAIL", "most"), -EINVAL);
    assert_int_equal(config.detail, SL_DETAIL_DEFAULT);
    assert_int_equal(sl_config_read_one(&config, "SYNCLINE_WINDOW", "time:60s/2s"), -ERANGE);
    assert_int_equal(config.window_mode, SL_WINDOW_DEMAND);
    assert_int_equal(sl_config_read_one(&config, "SYNCLINE_WINDOW", NULL), 0);
    assert_int_equal(config.window_mode, SL_WINDOW_RUN);
    assert_int_equal(config.memory_bytes, 256 << 20);
}

static void rank_0_speaks_for_all(void **state)
{
    READ("RANK=0", "SYNCLINE_WINDOW=steps:3", "SYNCLINE_FOO=1");
    assert_int_equal(lines_said(), 2);
    READ("RANK=3", "SYNCLINE_WINDOW=steps:3", "SYNCLINE_FOO=1", "SYNCLINE_MEMORY=lots");
    assert_string_equal(said, "");
    assert_int_equal(config.window_mode, SL_WINDOW_DEMAND);
}

static void an_empty_value_is_the_default(void **state)
{
    READ("SYNCLINE_MEMORY=", "SYNCLINE_OUTPUT=");
    assert_string_equal(said, "");
    assert_string_equal(config.output, "./syncline-out");
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        struct sl_config defaults;
        char text[256];

        READ("PATH=/bin");
        defaults = config;
        snprintf(text, sizeof(text), "%s=", o->name);
        READ(text);
        assert_string_equal(said, "");
        assert_memory_equal(&config, &defaults, sizeof(config));
    }
}

static void the_nearest_name_by_edits(void **state)
{
    assert_string_equal(sl_config_nearest("SYNCLINE_KIND"), "SYNCLINE_KINDS");
    assert_string_equal(sl_config_nearest("SYNCLINE_LEADIN"), "SYNCLINE_LEAD_IN");
    assert_string_equal(sl_config_nearest("SYNCLINE_CUPTI_MEM"), "SYNCLINE_CUPTI_MEMORY");
    assert_non_null(sl_config_nearest("SYNCLINE_AN_EXTREMELY_LONG_NAME_THAT_GOES_ON_AND_ON_AND_ON_"
                                      "AND_ON_AND_ON"));
}

static void disabled_or_silent_says_nothing(void **state)
{
    READ("SYNCLINE_ENABLED=0", "SYNCLINE_MEMORY=lots", "SYNCLINE_FOO=1");
    assert_string_equal(said, "");
    assert_int_equal(config.enabled, 0);
    assert_int_equal(config.memory_bytes, 64 << 20);
    READ("SYNCLINE_MEMORY=lots", "SYNCLINE_LOG=off");
    assert_string_equal(said, "");
}

static void every_default_is_a_value(void **state)
{
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        char text[256];

        snprintf(text, sizeof(text), "%s=%s", o->name, o->fallback);
        READ(text);
        assert_string_equal(said, "");
    }
}

static void variables_of_monitor_collectives_count_where_ours_are_unset(void **state)
{
    READ("TORCH_DISTRIBUTED_TRACING=CROSSNODE", "TORCH_DISTRIBUTED_TRACING_PRINT=1");
    assert_int_equal(config.collectives, SL_COLLECTIVES_CROSSNODE);
    assert_int_equal(config.collectives_print, 1);
    assert_int_equal(lines_said(), 1);
    assert_non_null(strstr(said, "TORCH_DISTRIBUTED_TRACING is used as SYNCLINE_COLLECTIVES"));
    READ("TORCH_DISTRIBUTED_TRACING=ALL", "SYNCLINE_COLLECTIVES=none",
         "SYNCLINE_COLLECTIVES_PRINT=0", "TORCH_DISTRIBUTED_TRACING_PRINT=1");
    assert_int_equal(config.collectives, SL_COLLECTIVES_NONE);
    assert_int_equal(config.collectives_print, 0);
    assert_string_equal(said, "");
    /* another program's value that is not known has no effect */
    READ("TORCH_DISTRIBUTED_TRACING=whatever", "TORCH_DISTRIBUTED_TRACING_PRINT=");
    assert_int_equal(config.collectives, SL_COLLECTIVES_ALL);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults),
        cmocka_unit_test(every_option_can_be_set),
        cmocka_unit_test(a_wrong_value_is_one_line_and_the_default),
        cmocka_unit_test(an_invalid_value_never_means_everything),
        cmocka_unit_test(one_option_is_read_by_its_name),
        cmocka_unit_test(rank_0_speaks_for_all),
        cmocka_unit_test(an_empty_value_is_the_default),
        cmocka_unit_test(the_nearest_name_by_edits),
        cmocka_unit_test(disabled_or_silent_says_nothing),
        cmocka_unit_test(variables_of_monitor_collectives_count_where_ours_are_unset),
        cmocka_unit_test(every_default_is_a_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
