/*
 * summary.h - matches the parts of all ranks, and sums them up by group, call and size.
 *
 * Threads: one owner. Memory: 56 bytes for each part while they are matched, and what
 * align/clocks.h needs.
 */
#ifndef SL_COLLECTIVES_SUMMARY_H
#define SL_COLLECTIVES_SUMMARY_H

#include "align/clocks.h"
#include "collectives/ranks.h"

#define SL_SUMMARY_PROBLEMS 1000 /* the most that are kept */
#define SL_SUMMARY_LATE_NS  10000

/* Collectives of one group, call and size. Times are sums over all ranks. Of collectives of which
 * every N-th was recorded, each counts N times. */
struct sl_summary_row {
    uint32_t group, call; /* index of the group; intern id */
    uint8_t type;
    int bucket;        /* sizes from 2^bucket, below 2^(bucket + 1); -1: 0; -2: not known */
    uint64_t count;    /* collectives; one that was matched counts once */
    uint64_t timed;    /* those that all ranks recorded, on comparable clocks */
    uint64_t shared;   /* those whose kernel is that of several collectives */
    uint64_t sample;   /* the largest N; 1: all were recorded */
    uint64_t launches; /* parts without a kernel, which have no times */
    uint64_t kernel_ns, exposed_ns;
    uint64_t waiting_ns;  /* of the timed ones */
    uint64_t transfer_ns; /* of the timed ones; once for each collective */
    double bytes, ns;     /* of the collectives that give the bandwidth */
    double local_bytes, local_ns;
    uint64_t together; /* timed ones that no rank began late */
    uint64_t *last;    /* for each rank: how often it began last and late */
};

/* Why a collective of several ranks was not matched, without being missing. */
enum sl_unmatched {
    SL_UNMATCHED_ABSENT, /* not all ranks recorded it */
    SL_UNMATCHED_RANK,   /* the file does not name its rank */
    SL_UNMATCHED_STEP,   /* it has no number and lies outside of steps */
    SL_UNMATCHED_PEERS, /* a kernel of messages with several ranks, or with one that is not known */
    SL_UNMATCHED_MESSAGE, /* no kernel of the other rank has the same messages */
    SL_UNMATCHED_KINDS
};

enum sl_problem_kind {
    SL_PROBLEM_CALL,       /* ranks called something else than the others */
    SL_PROBLEM_SIZE,       /* with another size or type of elements */
    SL_PROBLEM_MISSING,    /* ranks did not call what the others called */
    SL_PROBLEM_IMPOSSIBLE, /* a rank left before another one began: the group is not timed */
    SL_PROBLEM_KINDS
};

/* One collective about which ranks do not agree. */
struct sl_summary_problem {
    enum sl_problem_kind kind;
    const struct sl_rank_part *odd, *rest; /* a part of each side; `odd` NULL: missing */
    const struct sl_rank_part *last;       /* missing: their last call, or NULL */
    uint32_t *rank;                        /* the ranks of `odd`, then those of `rest` */
    size_t odds, rests;
    uint32_t order; /* among those of the same number */
};

struct sl_summary {
    struct sl_ranks *all;
    struct sl_clocks *clocks;
    struct sl_summary_row *row; /* by time, the longest first */
    struct sl_summary_problem *problem;
    size_t rows, row_slots, problems, problem_slots;
    uint64_t more_problems; /* those that are not kept */
    /* Collectives of several ranks that were found on all of them; and those that were not. A
     * kernel of messages that was not matched counts on each rank that has it. */
    uint64_t matched, unmatched[SL_UNMATCHED_KINDS];
    uint8_t *is_bad; /* for each group: 1 if it is not timed */
};

/* Returns 0 or -ENOMEM. The caller frees `s`, also after an error. */
int sl_summary_make(struct sl_summary *s, struct sl_ranks *all);
void sl_summary_free(struct sl_summary *s);

/* Returns 1 if the row has times of kernels. */
static inline int sl_summary_has_kernels(const struct sl_summary_row *row)
{
    return row->kernel_ns || !row->launches;
}

/* Sets the bandwidths of a row in 10^9 bytes per second. Returns 1 if they are of the transfer, 2
 * if they are of the kernels of each rank alone, or 0 if they are not known. */
int sl_summary_bandwidth(const struct sl_summary *s, const struct sl_summary_row *row,
                         double *algorithm, double *bus);

#endif
