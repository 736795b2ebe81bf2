/*
 * source.h - one table of sources for what the program reports itself: NVTX, PyTorch, Python.
 *
 * A source is a folder below collect/ and an entry of the table in source.c. Callers start, scan,
 * enable, read and stop sources through these functions and name none of them. CUPTI is no entry:
 * session/ owns our relation to it, because only one profiler at a time can have it.
 *
 * Sources do not include each other. Where two must meet (PyTorch operators that arrive as NVTX
 * texts, graph nodes that belong to an operator), source.c connects them.
 *
 * Threads: as each function says. Memory: that of the sources.
 */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "base/intern.h"
#include "control/config.h"
#include "event/event.h"
#include "event/named.h"
#include "event/ops.h"
#include "event/range.h"

/* ---- in the process ---- */

struct sl_source_setup {
    const struct sl_config *config; /* borrowed for the life of the process */
    void *cupti;                    /* the loaded library; NULL: not known */
    void (*wake)(void);  /* wakes the recorder thread: records wait; any thread, never blocks */
    int records_at_once; /* a window is open from the beginning */
};

/* On the thread that initialises CUDA, before CUPTI is touched. CUPTI may start threads, and some
 * settings are possible only while the process has one thread. */
void sl_sources_prepare(const struct sl_config *config);

/* The same thread, when CUPTI is ready: attaches to what is loaded. A source without memory says so
 * in one line, and the job is recorded without that source. */
void sl_sources_attach(const struct sl_source_setup *setup);

/* The same thread, last: from now on a source may call the public API. */
void sl_sources_arm(void);

/* Recorder thread, at each tick: attaches to newly loaded objects. Cheap when there are none. */
void sl_sources_rescan(void);

/* Recorder thread: turns recording on or off. */
void sl_sources_enable(int on);

/* Any thread, also in a forked child: stops all sources for good. Async-signal-safe. */
void sl_sources_stop(void);

/* Any thread: which operators Python shall make PyTorch report as NVTX texts. After this call, such
 * texts count as operators. SL_TORCH_OPS_OFF: none. */
enum sl_torch_ops_mode sl_sources_ops_by_texts(void);

/* NVTX's loader entry points, called inside an application's NVTX call. 1: attached; 0: refused. */
int sl_sources_on_nvtx(const void *(*get_export_table)(uint32_t id));
int sl_sources_on_nvtx_extension(void *module_info);

/* ---- reading ---- */

/* The tables and callbacks of a reader. */
struct sl_source_reading {
    struct sl_intern *names;
    struct sl_intern *details; /* of operators (event/op_detail.h); NULL: not wanted */
    struct sl_ranges *ranges;
    struct sl_ops *ops;       /* NULL: not wanted */
    size_t range_texts_bytes; /* limit for interned texts of ranges */
    size_t op_names_bytes;    /* limit for interned names of operators */
    void *user;
    /* Gets marks, and names of tracks that belong to no thread. */
    void (*sink)(void *user, const struct sl_event *ev);
    /* The program named a thread, device, context, stream or event. `name`: interned. */
    void (*named)(void *user, const struct sl_named *what, uint32_t name);
    /* Called before the first record of a thread. */
    void (*thread)(void *user, uint32_t thread);
};

struct sl_source_lost {
    uint64_t ranges; /* without their text, or not recorded */
    uint64_t ops;    /* without a name */
    uint64_t inputs; /* operators without inputs, or without all of them */
};

struct sl_source_readers;

/* Recorder thread, as below. Creates readers of all sources in use. 0 or -ENOMEM. */
int sl_source_readers_create(struct sl_source_readers **out,
                             const struct sl_source_reading *reading);
void sl_source_readers_destroy(struct sl_source_readers *r); /* NULL is fine */

/* Reads records that threads made before until_ns (UINT64_MAX: all), in each thread's order. */
void sl_source_readers_read(struct sl_source_readers *r, uint64_t until_ns);

/* Losses so far. */
void sl_source_readers_count(const struct sl_source_readers *r, struct sl_source_lost *out);

#endif
