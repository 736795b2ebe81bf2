/* ranges_test.c - the GPU time of ranges, from the operations launched in them, and a trace without
 * ranges if memory is missing. window_filter_test.c tests which ranges are in a window. */
#include "child.h"
#include "pipeline/rig.h"

#include <sys/syscall.h>

#include "collect/nvtx/calls.h"

static void push(const char *name)
{
    const struct sl_nvtx_event ev = {.message = {.text = name, .length = strlen(name)}};

    CHECK(sl_nvtx_push(0, &ev) >= 0);
}

static void pop(void)
{
    CHECK(sl_nvtx_pop(0, NULL) >= 0);
}

static uint32_t self(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void begin(void)
{
    const struct sl_pipeline_options opt = {&config, &identity, &cupti, &stamps, 0};

    CHECK(sl_nvtx_init(8 << 20) == 0);
    CHECK(sl_pipeline_create(&pipeline, &opt) == 0);
    CHECK(sl_pipeline_open(pipeline, 1, SL_REASON_API, apart()) == 0);
}

static const char *end(void)
{
    const char *text;

    close_window(1, SL_REASON_API);
    text = read_window(1);
    CHECK(sl_pipeline_stop(pipeline, 60000000000u) == 0);
    return text;
}

static double duration_of(const char *text, const char *row)
{
    const char *at = strstr(text, row), *found;
    double us = -1;

    CHECK(at);
    found = strstr(at, "\"dur\":");
    CHECK(found && sscanf(found, "\"dur\":%lf", &us) == 1);
    return us;
}

#define GPU_RANGE(name) "\"cat\":\"gpu_user_annotation\",\"name\":\"" name "\""

/* Launches kernels of 50 ns each in nested ranges, and checks the ranges' rows on the GPU. */
static void play_spans(void)
{
    const char *text;

    begin();
    push("outer");
    deliver_from(self(), "k_outer", apart(), 1000);
    push("inner");
    deliver_from(self(), "k_inner", apart(), 1000);
    pop();
    deliver_from(self() + 1, "k_of_another", apart(), 1000000);
    push("without");
    pop();
    pop();
    deliver_from(self(), "k_behind", apart(), 1000000);
    text = end();
    CHECK(count(text, "\"cat\":\"kernel\"") == 4);
    CHECK(count(text, "\"cat\":\"user_annotation\"") == 3);
    CHECK(count(text, "\"cat\":\"gpu_user_annotation\"") == 2);
    CHECK(duration_of(text, GPU_RANGE("inner")) > 0.049);
    CHECK(duration_of(text, GPU_RANGE("inner")) < 0.051);
    /* From k_outer to the end of k_inner, which is also inside the outer range. */
    CHECK(duration_of(text, GPU_RANGE("outer")) > 0.051);
}

static void a_range_spans_what_its_thread_launched_in_it(void **state)
{
    (void)state;
    in_child(play_spans);
}

static void play_no_memory(void)
{
    const char *text;

    config.nvtx_memory_bytes = 3;
    begin();
    push("in vain");
    deliver_from(self(), "k", apart(), 1000);
    pop();
    text = end();
    CHECK(count(text, "\"cat\":\"kernel\"") == 1);
    CHECK(count(text, "in vain") == 0);
}

static void without_memory_for_ranges_the_rest_is_recorded(void **state)
{
    char command[128];

    (void)state;
    in_child(play_no_memory);
    snprintf(command, sizeof(command),
             "grep -q 'not enough memory for ranges: the trace has none' %s", child_stderr);
    assert_int_equal(system(command), 0);
}

static char said[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(strchr(folder, 0) - 6, "XXXXXX");
    snprintf(identity.folder, sizeof(identity.folder), "%s", mkdtemp(folder));
    snprintf(said, sizeof(said), "%s.stderr", folder);
    child_stderr = said;
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s %s", folder, said);
    return system(command) != 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_range_spans_what_its_thread_launched_in_it),
        CASE(without_memory_for_ranges_the_rest_is_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
