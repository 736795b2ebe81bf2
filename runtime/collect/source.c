/*
 * source.c - the table of sources, and the connections between two of them.
 *
 * Threads: see source.h. Memory: the setup is static; readers are mapped when they are created.
 */
#include "collect/source.h"

#include <errno.h>
#include <string.h>

#include "base/loader.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/software.h"
#include "collect/cupti/graph_nodes.h"
#include "collect/lane/lane_read.h"
#include "collect/lane/step.h"
#include "collect/nccl/level.h"
#include "collect/nccl/load.h"
#include "collect/nccl/plugin.h"
#include "collect/nccl/ranges.h"
#include "collect/nccl/read.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/cuda.h"
#include "collect/nvtx/getenv_hook.h"
#include "collect/nvtx/names.h"
#include "collect/nvtx/nvtx.h"
#include "collect/nvtx/read.h"
#include "collect/python/boot.h"
#include "collect/python/frames.h"
#include "collect/torch/nvtx_fallback.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_read.h"

/* An entry of the table. A function is NULL if the source does nothing at that point. */
struct source {
    const char *name;
    void (*attach)(const struct sl_source_setup *setup);
    void (*arm)(const struct sl_source_setup *setup);
    void (*rescan)(const struct sl_source_setup *setup);
    void (*enable)(const struct sl_source_setup *setup, int on);
    void (*stop)(void);
    /* Creates a reader. Returns 0 with *reader (NULL if no reader is needed), or -ENOMEM. */
    int (*open)(void **reader, const struct sl_source_reading *reading);
    void (*close)(void *reader);
    void (*begin)(void *reader); /* called before the lanes are read */
    void (*read)(void *reader, uint32_t thread, const struct sl_lane_record *record, uint64_t ns);
    void (*done)(void *reader); /* called after the lanes were read */
    void (*count)(const void *reader, struct sl_source_lost *lost);
};

static struct sl_source_setup kept;

/* ---- NVTX ---- */

void sl_sources_prepare(const struct sl_config *config)
{
    if (config->nvtx && sl_nvtx_getenv_hook_set() == -EBUSY)
        sl_log(SL_LOG_DEBUG,
               "the process has several threads, so syncline does not change its environment: NVTX "
               "payloads are not decoded for libraries that used NVTX before CUDA started; set "
               "NVTX_INJECTION64_PATH to libsyncline.so to have them");
}

/* Creates the lanes and name tables, which sl_range_push() and steps use too. If there is no memory
 * for lanes and tables, the job is recorded without its ranges. */
static void attach_nvtx(const struct sl_source_setup *setup)
{
    int err;

    if (!setup->config->nvtx)
        sl_nvtx_detach();
    err = sl_nvtx_init((size_t)(setup->config->nvtx_memory_bytes / 3 * 2));
    if (err && err != -EALREADY) {
        sl_log(SL_LOG_WARN,
               "not enough memory for ranges: the trace has none; lower SYNCLINE_NVTX_MEMORY");
        sl_nvtx_detach();
        return;
    }
    sl_nvtx_set_ids(sl_nvtx_cuda_ids(setup->cupti));
    sl_lanes_set_wake(setup->wake);
    if (setup->config->nvtx)
        sl_nvtx_attach_all();
}

static void rescan_nvtx(const struct sl_source_setup *setup)
{
    if (setup->config->nvtx)
        sl_nvtx_attach_all();
}

int sl_sources_on_nvtx(const void *(*get_export_table)(uint32_t id))
{
    return sl_nvtx_attach(get_export_table);
}

int sl_sources_on_nvtx_extension(void *module_info)
{
    return sl_nvtx_attach_extension(module_info);
}

static int open_nvtx(void **reader, const struct sl_source_reading *reading)
{
    const struct sl_nvtx_read_options opt = {.intern = reading->names,
                                             .ranges = reading->ranges,
                                             .texts_bytes = reading->range_texts_bytes,
                                             .user = reading->user,
                                             .sink = reading->sink,
                                             .named = reading->named};
    struct sl_nvtx_read *r = NULL;
    int err = sl_nvtx_read_create(&r, &opt);

    *reader = r;
    return err;
}

static void close_nvtx(void *reader)
{
    sl_nvtx_read_destroy(reader);
}

static void begin_nvtx(void *reader)
{
    sl_nvtx_read_names(reader);
}

static void read_nvtx(void *reader, uint32_t thread, const struct sl_lane_record *record,
                      uint64_t ns)
{
    sl_nvtx_read_record(reader, thread, record, ns);
}

static void done_nvtx(void *reader)
{
    sl_nvtx_read_done(reader);
}

static void count_nvtx(const void *reader, struct sl_source_lost *lost)
{
    lost->ranges += sl_lanes_lost() + sl_nvtx_read_texts_lost(reader);
}

/* ---- PyTorch ---- */

/* Called on the thread that has created a node of a CUDA graph. */
static void take_node(uint64_t node)
{
    static _Atomic unsigned domain; /* 0: not looked up yet */
    const struct sl_lane *lane = sl_lane_mine;
    unsigned ours = domain;

    sl_torch_ops_node(node);
    if (!sl_nccl_level_is_on())
        return;
    if (!ours)
        domain = ours = sl_nvtx_domain(SL_NCCL_RANGE_DOMAIN, sizeof(SL_NCCL_RANGE_DOMAIN) - 1);
    sl_nccl_plugin_node(node, lane && ours < SL_LANE_DOMAINS && lane->depth[ours] > 0);
}

/* Attaches to a PyTorch that is loaded already, so that its operators are recorded from now on. A
 * PyTorch that is loaded later is found by a rescan. */
static void attach_torch(const struct sl_source_setup *setup)
{
    sl_graph_nodes_on_made(take_node);
    sl_torch_ops_attach(setup->config->ops, setup->config->home);
    if (setup->records_at_once)
        sl_torch_ops_enable(1);
}

static void rescan_torch(const struct sl_source_setup *setup)
{
    /* Without an observer, the Python package makes PyTorch report operators, so the package must
     * run again now that PyTorch is loaded. */
    if (sl_torch_ops_attach(setup->config->ops, setup->config->home) && setup->config->python)
        sl_python_boot_again(setup->config->home);
}

static void enable_torch(const struct sl_source_setup *setup, int on)
{
    (void)setup;
    sl_torch_ops_enable(on);
}

enum sl_torch_ops_mode sl_sources_ops_by_texts(void)
{
    static const struct sl_nvtx_text_taker taker = {sl_nvtx_fallback_begin, sl_nvtx_fallback_end};
    enum sl_torch_ops_mode mode =
        kept.config && kept.config->nvtx ? sl_torch_ops_by_strings() : SL_TORCH_OPS_OFF;

    if (mode != SL_TORCH_OPS_OFF)
        sl_nvtx_set_text_taker(&taker);
    return mode;
}

static int open_torch(void **reader, const struct sl_source_reading *reading)
{
    const struct sl_torch_ops_read_options opt = {.names = reading->names,
                                                  .details = reading->details,
                                                  .ops = reading->ops,
                                                  .ranges = reading->ranges,
                                                  .names_bytes = reading->op_names_bytes};
    struct sl_torch_ops_read *r = NULL;
    int err = reading->ops ? sl_torch_ops_read_create(&r, &opt) : 0;

    *reader = r;
    return err;
}

static void close_torch(void *reader)
{
    sl_torch_ops_read_destroy(reader);
}

static void read_torch(void *reader, uint32_t thread, const struct sl_lane_record *record,
                       uint64_t ns)
{
    sl_torch_ops_read_record(reader, thread, record, ns);
}

static void done_torch(void *reader)
{
    sl_torch_ops_read_done(reader);
}

static void count_torch(const void *reader, struct sl_source_lost *lost)
{
    struct sl_torch_ops_lost counted;

    sl_torch_ops_read_get_lost(reader, &counted);
    lost->ops += counted.names;
    lost->inputs += counted.inputs;
}

/* ---- Python ---- */

static void attach_python(const struct sl_source_setup *setup)
{
    const char *(*version)(void) =
        __extension__(const char *(*)(void)) sl_loader_symbol(RTLD_DEFAULT, "Py_GetVersion");

    if (version)
        sl_software_set(SL_SOFTWARE_PYTHON, version());
    if (sl_python_lines_init((unsigned)setup->config->source_depth) == -ENOTSUP)
        sl_log(SL_LOG_DEBUG, "this Python is not supported (3.9 to 3.15 with the GIL are): waits "
                             "have no source lines");
}

/* The interpreter may not exist yet, so each window that opens tries again. */
static void boot_python(const struct sl_source_setup *setup)
{
    if (setup->config->python)
        sl_python_boot(setup->config->home);
}

static void enable_python(const struct sl_source_setup *setup, int on)
{
    if (on)
        boot_python(setup);
}

/* ---- NCCL ---- */

static void offer_nccl(const struct sl_source_setup *setup)
{
    (void)setup;
    sl_nccl_level_watch();
    if (sl_nccl_level_get() != SL_NCCL_OFF)
        sl_nccl_load_offer();
}

static void attach_nccl(const struct sl_source_setup *setup)
{
    sl_nccl_level_set(setup->config->nccl);
    if (setup->records_at_once)
        sl_nccl_level_enable(1);
    offer_nccl(setup);
}

static void enable_nccl(const struct sl_source_setup *setup, int on)
{
    (void)setup;
    sl_nccl_level_enable(on);
}

static int open_nccl(void **reader, const struct sl_source_reading *reading)
{
    const struct sl_nccl_read_options opt = {.names = reading->names,
                                             .launches = reading->launches,
                                             .texts_bytes = reading->launch_texts_bytes,
                                             .ranges = reading->ranges,
                                             .shows_launches = reading->collectives,
                                             .sample = reading->nccl_sample,
                                             .user = reading->user,
                                             .sink = reading->sink};
    struct sl_nccl_read *r = NULL;
    int err = reading->launches ? sl_nccl_read_create(&r, &opt) : 0;

    *reader = r;
    return err;
}

static void close_nccl(void *reader)
{
    sl_nccl_read_destroy(reader);
}

/* Returns whether the record is about a range in the NVTX domain of NCCL. */
static int is_nccl_range(const struct sl_lane_record *record)
{
    const char *domain;

    if ((record->what != SL_LANE_PUSH && record->what != SL_LANE_POP) || !record->domain)
        return 0;
    domain = sl_text_table_get(sl_nvtx_domain_name(record->domain), NULL);
    return domain && strcmp(domain, SL_NCCL_RANGE_DOMAIN) == 0;
}

static void read_nccl(void *reader, uint32_t thread, const struct sl_lane_record *record,
                      uint64_t ns)
{
    sl_nccl_read_record(reader, thread, record, ns, is_nccl_range(record));
}

static void done_nccl(void *reader)
{
    sl_nccl_read_done(reader);
}

static void count_nccl(const void *reader, struct sl_source_lost *lost)
{
    lost->launches += sl_nccl_read_lost(reader);
    lost->odd += sl_nccl_plugin_odd() + sl_nccl_read_odd(reader);
}

/* ---- the table ---- */

/* Sources are attached in this order: NVTX creates the lanes, Python makes lines available, and
 * then PyTorch records operators with their lines. NCCL is independent of these. */
static const struct source sources[] = {
    {
        .name = "NVTX ranges",
        .attach = attach_nvtx,
        .rescan = rescan_nvtx,
        .stop = sl_nvtx_detach,
        .open = open_nvtx,
        .close = close_nvtx,
        .begin = begin_nvtx,
        .read = read_nvtx,
        .done = done_nvtx,
        .count = count_nvtx,
    },
    {
        .name = "Python",
        .attach = attach_python,
        .arm = boot_python,
        .enable = enable_python,
        .stop = sl_python_lines_stop,
    },
    {
        .name = "PyTorch operators",
        .attach = attach_torch,
        .rescan = rescan_torch,
        .enable = enable_torch,
        .stop = sl_torch_ops_stop,
        .open = open_torch,
        .close = close_torch,
        .read = read_torch,
        .done = done_torch,
        .count = count_torch,
    },
    {
        .name = "NCCL's collectives",
        .attach = attach_nccl,
        .rescan = offer_nccl,
        .enable = enable_nccl,
        .stop = sl_nccl_level_stop,
        .open = open_nccl,
        .close = close_nccl,
        .read = read_nccl,
        .done = done_nccl,
        .count = count_nccl,
    },
};

#define SOURCES (sizeof(sources) / sizeof(*sources))

void sl_sources_attach(const struct sl_source_setup *setup)
{
    kept = *setup;
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i].attach)
            sources[i].attach(&kept);
}

void sl_sources_arm(void)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i].arm)
            sources[i].arm(&kept);
}

void sl_sources_rescan(void)
{
    for (size_t i = 0; kept.config && i < SOURCES; i++)
        if (sources[i].rescan)
            sources[i].rescan(&kept);
}

void sl_sources_enable(int on)
{
    for (size_t i = 0; kept.config && i < SOURCES; i++)
        if (sources[i].enable)
            sources[i].enable(&kept, on);
}

void sl_sources_stop(void)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i].stop)
            sources[i].stop();
}

/* ---- reading ---- */

struct sl_source_readers {
    void *reader[SOURCES]; /* the reader of each source; NULL: the source has no reader */
    struct sl_source_reading reading;
    struct sl_lane_reader lanes;
};

/* A record is passed to PyTorch's reader before NVTX's reader. PyTorch's user scopes are ranges
 * too, and NVTX's reader must know a step that begins with a user scope before it reads the ranges
 * inside that scope. */
static void take_record(void *user, uint32_t thread, const struct sl_lane_record *record,
                        uint64_t ns)
{
    struct sl_source_readers *r = user;
    int is_range = record->what >= SL_LANE_PUSH && record->what <= SL_LANE_MARK;

    if (r->reading.only_collectives && is_range && !is_nccl_range(record))
        return;

    if (record->what == SL_LANE_THREAD_BEGIN)
        r->reading.thread(r->reading.user, thread);
    for (size_t i = SOURCES; i-- > 0;)
        if (r->reader[i] && sources[i].read)
            sources[i].read(r->reader[i], thread, record, ns);
}

int sl_source_readers_create(struct sl_source_readers **out,
                             const struct sl_source_reading *reading)
{
    struct sl_source_readers *r = sl_pages_map(sizeof(*r));
    const struct sl_lane_reader_options opt = {.user = r, .record = take_record};

    if (!r)
        return -ENOMEM;
    r->reading = *reading;
    sl_lane_reader_init(&r->lanes, &opt);
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i].open && sources[i].open(&r->reader[i], reading)) {
            r->reader[i] = NULL;
            sl_log(SL_LOG_WARN,
                   "not enough memory to read %s: the trace has none; lower SYNCLINE_MEMORY",
                   sources[i].name);
        }
    *out = r;
    return 0;
}

void sl_source_readers_destroy(struct sl_source_readers *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < SOURCES; i++)
        if (r->reader[i])
            sources[i].close(r->reader[i]);
    sl_pages_unmap(r, sizeof(*r));
}

void sl_source_readers_read(struct sl_source_readers *r, uint64_t until_ns)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (r->reader[i] && sources[i].begin)
            sources[i].begin(r->reader[i]);
    sl_lane_reader_read(&r->lanes, until_ns);
    for (size_t i = 0; i < SOURCES; i++)
        if (r->reader[i] && sources[i].done)
            sources[i].done(r->reader[i]);
}

void sl_source_readers_count(const struct sl_source_readers *r, struct sl_source_lost *out)
{
    *out = (struct sl_source_lost){0};
    for (size_t i = 0; i < SOURCES; i++)
        if (r->reader[i] && sources[i].count)
            sources[i].count(r->reader[i], out);
}
