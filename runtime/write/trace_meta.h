/*
 * trace_meta.h - facts about the process and the window that a trace contains.
 *
 * Plain data; any thread.
 */
#ifndef SL_TRACE_META_H
#define SL_TRACE_META_H

#include <stdint.h>

/* The owner of the strings must keep them while a file with these facts is open. */
struct sl_trace_meta {
    uint32_t pid;
    int rank, world_size;
    /* 1: torch.distributed may report another rank while the file is open */
    int rank_may_change;
    int local_ranks; /* ranks of the job on each node; 0: all ranks are on one node */
    /* variables GPU_SERIAL and VM_ID; NULL or "": not set */
    const char *gpu_serial, *vm_id;
    const char *run;       /* id of this run of the job; NULL or "": not known */
    uint64_t run_start_ns; /* start of the run on this rank, in ns since the epoch; 0: not known */
    const char *host, *job, *process_name, *syncline_version, *trace_name;
    uint32_t cupti_version, cuda_runtime_version, cuda_driver_version; /* 0: unknown */
    uint64_t opened_ns;                                                /* window start */
    uint32_t window;                                                   /* its number, from 1 */
    uint64_t step;        /* the step with which the window begins; 0: it is no window of steps */
    int is_timed;         /* 1: the window was due at a time */
    int is_lead_in_short; /* 1: the window was stopped before its lead-in was over */
    uint64_t nccl_sample; /* N: NCCL describes every N-th collective; 0 and 1: each */
    int has_edges;        /* 1: edges are on, so rows of waits name the sources of the waits */
};

#endif
