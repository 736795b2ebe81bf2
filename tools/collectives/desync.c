/*
 * desync.c - finds ranks that called different functions of NCCL at the same place.
 *
 * NCCL numbers each function of a communicator alone. So if rank 3 called AllGather where the
 * others called AllReduce, no number is there twice. But all ranks make the calls of a communicator
 * in one order: after a call that all ranks made, each must make the same next.
 *
 * Threads, memory: see summary.h; also 56 bytes for each call that not all ranks made.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectives/match.h"

/* The members that NCCL numbers, by communicator, rank and time. */
static int by_time(const void *a, const void *b)
{
    const struct sl_member *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Copies these members. `group` becomes the communicator, and `number` is 1 if the call is whole.
 */
static size_t copy_members(const struct sl_match *w, const uint8_t *is_whole, struct sl_member *to)
{
    size_t count = 0;

    for (size_t i = 0; i < w->members; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &w->member[i]);

        if (part->numbered != SL_NUMBERED_BY_NCCL)
            continue;
        to[count] = w->member[i];
        to[count].group = part->comm;
        to[count++].number = is_whole[i];
    }
    return count;
}

/* Keeps the members of calls that are not whole, after a whole one of the communicator, and numbers
 * them by it. Returns their number. Before the first whole call, ranks may have recorded different
 * calls. */
static size_t keep_left(struct sl_member *member, size_t count)
{
    uint64_t whole = 0, comm = 0;
    uint32_t rank = 0;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || member[i].group != comm || member[i].rank != rank)
            whole = 0;
        comm = member[i].group;
        rank = member[i].rank;
        if (member[i].number) {
            whole++;
        } else if (whole) {
            member[kept] = member[i];
            member[kept++].number = whole;
        }
    }
    return kept;
}

void sl_desync_find(struct sl_match *w, const uint8_t *is_whole)
{
    struct sl_member *left = calloc(w->members + 1, sizeof(*left));
    size_t count, size;

    if (!left) {
        w->failed = -ENOMEM;
        return;
    }
    count = copy_members(w, is_whole, left);
    if (count)
        qsort(left, count, sizeof(*left), by_time);
    count = keep_left(left, count);
    sl_members_sort(left, count);
    for (size_t i = 0; i < count && !w->failed; i += size) {
        size = sl_members_call(&left[i], count - i);
        sl_problems_check(w, &left[i], size, SL_PROBLEM_CALL, sl_problems_one_call);
    }
    free(left);
}
