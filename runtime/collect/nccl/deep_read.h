/*
 * deep_read.h - turns records of the deep levels (deep.h) into rows.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_DEEP_READ_H
#define SL_NCCL_DEEP_READ_H

#include <stdint.h>

#include "collect/nccl/deep.h"
#include "collect/nccl/rows.h"

enum {
    SL_NCCL_TASKS = 4096, /* collectives and messages that are kept; a power of two */
};

/* A collective or message. */
struct sl_nccl_task {
    uint64_t handle; /* 0: none */
    uint64_t number; /* UINT64_MAX: none */
    uint32_t func, comm;
    int is_left; /* 1: it is not in the sample */
};

/* All zero: empty. */
struct sl_nccl_deep_read {
    struct sl_nccl_task task[SL_NCCL_TASKS];
    uint64_t odd; /* channels whose times are not times of a global timer */
};

void sl_nccl_deep_read_task(struct sl_nccl_deep_read *d, const struct sl_nccl_task *task);

/* Adds the row of a record. `ns` is the time of the record. */
void sl_nccl_deep_read_record(struct sl_nccl_deep_read *d, struct sl_nccl_rows *rows,
                              const struct sl_nccl_deep *record, uint64_t ns);

#endif
