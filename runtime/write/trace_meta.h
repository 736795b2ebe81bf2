/*
 * trace_meta.h - what a trace says about its process and its window.
 *
 * Plain data; any thread.
 */
#ifndef SL_TRACE_META_H
#define SL_TRACE_META_H

#include <stdint.h>

/* Strings are borrowed as long as a file with this meta is open. */
struct sl_trace_meta {
    uint32_t pid;
    int rank, world_size;
    const char *host, *job, *process_name, *syncline_version, *trace_name;
    uint32_t cupti_version, cuda_runtime_version, cuda_driver_version; /* 0: unknown */
    uint64_t opened_ns;                                                /* window start */
    uint32_t window;                                                   /* counts from 1 */
    int has_edges; /* 1: edges are looked for, and rows of waits name their sources */
};

#endif
