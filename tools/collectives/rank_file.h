/*
 * rank_file.h - the state while the collectives of one file are read.
 *
 * Used only by the files whose names begin with rank_. Threads, memory: see ranks.h.
 */
#ifndef SL_COLLECTIVES_RANK_FILE_H
#define SL_COLLECTIVES_RANK_FILE_H

#include "base/store.h"
#include "collectives/ranks.h"
#include "read/row_collectives.h"

#define SL_RANK_GROUPS_MOST (1 << 20)

struct sl_rank_interval {
    int64_t start_ns, end_ns;
    uint8_t device;
};

struct sl_rank_step {
    int64_t start_ns, end_ns;
    uint64_t number;
};

/* A launch of NCCL's collectives, and its communicator. */
struct sl_rank_launch {
    struct sl_rank_part part;
    struct sl_rank_group group;
};

/* Times are since the base of the file. */
struct sl_rank_reading {
    struct sl_ranks *all;
    struct sl_rank_file *out;
    struct sl_row_collectives *collectives;
    struct sl_store store;
    struct sl_map launch; /* time of the launch by correlation id, plus 1 */
    /* The groups of this file. Their numbers differ between files, if one states the number of
     * ranks of the job too late. Until the end of the file, sl_rank_part.group is an index in them.
     */
    struct sl_rank_group *group;
    struct sl_rank_interval *compute; /* kernels that do not communicate */
    struct sl_rank_step *step;
    struct sl_rank_launch *launched; /* used if the file has no kernels */
    size_t launches, launched_slots;
    size_t groups, group_slots, part_slots, call_slots, computes, compute_slots, steps, step_slots;
    int64_t end_ns;   /* of the last event */
    uint64_t invalid; /* events that could not be read */
    uint64_t kernels; /* kernels of all sorts */
    int failed;       /* 0 or -ENOMEM */
};

/* Returns the index of a group of the file, which is added if it is new, or -1 if there is no
 * memory. Only `number`, `description`, `comm` and (of a communicator) `ranks` of `key` count. */
int64_t sl_rank_groups_put(struct sl_rank_reading *r, const struct sl_rank_group *key);

/* Stores the ranks of the groups, and moves the groups of the file to those of all files. */
void sl_rank_groups_end(struct sl_rank_reading *r);

/* Adds to a part that PyTorch describes what NCCL says about its kernel. */
void sl_rank_nccl_add(const struct sl_trace_row *row, struct sl_rank_part *part);

/* Describes a kernel by NCCL alone: sets *part, and *group without its description. Returns 0, or
 * -EINVAL if the row does not say enough. */
int sl_rank_nccl_read(const struct sl_trace_row *row, struct sl_rank_part *part,
                      struct sl_rank_group *group);

/* Finishes the parts, when all rows, the header and the groups are known. Parts whose times do not
 * fit are left out. */
void sl_rank_parts_end(struct sl_rank_reading *r);

#endif
