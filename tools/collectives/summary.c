/*
 * summary.c - the matching of the parts, and the rows.
 *
 * Threads, memory: see summary.h.
 */
#include "collectives/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/match.h"
#include "event/message.h"
#include "read/grow.h"

/* The group of a member. Parts that are numbered differently never match. */
#define KEY_NCCL     (1ull << 63)
#define KEY_NUMBERED (1ull << 62)
#define KEY_P2P      (1ull << 61)

/* ---- rows ---- */

static int bucket_of(uint64_t size)
{
    if (size == SL_MESSAGE_UNKNOWN)
        return -2;
    return size ? 63 - __builtin_clzll(size) : -1;
}

static int is_one_row(const struct sl_rank_part *a, const struct sl_rank_part *b)
{
    return a->group == b->group && a->call == b->call && a->type == b->type &&
           bucket_of(a->size) == bucket_of(b->size);
}

static struct sl_summary_row *row_of(struct sl_match *w, const struct sl_rank_part *part)
{
    struct sl_summary *s = w->s;
    int bucket = bucket_of(part->size);
    struct sl_summary_row *row;

    for (size_t i = 0; i < s->rows; i++)
        if (s->row[i].group == part->group && s->row[i].call == part->call &&
            s->row[i].bucket == bucket && s->row[i].type == part->type)
            return &s->row[i];
    row = sl_grow((void **)&s->row, &s->rows, &s->row_slots, sizeof(*row));
    if (row) {
        row->group = part->group;
        row->call = part->call;
        row->type = part->type;
        row->bucket = bucket;
        row->sample = 1;
        row->last = calloc(w->all->ranks + 1, sizeof(*row->last));
    }
    if (!row || !row->last)
        w->failed = -ENOMEM;
    return w->failed ? NULL : row;
}

/* Returns for how many collectives a recorded one stands. */
static uint64_t weight_of(const struct sl_match *w, const struct sl_member *m)
{
    uint64_t sample = w->all->file[m->source].header.nccl_sample;

    return sl_match_part(w, m)->is_nccl && sample > 1 ? sample : 1;
}

/* Adds what a rank alone knows of a collective. */
static void add_part(const struct sl_match *w, struct sl_summary_row *row,
                     const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);
    uint64_t weight = weight_of(w, m);

    row->sample = weight > row->sample ? weight : row->sample;
    row->kernel_ns += weight * part->kernel_ns;
    row->exposed_ns += weight * part->exposed_ns;
    row->launches += part->is_launch;
    if (part->is_launch || part->is_shared || part->size == SL_MESSAGE_UNKNOWN)
        return;
    row->local_bytes += (double)part->size;
    row->local_ns += (double)(part->end_ns - part->start_ns);
}

/* Adds a collective that other ranks did not record, or whose ends do not agree. Each of its parts
 * counts in the row of its own call. */
static void add_untimed(struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 0; i < size && !w->failed; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &call[i]);
        struct sl_summary_row *row = row_of(w, part);
        int is_first = 1;

        for (size_t k = 0; k < i && is_first; k++)
            is_first = !is_one_row(sl_match_part(w, &call[k]), part);
        if (!row)
            return;
        row->count += is_first ? weight_of(w, &call[i]) : 0;
        row->shared += is_first && part->is_shared ? weight_of(w, &call[i]) : 0;
        add_part(w, row, &call[i]);
    }
}

/* Returns the member whose call names the collective: the sender, so that a pair has one row. */
static size_t model_of(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 1; i < size; i++)
        if (sl_match_part(w, &call[i])->type == SL_COLLECTIVE_SEND)
            return i;
    return 0;
}

static void add_timed(struct sl_match *w, const struct sl_member *call, size_t size,
                      const struct sl_call_times *times)
{
    const struct sl_rank_part *first = sl_match_part(w, &call[model_of(w, call, size)]);
    struct sl_summary_row *row = row_of(w, first);
    uint64_t transfer_ns = (uint64_t)(times->last_end_ns - times->last_start_ns);
    uint64_t late_ns = (uint64_t)(times->last_start_ns - times->median_ns);
    uint64_t least_ns =
        transfer_ns / 10 > SL_SUMMARY_LATE_NS ? transfer_ns / 10 : SL_SUMMARY_LATE_NS;
    uint64_t weight = weight_of(w, call);
    int is_shared = 0;

    if (!row)
        return;
    for (size_t i = 0; i < size; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &call[i]);
        uint64_t length_ns = (uint64_t)(part->end_ns - part->start_ns);
        uint64_t wait_ns = sl_members_wait(w->s->clocks, call, times, i);

        add_part(w, row, &call[i]);
        is_shared |= part->is_shared;
        row->waiting_ns += weight * (wait_ns < length_ns ? wait_ns : length_ns);
    }
    row->count += weight;
    row->timed += weight;
    row->shared += is_shared ? weight : 0;
    row->transfer_ns += weight * transfer_ns;
    if (!is_shared && first->size != SL_MESSAGE_UNKNOWN) {
        row->bytes += (double)first->size;
        row->ns += (double)transfer_ns;
    }
    least_ns = times->error_ns > least_ns ? times->error_ns : least_ns;
    if (late_ns > least_ns)
        row->last[call[times->last].rank] += weight;
    else
        row->together += weight;
}

int sl_summary_bandwidth(const struct sl_summary *s, const struct sl_summary_row *row,
                         double *algorithm, double *bus)
{
    size_t ranks = s->all->group[row->group].ranks;
    int is_timed = row->ns > 0;
    double bytes = is_timed ? row->bytes : row->local_bytes;
    double ns = is_timed ? row->ns : row->local_ns;

    if (ns <= 0 || bytes <= 0)
        return 0;
    *algorithm = bytes / ns;
    *bus = *algorithm * sl_message_bus_factor(row->type, ranks);
    return is_timed ? 1 : 2;
}

/* ---- calls ---- */

/* Returns the number of ranks that a call needs, or 0 if it is not known. */
static size_t needed(const struct sl_match *w, const struct sl_member *call)
{
    const struct sl_rank_part *part = sl_match_part(w, call);

    return sl_message_is_p2p(part->type) ? 2 : w->all->group[part->group].ranks;
}

/* Returns the member of the root or sender, or SIZE_MAX. */
static size_t root_of(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &call[i]);

        if (part->type == SL_COLLECTIVE_SEND ||
            (part->root >= 0 && part->root == sl_match_self(w, &call[i])))
            return i;
    }
    return SIZE_MAX;
}

/* Returns how many known ranks of a group have a file. */
static size_t present_of(const struct sl_match *w, uint32_t group)
{
    const struct sl_rank_group *g = &w->all->group[group];
    size_t present = 0, at = 0;

    for (size_t i = 0; i < w->all->ranks && w->all->rank[i].number >= 0; i++) {
        while (at < g->known && g->rank[at] < w->all->rank[i].number)
            at++;
        present += at < g->known && g->rank[at] == w->all->rank[i].number;
    }
    return present;
}

static int agrees(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 1; i < size; i++)
        if (!sl_problems_one_call(sl_match_part(w, call), sl_match_part(w, &call[i])) ||
            !sl_problems_one_size(sl_match_part(w, call), sl_match_part(w, &call[i])))
            return 0;
    return 1;
}

static int is_whole(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    return size > 1 && size == needed(w, call) &&
           sl_messages_agree(sl_match_part(w, call), sl_match_part(w, &call[1]));
}

/* Returns how the ranks of a call depend on each other. Only messages between two ranks are
 * matched, and then neither leaves a BATCH before both have begun. */
static enum sl_collective_type dependence_of(const struct sl_match *w, const struct sl_member *call)
{
    enum sl_collective_type type = sl_match_part(w, call)->type;

    return type == SL_COLLECTIVE_BATCH ? SL_COLLECTIVE_ALL_TO_ALL : type;
}

/* Returns 1 if all ranks recorded their kernels. */
static int has_times(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (sl_match_part(w, &call[i])->is_launch)
            return 0;
    return 1;
}

/* Returns 1 if all ranks that have a file made the call. */
static int is_of_all_files(const struct sl_match *w, const struct sl_member *call, size_t size)
{
    const struct sl_rank_part *part = sl_match_part(w, call);

    return is_whole(w, call, size) ||
           (size > 1 && !sl_message_is_p2p(part->type) && size == w->present[part->group]);
}

static struct sl_call_times times_of(const struct sl_match *w, const struct sl_member *call,
                                     size_t size)
{
    return sl_members_times(w->s->clocks, call, size, dependence_of(w, call), w->starts_ns);
}

/* Finds the numbers that each file has of the group whose members are given. */
static void find_ranges(struct sl_match *w, const struct sl_member *member, size_t count)
{
    w->ranges = 0;
    for (size_t i = 0; i < count; i++) {
        struct sl_match_range *at = NULL;

        for (size_t k = 0; k < w->ranges && !at; k++)
            if (w->range[k].source == member[i].source)
                at = &w->range[k];
        if (!at) {
            at = sl_grow((void **)&w->range, &w->ranges, &w->range_slots, sizeof(*at));
            if (!at) {
                w->failed = -ENOMEM;
                return;
            }
            *at = (struct sl_match_range){member[i].rank, member[i].source, member[i].number,
                                          member[i].number};
        }
        at->most = member[i].number; /* members are in the order of numbers */
    }
}

/* Finds the ranks whose files have numbers on both sides of this call, but not the call. Returns
 * their number; 0 also if the files of a rank do not reach that far. */
static size_t find_missing(const struct sl_match *w, const struct sl_member *call, size_t size,
                           uint32_t *missing)
{
    size_t count = 0;

    /* NCCL leaves out no number: a record was lost. Without steps, files may begin at different
     * calls. The other rank may have a message in a batch. */
    if (sl_match_part(w, call)->numbered == SL_NUMBERED_BY_NCCL ||
        (sl_match_part(w, call)->numbered == SL_NUMBERED_BY_STEP && !call->number) ||
        (sl_message_is_p2p(sl_match_part(w, call)->type) && w->has_batches))
        return 0;
    for (size_t i = 0; i < w->ranges; i++) {
        uint32_t rank = w->range[i].rank;
        int covers = 0, is_there = 0, is_known = 0;

        for (size_t k = 0; k < w->ranges; k++)
            covers |= w->range[k].rank == rank && call->number >= w->range[k].least &&
                      call->number <= w->range[k].most;
        if (!covers)
            return 0;
        for (size_t k = 0; k < size; k++)
            is_there |= call[k].rank == rank;
        for (size_t k = 0; k < count; k++)
            is_known |= missing[k] == rank;
        if (!is_there && !is_known)
            missing[count++] = rank;
    }
    return count;
}

/* Takes a call that not all ranks recorded. */
static void take_incomplete(struct sl_match *w, const struct sl_member *call, size_t size)
{
    int is_p2p = sl_message_is_p2p(sl_match_part(w, call)->type);
    uint32_t *missing = calloc(w->ranges + 1, sizeof(*missing));
    uint8_t *is_odd = calloc(size, 1);
    size_t count;

    if (!missing || !is_odd) {
        w->failed = -ENOMEM;
    } else {
        count = find_missing(w, call, size, missing);
        if (count)
            sl_problems_add(w, SL_PROBLEM_MISSING, call, size, is_odd, missing, count);
        else if (needed(w, call) != 1)
            w->s->unmatched[is_p2p ? SL_UNMATCHED_MESSAGE : SL_UNMATCHED_ABSENT] +=
                is_p2p ? size : 1;
        if (sl_problems_check(w, call, size, SL_PROBLEM_CALL, sl_problems_one_call) &&
            is_of_all_files(w, call, size))
            sl_problems_check(w, call, size, SL_PROBLEM_SIZE, sl_problems_one_size);
        add_untimed(w, call, size);
    }
    free(missing);
    free(is_odd);
}

static void take_call(struct sl_match *w, const struct sl_member *call, size_t size)
{
    struct sl_call_times times;

    if (!is_whole(w, call, size)) {
        take_incomplete(w, call, size);
        return;
    }
    w->s->matched++;
    if (sl_problems_check(w, call, size, SL_PROBLEM_CALL, sl_problems_one_call) &&
        sl_problems_check(w, call, size, SL_PROBLEM_SIZE, sl_problems_one_size) &&
        !w->s->is_bad[sl_match_part(w, call)->group] && has_times(w, call, size)) {
        times = times_of(w, call, size);
        if (times.is_comparable && times.last_end_ns > times.last_start_ns) {
            add_timed(w, call, size, &times);
            return;
        }
    }
    add_untimed(w, call, size);
}

/* Names the first call of a group that a rank left before another began it. Then members of
 * several calls were matched, and the group is not timed. */
static void check_times(struct sl_match *w, const struct sl_member *call, size_t size)
{
    uint8_t *is_odd, *is_bad = &w->s->is_bad[sl_match_part(w, call)->group];
    struct sl_call_times times;

    if (*is_bad || !is_whole(w, call, size) || !agrees(w, call, size) || !has_times(w, call, size))
        return;
    times = times_of(w, call, size);
    if (!times.is_comparable || !times.is_impossible)
        return;
    *is_bad = 1;
    is_odd = calloc(size, 1);
    if (!is_odd) {
        w->failed = -ENOMEM;
        return;
    }
    is_odd[times.last] = 1;
    sl_problems_add(w, SL_PROBLEM_IMPOSSIBLE, call, size, is_odd, NULL, 0);
    free(is_odd);
}

static void bound_call(struct sl_match *w, const struct sl_member *call, size_t size)
{
    if (is_whole(w, call, size) && agrees(w, call, size) && has_times(w, call, size))
        sl_members_bound(w->s->clocks, call, size, dependence_of(w, call), root_of(w, call, size));
}

static void each_call(struct sl_match *w, size_t first, size_t end,
                      void (*take)(struct sl_match *w, const struct sl_member *call, size_t size))
{
    size_t size;

    for (size_t i = first; i < end && !w->failed; i += size) {
        size = sl_members_call(&w->member[i], end - i);
        take(w, &w->member[i], size);
    }
}

/* ---- members ---- */

static uint64_t key_of(const struct sl_match *w, const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);

    if (sl_message_is_p2p(part->type))
        return KEY_P2P | sl_messages_key(w, m);
    if (part->numbered == SL_NUMBERED_BY_NCCL)
        return KEY_NCCL | (part->comm + part->func * 0x9e3779b97f4a7c15u) >> 1;
    return part->group | (part->numbered == SL_NUMBERED_BY_SEQ ? KEY_NUMBERED : 0);
}

/* Returns why the part of a member cannot be matched, or SL_UNMATCHED_KINDS. */
static enum sl_unmatched why_not(const struct sl_match *w, const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);

    if (sl_match_rank(w, m) < 0)
        return SL_UNMATCHED_RANK;
    if (sl_message_is_p2p(part->type) && (part->peer < 0 || part->peer == sl_match_self(w, m)))
        return SL_UNMATCHED_PEERS;
    return part->is_loose ? SL_UNMATCHED_STEP : SL_UNMATCHED_KINDS;
}

/* Makes a member of each part that can be matched, and counts the others at once. */
static void collect(struct sl_match *w)
{
    for (size_t i = 0; i < w->all->files; i++) {
        const struct sl_rank_file *file = &w->all->file[i];

        for (size_t k = 0; k < file->parts && !w->failed; k++) {
            const struct sl_rank_part *part = &file->part[k];
            struct sl_member m = {.number = part->number,
                                  .start_ns = part->start_ns,
                                  .end_ns = part->end_ns,
                                  .rank = file->rank,
                                  .source = (uint32_t)i,
                                  .item = (uint32_t)k};
            enum sl_unmatched why = why_not(w, &m);

            if (why != SL_UNMATCHED_KINDS) {
                add_untimed(w, &m, 1);
                w->s->unmatched[why] += w->all->group[part->group].ranks != 1;
            } else {
                m.group = key_of(w, &m);
                w->member[w->members++] = m;
            }
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct sl_summary_row *x = a, *y = b;

    if (x->kernel_ns != y->kernel_ns)
        return x->kernel_ns > y->kernel_ns ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static void find_desynced(struct sl_match *w)
{
    uint8_t *whole = calloc(w->members + 1, 1);
    size_t size;

    for (size_t i = 0; whole && i < w->members; i += size) {
        size = sl_members_call(&w->member[i], w->members - i);
        if (is_of_all_files(w, &w->member[i], size))
            memset(whole + i, 1, size);
    }
    if (whole) {
        sl_desync_find(w, whole);
        sl_hang_find(w, whole);
    } else {
        w->failed = -ENOMEM;
    }
    free(whole);
}

static void match(struct sl_match *w)
{
    collect(w);
    sl_members_order(w->member, w->members);
    sl_messages_number(w);
    for (size_t i = 0; i < w->members; i++)
        if (sl_message_is_p2p(sl_match_part(w, &w->member[i])->type))
            w->member[i].order = sl_messages_order(w, &w->member[i]);
    sl_members_join(w->member, w->members);
    each_call(w, 0, w->members, bound_call);
    if (!w->failed)
        w->failed = sl_clocks_solve(w->s->clocks);
    each_call(w, 0, w->members, check_times);
    find_desynced(w);
    for (size_t i = 0, end; i < w->members && !w->failed; i = end) {
        for (end = i; end < w->members && w->member[end].group == w->member[i].group; end++)
            ;
        find_ranges(w, &w->member[i], end - i);
        each_call(w, i, end, take_call);
    }
    if (w->s->rows)
        qsort(w->s->row, w->s->rows, sizeof(*w->s->row), by_time);
}

int sl_summary_make(struct sl_summary *s, struct sl_ranks *all)
{
    struct sl_match w = {.s = s, .all = all};
    uint32_t *host = calloc(all->ranks + 1, sizeof(*host));
    size_t parts = 0;
    int rc = -ENOMEM;

    *s = (struct sl_summary){.all = all, .is_bad = calloc(all->groups + 1, 1)};
    for (size_t i = 0; i < all->files; i++)
        parts += all->file[i].parts;
    for (size_t i = 0; host && i < all->ranks; i++)
        host[i] = all->rank[i].host;
    w.present = calloc(all->groups + 1, sizeof(*w.present));
    w.member = calloc(parts + 1, sizeof(*w.member));
    w.starts_ns = calloc(all->ranks + 1, sizeof(*w.starts_ns));
    if (host && s->is_bad && w.present && w.member && w.starts_ns &&
        sl_clocks_create(&s->clocks, host, all->ranks) == 0) {
        for (uint32_t i = 0; i < all->groups; i++)
            w.present[i] = present_of(&w, i);
        match(&w);
        rc = w.failed;
    }
    free(host);
    free(w.member);
    free(w.present);
    free(w.starts_ns);
    free(w.range);
    return rc;
}

void sl_summary_free(struct sl_summary *s)
{
    for (size_t i = 0; i < s->rows; i++)
        free(s->row[i].last);
    for (size_t i = 0; i < s->problems; i++)
        free(s->problem[i].rank);
    free(s->row);
    free(s->problem);
    free(s->is_bad);
    sl_clocks_destroy(s->clocks);
}
