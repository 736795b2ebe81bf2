/*
 * choices.h - the values that options can have.
 *
 * The table of options includes this file, and so do the modules that use the options. So the table
 * and these modules need not include each other.
 */
#ifndef SL_CHOICES_H
#define SL_CHOICES_H

/* Values of SYNCLINE_KINDS: sets of GPU records. collect/cupti/api.c maps each set to CUPTI
 * kinds. */
enum sl_cupti_set {
    SL_CUPTI_KERNEL = 1 << 0,
    SL_CUPTI_MEMCPY = 1 << 1, /* copies, including copies between devices */
    SL_CUPTI_MEMSET = 1 << 2,
    SL_CUPTI_RUNTIME = 1 << 3,
    SL_CUPTI_DRIVER = 1 << 4,
    SL_CUPTI_SYNC = 1 << 5, /* the CUPTI kinds SYNCHRONIZATION and CUDA_EVENT, which are useful only
                             * together */
    SL_CUPTI_OVERHEAD = 1 << 6,
    SL_KIND_COLLECTIVES = 1 << 8, /* no records of CUPTI: rows of NCCL's collectives */
    SL_CUPTI_NAMES = 1 << 7, /* context, stream and name records, which cost little and are always
                              * on */
};

/* Values of SYNCLINE_OPS: how much is recorded about PyTorch operators */
enum sl_torch_ops_mode {
    SL_TORCH_OPS_OFF,
    SL_TORCH_OPS_LEAN, /* record each operator's name, sequence number, threads and handle */
    SL_TORCH_OPS_FULL, /* record the inputs of each operator, too */
};

/* Values of SYNCLINE_NCCL: what NCCL's profiler interface is asked for */
enum sl_nccl_level {
    SL_NCCL_OFF,
    SL_NCCL_CALLS, /* calls, launches, and the collectives and messages in each launched kernel */
    SL_NCCL_CHANNELS, /* also the channels of each kernel */
    SL_NCCL_NETWORK,  /* also the work of the proxy threads, which send and receive */
};

/* Values of SYNCLINE_COLLECTIVES: which calls are printed and listed */
enum sl_collective_scope {
    SL_COLLECTIVES_ALL,
    SL_COLLECTIVES_CROSSNODE, /* calls between nodes */
    SL_COLLECTIVES_NONE
};

/* Values of SYNCLINE_DETAIL */
enum sl_detail {
    SL_DETAIL_LEAN,
    SL_DETAIL_DEFAULT,
    SL_DETAIL_FULL
};

/* Values of SYNCLINE_COMPRESSION and SYNCLINE_CHAKRA */
enum sl_compression {
    SL_COMPRESS_NONE,
    SL_COMPRESS_ZSTD,
    SL_COMPRESS_GZIP
};

/* SYNCLINE_SOURCE_DEPTH: the most Python lines recorded for one call */
enum {
    SL_SOURCE_DEPTH_MAX = 8,
};

#endif
