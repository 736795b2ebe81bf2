/*
 * source.h - one table of what the program tells itself: NVTX, PyTorch, Python.
 *
 * A source is a folder below collect/ and a row of the table in source.c. Whoever starts, scans,
 * enables, reads or stops the sources goes through these functions and names none of them. CUPTI is
 * no row: session/ owns our relation to it, because only one profiler at a time can have it.
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
#include "event/ops.h"
#include "event/range.h"

/* ---- in the process ---- */

struct sl_source_setup {
    const struct sl_config *config; /* borrowed for the life of the process */
    void *cupti;                    /* the loaded library; NULL: not known */
    void (*wake)(void);             /* any thread: something waits to be read; never blocks */
    int records_at_once;            /* a window is open from the beginning */
};

/* Thread that initialises CUDA, before CUPTI is touched: CUPTI may start threads, and some things
 * can be set only while there is one. */
void sl_sources_prepare(const struct sl_config *config);

/* The same thread, when CUPTI is ready: finds what is loaded. A source without memory says so in
 * one line, and the job is recorded without it. */
void sl_sources_attach(const struct sl_source_setup *setup);

/* The same thread, last: from now on a source may call the public API. */
void sl_sources_arm(void);

/* Recorder thread, at each tick: objects may have been loaded. Cheap when none were. */
void sl_sources_rescan(void);

/* Recorder thread: records are wanted, or not any more. */
void sl_sources_enable(int on);

/* Any thread, also in the child of a fork, for good: async-signal-safe. */
void sl_sources_stop(void);

/* Any thread: what operators Python is to make PyTorch tell as NVTX texts. From then on such texts
 * are taken for operators. SL_TORCH_OPS_OFF: none. */
enum sl_torch_ops_mode sl_sources_ops_by_texts(void);

/* The loader entry points of NVTX, inside an application's call of it. 1: attached; 0: refused. */
int sl_sources_on_nvtx(const void *(*get_export_table)(uint32_t id));
int sl_sources_on_nvtx_extension(void *module_info);

/* ---- reading ---- */

enum sl_named_object {
    SL_NAMED_THREAD,  /* key: system id */
    SL_NAMED_DEVICE,  /* key: device */
    SL_NAMED_CONTEXT, /* key: CUPTI's id; within: device */
    SL_NAMED_STREAM,  /* key: CUPTI's id; within: context */
    SL_NAMED_EVENT,   /* key: CUDA's handle */
};

/* Where a reader takes texts from and puts what it has read. */
struct sl_source_reading {
    struct sl_intern *names;
    struct sl_intern *details; /* of operators (event/op_detail.h); NULL: not wanted */
    struct sl_ranges *ranges;
    struct sl_ops *ops;       /* NULL: not wanted */
    size_t range_texts_bytes; /* most interned texts that ranges make */
    size_t op_names_bytes;    /* the same for operators */
    void *user;
    /* Marks, and names of rows that belong to no thread. */
    void (*sink)(void *user, const struct sl_event *ev);
    /* The program named an object. `name`: interned. */
    void (*named)(void *user, enum sl_named_object what, uint64_t key, uint32_t within,
                  uint32_t name);
    /* A thread has records: before the first of them. */
    void (*thread)(void *user, uint32_t thread);
};

struct sl_source_lost {
    uint64_t ranges; /* without their text, or without a record */
    uint64_t ops;    /* without a name */
    uint64_t inputs; /* operators without inputs, or without all of them */
};

struct sl_source_readers;

/* Recorder thread, like the rest. Readers of all sources that are wanted. 0 or -ENOMEM. */
int sl_source_readers_create(struct sl_source_readers **out,
                             const struct sl_source_reading *reading);
void sl_source_readers_destroy(struct sl_source_readers *r); /* NULL is fine */

/* Reads what threads recorded before until_ns (UINT64_MAX: all), in the order of each thread. */
void sl_source_readers_read(struct sl_source_readers *r, uint64_t until_ns);

/* What was lost so far. */
void sl_source_readers_count(const struct sl_source_readers *r, struct sl_source_lost *out);

#endif
