/*
 * match.h - the state while the parts of all ranks are matched.
 *
 * Used only by the files that make the summary. Threads, memory: see summary.h.
 */
#ifndef SL_COLLECTIVES_MATCH_H
#define SL_COLLECTIVES_MATCH_H

#include "align/calls.h"
#include "collectives/summary.h"

/* The numbers that a file has of a group. */
struct sl_match_range {
    uint32_t rank, source;
    uint64_t least, most;
};

struct sl_match {
    struct sl_summary *s;
    struct sl_ranks *all;
    struct sl_member *member;
    size_t members;
    size_t *present;              /* of each group: how many of its known ranks have a file */
    int64_t *starts_ns;           /* room for the starts of a call */
    struct sl_match_range *range; /* of the group at hand */
    size_t ranges, range_slots;
    int has_batches; /* 1: messages share kernels */
    int failed;
};

static inline const struct sl_rank_part *sl_match_part(const struct sl_match *w,
                                                       const struct sl_member *m)
{
    const struct sl_rank_file *file = &w->all->file[m->source];

    return m->item < file->parts ? &file->part[m->item] : &file->call[m->item - file->parts];
}

static inline int64_t sl_match_rank(const struct sl_match *w, const struct sl_member *m)
{
    return w->all->rank[m->rank].number;
}

/* Returns the member's own rank, in the numbers of `peer` and `root`. */
static inline int64_t sl_match_self(const struct sl_match *w, const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);

    return part->is_nccl ? part->self : sl_match_rank(w, m);
}

/* Numbers the messages of each two ranks, also those whose kernels cannot be matched. */
void sl_messages_number(struct sl_match *w);

/* Returns the order of a member that is a message. */
uint32_t sl_messages_order(const struct sl_match *w, const struct sl_member *m);

/* Returns the group of a member that is a message, or several in one kernel; below 2^61. */
uint64_t sl_messages_key(const struct sl_match *w, const struct sl_member *m);

/* Returns 0 if the parts are kernels with different messages. */
int sl_messages_agree(const struct sl_rank_part *a, const struct sl_rank_part *b);

/* Names ranks that called different functions of NCCL after the same call. Their own numbers do not
 * tell, because NCCL numbers each function alone. `is_whole` is 1 for members whose call all ranks
 * with a file made. */
void sl_desync_find(struct sl_match *w, const uint8_t *is_whole);

/* Names ranks whose calls of PyTorch differ after the last collective of the group that all ranks
 * made. `is_whole` as above. */
void sl_hang_find(struct sl_match *w, const uint8_t *is_whole);

/* Returns 1 if both ends are the same call, or the two ends of a message. */
int sl_problems_one_call(const struct sl_rank_part *a, const struct sl_rank_part *b);

/* Returns 1 if both ends have the same size and type of elements, where they must. */
int sl_problems_one_size(const struct sl_rank_part *a, const struct sl_rank_part *b);

/* Keeps a problem. `is_odd` tells the members of both sides; ranks of `absent` are odd too. */
void sl_problems_add(struct sl_match *w, enum sl_problem_kind kind, const struct sl_member *call,
                     size_t size, const uint8_t *is_odd, const uint32_t *absent, size_t absents);

/* Compares the members of a call. Returns 1 if they agree; else names those that do as the fewest
 * others do. */
int sl_problems_check(struct sl_match *w, const struct sl_member *call, size_t size,
                      enum sl_problem_kind kind,
                      int (*agree)(const struct sl_rank_part *, const struct sl_rank_part *));

#endif
