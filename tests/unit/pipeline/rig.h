/*
 * rig.h - for tests: creates the process's pipeline with a temporary folder, delivers CUPTI buffers
 * to the pipeline, and reads the files that the pipeline writes.
 */
#ifndef SL_PIPELINE_RIG_H
#define SL_PIPELINE_RIG_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../bench/mix.h"
#include "base/clock.h"
#include "base/stats.h"
#include "control/window.h"
#include "pipeline/pipeline.h"
#include "unit/folder.h"

#define T0 1700000000000000000ull

static struct sl_config config = {.memory_bytes = 16 << 20, .detail = SL_DETAIL_DEFAULT};
static struct sl_identity identity = {
    .pid = 77, .world_size = 1, .host = "h", .job = "j", .process_name = "p"};
static struct sl_cupti_api cupti = {.version = MIX_CUPTI_VERSION};
static struct sl_cupti_clock stamps; /* CLOCK_REALTIME */
static struct sl_pipeline *pipeline;

static inline int set_up(void **state)
{
    const struct sl_pipeline_options opt = {&config, &identity, &cupti, &stamps, 0};

    if (folder_make())
        return -1;
    sl_folder_init(&identity.folder, folder, "j", "p", 0600);
    return sl_pipeline_create(&pipeline, &opt);
}

static inline int tear_down(void **state)
{
    sl_pipeline_stop(pipeline, 2000000000);
    return folder_remove();
}

static uint32_t correlation; /* the correlation id of the last launch */

/* Delivers one launch and its kernel, which starts `wait` ns after the call. */
static inline void deliver_from(uint32_t thread, const char *name, uint64_t call_ns, uint64_t wait)
{
    struct {
        struct mix_api call;
        struct mix_kernel kernel;
    } r;

    memset(&r, 0, sizeof(r));
    r.call.kind = 5;
    r.call.cbid = 211;
    r.call.start = call_ns;
    r.call.end = call_ns + 100;
    r.call.pid = 77;
    r.call.thread = thread;
    r.call.correlation = r.kernel.correlation = ++correlation;
    r.kernel.kind = 10;
    r.kernel.start = call_ns + wait;
    r.kernel.end = r.kernel.completed = r.kernel.start + 50;
    r.kernel.context = 1;
    r.kernel.stream = 7;
    r.kernel.grid[0] = r.kernel.grid[1] = r.kernel.grid[2] = 1;
    r.kernel.block[0] = r.kernel.block[1] = r.kernel.block[2] = 1;
    r.kernel.name = name;
    assert_int_equal(sl_pipeline_buffer(pipeline, (const uint8_t *)&r, sizeof(r)), 2);
}

static inline void deliver(const char *name, uint64_t call_ns, uint64_t wait)
{
    deliver_from(77, name, call_ns, wait);
}

/* Opens a window that the program requested. */
static inline int open_at(uint32_t number, uint64_t opened_ns)
{
    const struct sl_pipeline_window window = {
        .number = number, .reason = SL_REASON_API, .opened_ns = opened_ns};

    return sl_pipeline_open(pipeline, &window);
}

static inline const char *read_window(int number)
{
    static char text[1 << 20];
    char path[sizeof(identity.folder.path) + 32], last[128];
    uint64_t windows = 0;
    size_t got;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%d.pt.trace.json", identity.folder.path, number);
    while (access(path, R_OK)) /* the file gets this name when it is complete */
        usleep(1000);
    do
        sl_pipeline_last(pipeline, last, sizeof(last), &windows);
    while (!windows);
    f = fopen(path, "r");
    assert_non_null(f);
    got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[got] = '\0';
    return text;
}

static inline int count(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

/* Returns a time that is far from all times that other calls return. */
static inline uint64_t apart(void)
{
    uint64_t now;

    usleep(2000);
    now = sl_clock_now();
    usleep(2000);
    return now;
}

static inline void open_window(uint32_t number, enum sl_window_reason reason)
{
    const struct sl_pipeline_window window = {
        .number = number, .reason = reason, .opened_ns = apart()};

    assert_int_equal(sl_pipeline_open(pipeline, &window), 0);
    assert_true(sl_pipeline_is_open(pipeline));
}

static inline void close_window(uint32_t number, uint32_t reason)
{
    uint64_t closed_ns = apart();

    sl_pipeline_limit(pipeline, closed_ns);
    while (sl_pipeline_close(pipeline, number, reason, closed_ns))
        usleep(1000);
    assert_false(sl_pipeline_is_open(pipeline));
}

#endif
