/* create_test.c - creates a pipeline with too little memory. Either the creation fails and all
 * memory is returned, or the pipeline works without its optional parts and prints a message. */
#include "child.h"
#include "pipeline/rig.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "collect/nvtx/calls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1 /* a sanitizer needs memory beyond any limit */
#else
#define IS_SANITIZED 0
#endif

enum {
    STEP_BYTES = 512 << 10,
    /* malloc() and the loader keep memory that they have obtained. */
    SLACK_BYTES = 1 << 20
};

static size_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    CHECK(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* All cases share this memory. Each case is a child process. */
static struct {
    size_t room_bytes;
    int made;
} * shared;

static void play_room(void)
{
    const struct sl_pipeline_options opt = {&config, &identity, &cupti, &stamps, 0};
    size_t before = mapped_bytes();
    struct rlimit limit = {before + shared->room_bytes, RLIM_INFINITY};
    int err;

    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    err = sl_pipeline_create(&pipeline, &opt);
    limit.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    shared->made = err == 0;
    if (err == 0) {
        CHECK(sl_pipeline_stop(pipeline, 60000000000u) == 0);
        return;
    }
    CHECK(err == -ENOMEM || err == -EAGAIN); /* EAGAIN: no thread could be created */
    CHECK(!pipeline);
    CHECK(mapped_bytes() <= before + SLACK_BYTES);
}

static void what_a_start_that_fails_took_is_given_back(void **state)
{
    unsigned failed = 0;

    if (IS_SANITIZED)
        skip();
    for (shared->room_bytes = 0; !shared->made; shared->room_bytes += STEP_BYTES) {
        in_child(play_room);
        failed += !shared->made;
        assert_in_range(shared->room_bytes, 0, 256 << 20);
    }
    assert_in_range(failed, 5, 512); /* some creations failed half way */
}

static void too_little_for_execution_traces_is_said(void)
{
    const struct sl_pipeline_options opt = {&config, &identity, &cupti, &stamps, 0};
    char command[512];

    config.memory_bytes = 2 << 20;
    config.chakra = SL_CHAKRA_RAW;
    CHECK(sl_pipeline_create(&pipeline, &opt) == 0);
    CHECK(open_at(1, apart()) == 0);
    deliver("k", sl_clock_now(), 10);
    close_window(1, SL_REASON_API);
    CHECK(count(read_window(1), "\"cat\":\"kernel\"") == 1);
    CHECK(sl_pipeline_stop(pipeline, 60000000000u) == 0);
    snprintf(command, sizeof(command), "! ls %s/j/p | grep -q '[.]et'", folder);
    CHECK(system(command) == 0);
    snprintf(command, sizeof(command),
             "grep -q 'SYNCLINE_MEMORY are too small for Chakra execution traces' %s",
             child_stderr);
    CHECK(system(command) == 0);
}

static void without_memory_for_ranges_the_rest_is_recorded(void)
{
    const struct sl_pipeline_options opt = {&config, &identity, &cupti, &stamps, 0};
    const struct sl_nvtx_event in_vain = {.message = {.text = "in vain", .length = 7}};
    char command[512];
    const char *text;

    sl_folder_init(&identity.folder, folder, "j", "q", 0600);
    config.nvtx_memory_bytes = 3;
    CHECK(sl_nvtx_init(8 << 20) == 0);
    CHECK(sl_pipeline_create(&pipeline, &opt) == 0);
    CHECK(open_at(2, apart()) == 0);
    CHECK(sl_nvtx_push(0, &in_vain) >= 0);
    deliver("k", sl_clock_now(), 10);
    CHECK(sl_nvtx_pop(0, NULL) >= 0);
    close_window(2, SL_REASON_API);
    text = read_window(2);
    CHECK(sl_pipeline_stop(pipeline, 60000000000u) == 0);
    CHECK(count(text, "\"cat\":\"kernel\"") == 1);
    CHECK(count(text, "in vain") == 0);
    snprintf(command, sizeof(command),
             "grep -q 'not enough memory for ranges: the trace has none' %s", child_stderr);
    CHECK(system(command) == 0);
}

static char said[96];

static int set_up_folder(void **state)
{
    if (folder_make())
        return -1;
    sl_folder_init(&identity.folder, folder, "j", "p", 0600);
    snprintf(said, sizeof(said), "%s.stderr", folder);
    child_stderr = said;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

static int remove_folder(void **state)
{
    return folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_start_that_fails_took_is_given_back),
        CHILD(too_little_for_execution_traces_is_said),
        CHILD(without_memory_for_ranges_the_rest_is_recorded),
    };

    return cmocka_run_group_tests(tests, set_up_folder, remove_folder);
}
