/*
 * calls.h - matches the collectives of several ranks, and finds how long each rank waited.
 *
 * A member is what one rank did for a call: usually one kernel. Members of one call have the same
 * group, number and order. The number is PyTorch's sequence number or, if the trace has none, the
 * step; the order counts the members of a rank with the same group and number.
 *
 * Threads: one owner. Memory: the caller's array.
 */
#ifndef SL_ALIGN_CALLS_H
#define SL_ALIGN_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "align/clocks.h"
#include "event/collective.h"

struct sl_member {
    uint64_t group, number;
    int64_t start_ns, end_ns; /* on the clock of the rank */
    uint32_t order;           /* set by sl_members_order() */
    uint32_t rank;            /* index of the rank in struct sl_clocks */
    uint32_t source, item;    /* the caller's */
};

/* Sets the order of each member: its place by time among those of its rank, group and number. */
void sl_members_order(struct sl_member *member, size_t count);

/* Sorts members by group, number, order and rank. */
void sl_members_join(struct sl_member *member, size_t count);

/* Does both. */
void sl_members_sort(struct sl_member *member, size_t count);

/* Returns the number of members of one call, from `first` on. */
size_t sl_members_call(const struct sl_member *first, size_t left);

/* Adds what a call says about the clocks of its ranks. `root` is the index of the member of the
 * root or of the sender, or SIZE_MAX if it is not known. */
void sl_members_bound(struct sl_clocks *clocks, const struct sl_member *call, size_t size,
                      enum sl_collective_type type, size_t root);

/* When the ranks began and left a call, on the reference clock. */
struct sl_call_times {
    int is_comparable; /* 0: the clocks of the ranks are not aligned to each other */
    int is_impossible; /* 1: a rank left before the last began it, by more than errors of clocks
                          explain */
    size_t last;       /* the member that began last */
    int64_t last_start_ns, last_end_ns;
    int64_t median_ns; /* the median of the starts; with an even number, the earlier middle */
    uint64_t error_ns; /* of the start of `last` against that of any other rank */
};

/* `starts_ns` has room for `size` numbers; it gets the starts in ascending order. */
struct sl_call_times sl_members_times(const struct sl_clocks *clocks, const struct sl_member *call,
                                      size_t size, enum sl_collective_type type,
                                      int64_t *starts_ns);

/* Returns how long the member waited for the last to begin. A wait below the error of the clocks is
 * 0. */
uint64_t sl_members_wait(const struct sl_clocks *clocks, const struct sl_member *call,
                         const struct sl_call_times *times, size_t i);

#endif
