/*
 * source.h - one table of the sources that report what the program does on the CPU: NVTX, PyTorch,
 * Python, NCCL.
 *
 * A source is a folder below collect/ and an entry of the table in source.c. Callers start, scan,
 * enable, read and stop all sources through these functions, and do not need to know which sources
 * exist. CUPTI is not in the table. The code in session/ handles CUPTI, because only one profiler
 * at a time can use CUPTI.
 *
 * Files of one source do not include files of another. If one source needs another (PyTorch
 * operators may arrive as NVTX texts, and graph nodes belong to operators), source.c connects the
 * two.
 *
 * Threads: see each function. Memory: each source owns its memory.
 */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "base/intern.h"
#include "control/config.h"
#include "event/event.h"
#include "event/launches.h"
#include "event/named.h"
#include "event/ops.h"
#include "event/range.h"

/* ---- sources in the process ---- */

struct sl_source_setup {
    const struct sl_config *config; /* borrowed for the life of the process */
    void *cupti;                    /* the handle of the loaded libcupti; NULL: not known */
    void (*wake)(void);  /* wakes the recorder thread because records are waiting; any thread, never
                          * blocks */
    int records_at_once; /* 1: a window is open from the beginning */
};

/* Call on the thread that initialises CUDA, before any call of CUPTI. CUPTI may start threads, and
 * some settings are possible only while the process has one thread. */
void sl_sources_prepare(const struct sl_config *config);

/* Call on the thread of sl_sources_prepare(), when CUPTI is ready. Attaches to the libraries that
 * are loaded. If a source gets no memory, it logs one line, and the job is recorded without that
 * source. */
void sl_sources_attach(const struct sl_source_setup *setup);

/* Call on the thread of sl_sources_prepare(), after the two functions above. From then on sources
 * may call the public API. */
void sl_sources_arm(void);

/* Recorder thread, at each tick. Attaches to newly loaded objects. The call takes little time if no
 * object was loaded. */
void sl_sources_rescan(void);

/* Recorder thread: turns recording on or off. */
void sl_sources_enable(int on);

/* Any thread, also in a forked child: stops all sources for good. Async-signal-safe. */
void sl_sources_stop(void);

/* Any thread. Returns which operators the Python package shall make PyTorch report as NVTX texts
 * (SL_TORCH_OPS_OFF: none). After this call, NVTX texts of operators are recorded as operators. */
enum sl_torch_ops_mode sl_sources_ops_by_texts(void);

/* Entry points that NVTX calls inside an application's NVTX call. Return 1 if attached, 0 if
 * refused. */
int sl_sources_on_nvtx(const void *(*get_export_table)(uint32_t id));
int sl_sources_on_nvtx_extension(void *module_info);

/* ---- reading the lanes ---- */

/* The tables and callbacks of a reader. */
struct sl_source_reading {
    struct sl_intern *names;
    struct sl_intern *details; /* table for details of operators (event/op_detail.h); NULL: not
                                * wanted */
    struct sl_ranges *ranges;
    struct sl_ops *ops;           /* receives PyTorch operators; NULL: not wanted */
    struct sl_launches *launches; /* receives NCCL's launches; NULL: not wanted */
    size_t range_texts_bytes;     /* maximum bytes of interned texts of ranges */
    size_t op_names_bytes;        /* maximum bytes of interned names of operators */
    size_t launch_texts_bytes;    /* maximum bytes of interned texts about launches */
    int only_collectives; /* 1: the file has collectives alone (SYNCLINE_KINDS=collectives) */
    int collectives;      /* 1: each launch of collectives is a row */
    uint64_t nccl_sample; /* SYNCLINE_NCCL_SAMPLE */
    void *user;
    /* Receives marks, names of tracks that belong to no thread, and facts about graph nodes. */
    void (*sink)(void *user, const struct sl_event *ev);
    /* Called when the program has named a thread, device, context, stream or event. `name` is an
     * interned id. */
    void (*named)(void *user, const struct sl_named *what, uint32_t name);
    /* Called before the first record of a thread. */
    void (*thread)(void *user, uint32_t thread);
};

struct sl_source_lost {
    uint64_t ranges;   /* number of ranges without their text, and of ranges not recorded */
    uint64_t ops;      /* number of operators without a name */
    uint64_t inputs;   /* number of operators that lack some or all of their inputs */
    uint64_t launches; /* number of NCCL's collectives that no kernel shows */
    uint64_t odd;      /* number of NCCL's calls of the plugin that made no sense */
};

struct sl_source_readers;

/* Recorder thread, like the functions below. Creates the readers of all sources in use. Returns 0
 * or -ENOMEM. */
int sl_source_readers_create(struct sl_source_readers **out,
                             const struct sl_source_reading *reading);
void sl_source_readers_destroy(struct sl_source_readers *r); /* NULL is fine */

/* Reads records that threads made before until_ns (UINT64_MAX: all), in each thread's order. */
void sl_source_readers_read(struct sl_source_readers *r, uint64_t until_ns);

/* Writes the numbers of losses so far. */
void sl_source_readers_count(const struct sl_source_readers *r, struct sl_source_lost *out);

#endif
