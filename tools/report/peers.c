/*
 * peers.c - matches the collectives in steps, and stores for each how long the rank waited.
 *
 * Threads, memory: see peers.h.
 */
#include "report/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/calls.h"
#include "event/message.h"

#define NO_END_NS INT64_MAX
#define NO_STEP   UINT64_MAX /* the number of calls in recordings without steps */

/* A recording is a rank of struct sl_clocks. If a rank has several, it is the first of them. */
static uint32_t first_of_rank(const struct sl_recordings *all, size_t at)
{
    uint32_t i = 0;

    while (i < at &&
           (!all->of[i].header.has_rank || all->of[i].header.rank != all->of[at].header.rank))
        i++;
    return i;
}

/* Returns a number for the host of the recording. */
static uint32_t host_of(const struct sl_recordings *all, size_t at)
{
    uint32_t i = 0;

    if (!all->of[at].header.host[0])
        return SL_CLOCKS_UNKNOWN;
    while (strcmp(all->of[i].header.host, all->of[at].header.host) != 0)
        i++;
    return i;
}

/* In recordings with steps, what lies outside of them is not matched: there the ranks may have
 * recorded different calls. */
static int is_collective(const struct sl_recording *r, const struct sl_report_op *op)
{
    return op->group != 0 && !sl_message_is_p2p(op->collective) && (!r->steps || op->part % 2 != 0);
}

static size_t collect(const struct sl_recordings *all, struct sl_member *member)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct sl_recording *r = &all->of[i];
        uint32_t rank = first_of_rank(all, i);

        if (!r->header.has_rank || !r->header.has_base)
            continue;
        for (size_t k = 0; k < r->ops; k++) {
            struct sl_member *m = &member[count];

            *m = (struct sl_member){
                .group = r->op[k].group, .rank = rank, .source = (uint32_t)i, .item = (uint32_t)k};
            if (!is_collective(r, &r->op[k]) ||
                __builtin_add_overflow(r->header.base_ns,
                                       (int64_t)(r->op[k].start_ns - SL_REPORT_ORIGIN_NS),
                                       &m->start_ns) ||
                __builtin_add_overflow(m->start_ns, (int64_t)(r->op[k].end_ns - r->op[k].start_ns),
                                       &m->end_ns))
                continue;
            m->number = r->steps ? r->step[r->op[k].part / 2].number : NO_STEP;
            count++;
        }
    }
    return count;
}

static enum sl_collective_type type_of(const struct sl_recordings *all, const struct sl_member *m)
{
    return all->of[m->source].op[m->item].collective;
}

/* Returns 1 if the members are all ranks of the group, and called the same. */
static int is_whole(const struct sl_recordings *all, const struct sl_member *m, size_t size)
{
    if (size < 2 || size != sl_recording_group_size(&all->of[m->source], (uint32_t)m->group))
        return 0;
    for (size_t i = 1; i < size; i++)
        if (type_of(all, &m[i]) != type_of(all, m))
            return 0;
    return 1;
}

/* Sorts the members. Leaves out the groups whose ranks recorded different numbers of calls without
 * steps: there the order does not tell which calls are one. Returns the number of members left. */
static size_t keep_even(const struct sl_recordings *all, struct sl_member *member, size_t count)
{
    size_t kept = 0, first, end, last = 0, size;

    sl_members_sort(member, count);
    for (first = 0; first < count; first = end) {
        for (end = first; end < count && member[end].group == member[first].group &&
                          member[end].number == member[first].number;
             end += size) {
            size = sl_members_call(&member[end], count - end);
            last = end;
        }
        if (member[first].number == NO_STEP && !is_whole(all, &member[last], end - last))
            continue;
        memmove(&member[kept], &member[first], (end - first) * sizeof(*member));
        kept += end - first;
    }
    return kept;
}

/* Returns the time from the first end of the call's members to the last, or NO_END_NS if they need
 * not end together. */
static int64_t ends_apart(const struct sl_recordings *all, const struct sl_clocks *clocks,
                          const struct sl_member *m, size_t size)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

    if (!sl_message_joins_all(type_of(all, m)))
        return NO_END_NS;
    for (size_t i = 0; i < size; i++) {
        int64_t end_ns = sl_clocks_ns(clocks, m[i].rank, m[i].end_ns);

        first_ns = end_ns < first_ns ? end_ns : first_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns - first_ns;
}

/* A wait of at most `error_ns` is none. */
static void set_last(const struct sl_recordings *all, const struct sl_clocks *clocks,
                     const struct sl_member *m, size_t size, const struct sl_call_times *times,
                     int64_t error_ns, struct sl_peers *out)
{
    const struct sl_member *last = &m[times->last];

    for (size_t i = 0; i < size; i++) {
        struct sl_peers *peers = &out[m[i].source];
        uint64_t wait_ns = sl_members_wait(clocks, m, times, i);

        if (wait_ns <= (uint64_t)error_ns)
            wait_ns = 0;
        peers->last_start_ns[m[i].item] = all->of[m[i].source].op[m[i].item].start_ns + wait_ns;
        peers->last_rank[m[i].item] = all->of[last->source].header.rank;
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

/* The arguments of one match. */
struct match {
    const struct sl_recordings *all;
    struct sl_clocks *clocks;
    struct sl_member *member;
    size_t count;
    int64_t *starts_ns; /* room for the starts of one call */
    struct sl_peers *out;
};

static struct sl_call_times times_of(const struct match *match, const struct sl_member *m,
                                     size_t size)
{
    return sl_members_times(match->clocks, m, size, type_of(match->all, m), match->starts_ns);
}

/* Matches the calls of a group, if all are possible: else the members are of several calls. Returns
 * their number. */
static int64_t match_group(const struct match *match, const struct sl_member *member, size_t count)
{
    int64_t matched = 0, apart_ns = NO_END_NS;
    int is_named = *match->all->of[member->source].header.host != '\0';
    size_t size;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i += size) {
            struct sl_call_times times;

            size = sl_members_call(&member[i], count - i);
            if (!is_whole(match->all, &member[i], size))
                continue;
            times = times_of(match, &member[i], size);
            if (times.is_impossible)
                return 0;
            if (pass == 0) {
                int64_t ns = ends_apart(match->all, match->clocks, &member[i], size);

                apart_ns = ns < apart_ns ? ns : apart_ns;
                continue;
            }
            if (!times.is_comparable || (!is_named && apart_ns > SL_CLOCKS_TOLERANCE_NS))
                continue;
            set_last(match->all, match->clocks, &member[i], size, &times,
                     is_named ? 0 : 2 * apart_ns, match->out);
            matched++;
        }
    return matched;
}

static void bound(const struct sl_recordings *all, struct sl_clocks *clocks,
                  const struct sl_member *member, size_t count)
{
    size_t size;

    for (size_t i = 0; i < count; i += size) {
        size = sl_members_call(&member[i], count - i);
        if (is_whole(all, &member[i], size))
            sl_members_bound(clocks, &member[i], size, type_of(all, &member[i]), SIZE_MAX);
    }
}

static int64_t match_all(struct match *match)
{
    int64_t matched = 0;
    size_t end;

    match->count = collect(match->all, match->member);
    match->count = keep_even(match->all, match->member, match->count);
    bound(match->all, match->clocks, match->member, match->count);
    if (sl_clocks_solve(match->clocks) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < match->count; i = end) {
        for (end = i; end < match->count && match->member[end].group == match->member[i].group;
             end++)
            ;
        matched += match_group(match, &match->member[i], end - i);
    }
    return matched;
}

/* Returns room for the members of all collectives, or NULL. */
static struct sl_member *make_members(const struct sl_recordings *all, size_t *most)
{
    *most = 1;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->of[i].ops; k++)
            *most += (size_t)is_collective(&all->of[i], &all->of[i].op[k]);
    return calloc(*most, sizeof(struct sl_member));
}

int sl_peers_clocks(const struct sl_recordings *all, struct sl_clocks **out)
{
    uint32_t *host = calloc(all->count + 1, sizeof(*host));
    int rc = -ENOMEM;

    for (size_t i = 0; host && i < all->count; i++)
        host[i] = host_of(all, i);
    if (host)
        rc = sl_clocks_create(out, host, all->count);
    free(host);
    return rc;
}

int sl_peers_bound(const struct sl_recordings *all, struct sl_clocks *clocks)
{
    size_t most, count;
    struct sl_member *member = make_members(all, &most);

    if (!member)
        return -ENOMEM;
    count = collect(all, member);
    count = keep_even(all, member, count);
    bound(all, clocks, member, count);
    free(member);
    return 0;
}

int64_t sl_peers_match(const struct sl_recordings *all, struct sl_peers *out)
{
    struct match match = {.all = all, .out = out};
    int64_t matched = -ENOMEM;
    size_t most;

    match.member = make_members(all, &most);
    match.starts_ns = calloc(most, sizeof(*match.starts_ns));
    if (match.member && match.starts_ns && make_arrays(all, out) == 0 &&
        sl_peers_clocks(all, &match.clocks) == 0)
        matched = match_all(&match);
    sl_clocks_destroy(match.clocks);
    free(match.member);
    free(match.starts_ns);
    return matched;
}
