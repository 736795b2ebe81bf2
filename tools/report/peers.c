/*
 * peers.c - sorts the collectives of all ranks by group, step and order, so that those of one call
 * stand side by side.
 *
 * Threads, memory: see peers.h.
 */
#include "report/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/collective.h"

#define CLOCK_ERROR_NS 50000 /* more than clocks of GPUs of one host differ */
#define NO_END_NS      INT64_MAX

struct member {
    uint64_t step; /* number of the step; 0: the time between steps, or no steps */
    uint32_t group, order;
    uint32_t recording, op;
    int64_t start_ns; /* since the epoch */
};

static int order_of_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->recording > y->recording) - (x->recording < y->recording);
}

/* Numbers the members of each recording, group and step by their start. */
static int order_to_number(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->recording != y->recording)
        return x->recording < y->recording ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static int is_collective(const struct sl_report_op *op)
{
    return op->group != 0 && op->collective != SL_COLLECTIVE_SEND &&
           op->collective != SL_COLLECTIVE_RECV && op->part % 2 != 0;
}

static size_t collect(const struct sl_recordings *all, struct member *member)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct sl_recording *r = &all->of[i];

        if (!r->header.has_rank || !r->header.has_base)
            continue;
        for (size_t k = 0; k < r->ops; k++)
            if (is_collective(&r->op[k]))
                member[count++] =
                    (struct member){.step = r->step[r->op[k].part / 2].number,
                                    .group = r->op[k].group,
                                    .recording = (uint32_t)i,
                                    .op = (uint32_t)k,
                                    .start_ns = r->header.base_ns +
                                                (int64_t)(r->op[k].start_ns - SL_REPORT_ORIGIN_NS)};
    }
    return count;
}

static void number(struct member *member, size_t count)
{
    qsort(member, count, sizeof(*member), order_to_number);
    for (size_t i = 1; i < count; i++) {
        const struct member *before = &member[i - 1];

        if (member[i].recording == before->recording && member[i].group == before->group &&
            member[i].step == before->step)
            member[i].order = before->order + 1;
    }
}

/* Returns the number of members of one call, from `first` on. */
static size_t call_size(const struct member *first, size_t left)
{
    size_t size = 1;

    while (size < left && first[size].group == first->group && first[size].step == first->step &&
           first[size].order == first->order)
        size++;
    return size;
}

/* Returns 1 if the members are all ranks of the group, each once, on one host. */
static int is_whole(const struct sl_recordings *all, const struct member *m, size_t size)
{
    if (size < 2 || size != sl_recording_group_size(&all->of[m->recording], m->group))
        return 0;
    for (size_t i = 1; i < size; i++) {
        const struct sl_header *a = &all->of[m[i - 1].recording].header,
                               *b = &all->of[m[i].recording].header;

        if (a->rank == b->rank || strcmp(a->host, b->host) != 0)
            return 0;
    }
    return 1;
}

/* Returns 1 if each rank needs the data of all others, so that none can end before the last begins.
 */
static int is_synchronous(const struct sl_report_op *op)
{
    return op->collective == SL_COLLECTIVE_ALL_REDUCE ||
           op->collective == SL_COLLECTIVE_ALL_GATHER ||
           op->collective == SL_COLLECTIVE_REDUCE_SCATTER ||
           op->collective == SL_COLLECTIVE_ALL_TO_ALL;
}

static const struct member *last_of(const struct member *m, size_t size)
{
    const struct member *last = m;

    for (size_t i = 1; i < size; i++)
        last = m[i].start_ns > last->start_ns ? &m[i] : last;
    return last;
}

/* Returns 1 if a member of the call ended before the last began, although each needs data of all.
 * Then the clocks differ, or the members are of several calls. */
static int is_impossible(const struct sl_recordings *all, const struct member *m, size_t size)
{
    int64_t last_ns = last_of(m, size)->start_ns;

    for (size_t i = 0; i < size; i++) {
        const struct sl_report_op *op = &all->of[m[i].recording].op[m[i].op];

        if (!is_synchronous(op))
            return 0;
        if (m[i].start_ns + (int64_t)(op->end_ns - op->start_ns) + CLOCK_ERROR_NS < last_ns)
            return 1;
    }
    return 0;
}

/* Returns the time from the first end of the call's members to the last, or NO_END_NS if they need
 * not end together. */
static int64_t ends_apart(const struct sl_recordings *all, const struct member *m, size_t size)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

    for (size_t i = 0; i < size; i++) {
        const struct sl_report_op *op = &all->of[m[i].recording].op[m[i].op];
        int64_t end_ns = m[i].start_ns + (int64_t)(op->end_ns - op->start_ns);

        if (!is_synchronous(op))
            return NO_END_NS;
        first_ns = end_ns < first_ns ? end_ns : first_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns - first_ns;
}

static int names_host(const struct sl_recordings *all, const struct member *m)
{
    return *all->of[m->recording].header.host != '\0';
}

/* Starts that are at most `error_ns` apart count as one moment. */
static void set_last(const struct sl_recordings *all, const struct member *m, size_t size,
                     int64_t error_ns, struct sl_peers *out)
{
    const struct member *last = last_of(m, size);

    for (size_t i = 0; i < size; i++) {
        struct sl_peers *peers = &out[m[i].recording];
        int64_t last_ns =
            last->start_ns - m[i].start_ns <= error_ns ? m[i].start_ns : last->start_ns;

        peers->last_start_ns[m[i].op] =
            (uint64_t)(last_ns - all->of[m[i].recording].header.base_ns) + SL_REPORT_ORIGIN_NS;
        peers->last_rank[m[i].op] = all->of[last->recording].header.rank;
    }
}

static int make_arrays(const struct sl_recordings *all, struct sl_peers *out)
{
    for (size_t i = 0; i < all->count; i++) {
        out[i].last_start_ns = calloc(all->of[i].ops + 1, sizeof(*out[i].last_start_ns));
        out[i].last_rank = calloc(all->of[i].ops + 1, sizeof(*out[i].last_rank));
        if (!out[i].last_start_ns || !out[i].last_rank)
            return -ENOMEM;
    }
    return 0;
}

void sl_peers_free(struct sl_peers *p)
{
    free(p->last_start_ns);
    free(p->last_rank);
    *p = (struct sl_peers){0};
}

/* Matches the calls of a group, if all are possible. Returns their number. */
static int64_t match_group(const struct sl_recordings *all, const struct member *member,
                           size_t count, struct sl_peers *out)
{
    int64_t matched = 0, apart_ns = NO_END_NS;
    int is_named = names_host(all, member);
    size_t size;

    for (size_t i = 0; i < count; i += size) {
        int64_t ns;

        size = call_size(&member[i], count - i);
        if (!is_whole(all, &member[i], size))
            continue;
        if (is_impossible(all, &member[i], size))
            return 0;
        ns = ends_apart(all, &member[i], size);
        apart_ns = ns < apart_ns ? ns : apart_ns;
    }
    if (!is_named && apart_ns > CLOCK_ERROR_NS)
        return 0;
    for (size_t i = 0; i < count; i += size) {
        size = call_size(&member[i], count - i);
        if (!is_whole(all, &member[i], size))
            continue;
        set_last(all, &member[i], size, is_named ? 0 : 2 * apart_ns, out);
        matched++;
    }
    return matched;
}

int64_t sl_peers_match(const struct sl_recordings *all, struct sl_peers *out)
{
    struct member *member = NULL;
    size_t most = 1, count = 0, end;
    int64_t matched = 0;

    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->of[i].ops; k++)
            most += (size_t)is_collective(&all->of[i].op[k]);
    member = calloc(most, sizeof(*member));
    if (!member || make_arrays(all, out) != 0)
        matched = -ENOMEM;
    if (matched == 0) {
        count = collect(all, member);
        number(member, count);
        qsort(member, count, sizeof(*member), order_of_members);
    }
    for (size_t i = 0; i < count; i = end) {
        for (end = i; end < count && member[end].group == member[i].group; end++)
            ;
        matched += match_group(all, &member[i], end - i, out);
    }
    free(member);
    return matched;
}
