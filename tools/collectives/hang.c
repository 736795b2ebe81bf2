/*
 * hang.c - finds ranks whose calls of PyTorch differ after the last collective that all made.
 *
 * If a job hangs because rank 0 calls all_gather and rank 1 does not, no kernel ends, so no file
 * has one. But the files have the calls. All ranks make the calls of a group in one order: so after
 * the last collective whose kernel all ranks recorded, the k-th calls of all ranks must be the
 * same. Without such a collective, calls are counted from the beginning of the files, which is the
 * same on all ranks only if their first calls are.
 *
 * Calls whose kernels are there are not compared here, because the kernels were.
 *
 * Threads, memory: see summary.h; also 56 bytes for each call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/match.h"
#include "event/message.h"

/* A rank that made no call is named only if another rank waited this long. The file of a process
 * that was killed may lack its last second. */
#define HANG_NS 2000000000ll

/* `number` of a member, until the calls are counted: the collective of all ranks that it is part
 * of, plus 1; or 0 for a call. */

static int by_time(const void *a, const void *b)
{
    const struct sl_member *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Copies the collectives that all ranks made, by the time of their launch, and all calls. */
static size_t copy_members(const struct sl_match *w, const uint8_t *is_whole, struct sl_member *to)
{
    size_t count = 0, call = 0, size;

    for (size_t i = 0; i < w->members; i += size) {
        size = sl_members_call(&w->member[i], w->members - i);
        call++;
        for (size_t k = i; k < i + size && is_whole[i]; k++) {
            const struct sl_rank_part *part = sl_match_part(w, &w->member[k]);

            if (sl_message_is_p2p(part->type) || part->type == SL_COLLECTIVE_BATCH)
                continue;
            to[count] = w->member[k];
            to[count].group = part->group;
            if (__builtin_add_overflow(part->launch_ns,
                                       w->all->file[to[count].source].header.base_ns,
                                       &to[count].start_ns))
                continue;
            to[count++].number = call;
        }
    }
    for (size_t i = 0; i < w->all->files; i++) {
        const struct sl_rank_file *file = &w->all->file[i];

        for (size_t k = 0; k < file->calls && w->all->rank[file->rank].number >= 0; k++)
            to[count++] = (struct sl_member){.group = file->call[k].group,
                                             .start_ns = file->call[k].start_ns,
                                             .rank = file->rank,
                                             .source = (uint32_t)i,
                                             .item = (uint32_t)(file->parts + k)};
    }
    return count;
}

/* Returns the member from which the calls of a rank are counted: its last collective of all
 * ranks, or else its first call. */
static size_t base_of(const struct sl_member *member, size_t count)
{
    size_t base = 0;

    for (size_t i = 0; i < count; i++)
        base = member[i].number ? i : base;
    return base;
}

/* Returns 1 if the calls of a rank can be counted from the base. */
static int is_countable(const struct sl_match *w, const struct sl_member *base, size_t count)
{
    if (base->number && !sl_match_part(w, base)->has_launch)
        return 0; /* the kernel may have begun after later calls */
    for (size_t i = 1; i < count; i++)
        if (base[i].source != base->source)
            return 0; /* calls between two files are not known */
    return 1;
}

/* Keeps of a group the base of each rank and its calls after it, and numbers them from 0. Returns
 * their number; 0 also if the ranks cannot be compared. */
static size_t number_calls(const struct sl_match *w, struct sl_member *member, size_t count)
{
    uint64_t whole = 0;
    size_t kept = 0;

    for (size_t i = 0, size; i < count; i += size) {
        size_t base;

        for (size = 1; i + size < count && member[i + size].rank == member[i].rank; size++)
            ;
        base = i + base_of(&member[i], size);
        if ((i && member[base].number != whole) || !is_countable(w, &member[base], i + size - base))
            return 0;
        whole = member[base].number;
        for (size_t k = base; k < i + size; k++) {
            member[kept] = member[k];
            member[kept++].number = k - base;
        }
    }
    return kept;
}

/* ---- comparison ---- */

static int is_one_call(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 1; i < size; i++)
        if (!sl_problems_one_call(sl_match_part(w, call), sl_match_part(w, &call[i])))
            return 0;
    return 1;
}

static int has_open(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (sl_match_part(w, &call[i])->is_open)
            return 1;
    return 0;
}

/* Returns 1 if no rank went on, and one waited until its file ends. */
static int hangs(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    int is_long = 0;

    for (size_t i = 0; i < size; i++) {
        if (!sl_match_part(w, &call[i])->is_open)
            return 0;
        is_long |= w->all->file[call[i].source].end_ns / 2 - call[i].start_ns / 2 > HANG_NS / 2;
    }
    return is_long;
}

/* Returns 1 if the file would have a call that its rank made at this time. The file of a process
 * that was killed, or still runs, has all but the last second. */
static int reaches(const struct sl_rank_file *file, int64_t ns)
{
    size_t size = strlen(file->path);
    int is_part = size > 5 && strcmp(file->path + size - 5, ".part") == 0;

    return file->calls && (file->is_recovered || is_part || (!file->is_cut && file->end_ns > ns));
}

/* Names the ranks that made the call before, but not this one. */
static void find_silent(struct sl_match *w, const struct sl_member *before, size_t befores,
                        const struct sl_member *call, size_t size)
{
    uint32_t *absent = calloc(befores + 1, sizeof(*absent));
    uint8_t *is_odd = calloc(size + 1, 1);
    const struct sl_member *last = NULL;
    size_t absents = 0, known = w->s->problems;

    for (size_t i = 0, k = 0; absent && i < befores; i++) {
        while (k < size && call[k].rank < before[i].rank)
            k++;
        if ((k < size && call[k].rank == before[i].rank) ||
            !reaches(&w->all->file[before[i].source], call->start_ns))
            continue;
        last = last ? last : &before[i];
        absent[absents++] = before[i].rank;
    }
    if (!absent || !is_odd)
        w->failed = -ENOMEM;
    else if (absents)
        sl_problems_add(w, SL_PROBLEM_MISSING, call, size, is_odd, absent, absents);
    if (w->s->problems > known && !w->failed)
        w->s->problem[known].last = sl_match_part(w, last);
    free(absent);
    free(is_odd);
}

/* Names the first calls of a group that differ: what follows differs too. */
static void compare_calls(struct sl_match *w, const struct sl_member *member, size_t count)
{
    const struct sl_member *before = member, *call;
    size_t befores = sl_members_call(member, count), size;

    if (!is_one_call(w, before, befores))
        return;
    for (size_t i = befores; i < count && !w->failed; i += size) {
        call = &member[i];
        size = sl_members_call(call, count - i);
        if (!has_open(w, call, size)) {
            if (!is_one_call(w, call, size))
                return;
        } else if (!sl_problems_check(w, call, size, SL_PROBLEM_CALL, sl_problems_one_call) ||
                   !sl_problems_check(w, call, size, SL_PROBLEM_SIZE, sl_problems_one_size)) {
            return;
        }
        if (size < befores) {
            if (hangs(w, call, size))
                find_silent(w, before, befores, call, size);
            return;
        }
        before = call;
        befores = size;
    }
}

void sl_hang_find(struct sl_match *w, const uint8_t *is_whole)
{
    size_t room = w->members + 1, count, kept;
    struct sl_member *member;

    for (size_t i = 0; i < w->all->files; i++)
        room += w->all->file[i].calls;
    member = calloc(room, sizeof(*member));
    if (!member) {
        w->failed = -ENOMEM;
        return;
    }
    count = copy_members(w, is_whole, member);
    if (count)
        qsort(member, count, sizeof(*member), by_time);
    for (size_t i = 0, end; i < count && !w->failed; i = end) {
        for (end = i; end < count && member[end].group == member[i].group; end++)
            ;
        kept = number_calls(w, &member[i], end - i);
        sl_members_sort(&member[i], kept);
        if (kept)
            compare_calls(w, &member[i], kept);
    }
    free(member);
}
