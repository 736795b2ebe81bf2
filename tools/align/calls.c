/*
 * calls.c - sorts the members of all ranks, so that those of one call stand side by side.
 *
 * Threads, memory: see calls.h.
 */
#include "align/calls.h"

#include <stdlib.h>
#include <string.h>

#include "event/message.h"

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_call(const void *a, const void *b)
{
    const struct sl_member *x = a, *y = b;

    if (x->group != y->group)
        return compare(x->group, y->group);
    if (x->number != y->number)
        return compare(x->number, y->number);
    if (x->order != y->order)
        return compare(x->order, y->order);
    return compare(x->rank, y->rank);
}

static int by_rank(const void *a, const void *b)
{
    const struct sl_member *x = a, *y = b;

    if (x->rank != y->rank)
        return compare(x->rank, y->rank);
    if (x->group != y->group)
        return compare(x->group, y->group);
    if (x->number != y->number)
        return compare(x->number, y->number);
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->source != y->source ? compare(x->source, y->source) : compare(x->item, y->item);
}

void sl_members_order(struct sl_member *member, size_t count)
{
    if (!count)
        return;
    qsort(member, count, sizeof(*member), by_rank);
    member[0].order = 0;
    for (size_t i = 1; i < count; i++) {
        const struct sl_member *before = &member[i - 1];
        int follows = member[i].rank == before->rank && member[i].group == before->group &&
                      member[i].number == before->number;

        member[i].order = follows ? before->order + 1 : 0;
    }
}

void sl_members_join(struct sl_member *member, size_t count)
{
    if (count)
        qsort(member, count, sizeof(*member), by_call);
}

void sl_members_sort(struct sl_member *member, size_t count)
{
    sl_members_order(member, count);
    sl_members_join(member, count);
}

size_t sl_members_call(const struct sl_member *first, size_t left)
{
    size_t size = 1;

    while (size < left && first[size].group == first->group &&
           first[size].number == first->number && first[size].order == first->order)
        size++;
    return size;
}

/* Nobody of the call left before `began` began. */
static void bound_all(struct sl_clocks *clocks, const struct sl_member *call, size_t size,
                      size_t began)
{
    for (size_t i = 0; i < size; i++)
        sl_clocks_add(clocks, call[i].rank, call[i].end_ns, call[began].rank, call[began].start_ns);
}

/* Each pair of ranks bounds each other. The pairs with the first rank, and of the first to leave
 * with the last to begin, say all that is needed. */
static void bound_pairs(struct sl_clocks *clocks, const struct sl_member *call, size_t size)
{
    size_t first_left = 0, last_began = 0;

    bound_all(clocks, call, size, 0);
    for (size_t i = 1; i < size; i++) {
        sl_clocks_add(clocks, call[0].rank, call[0].end_ns, call[i].rank, call[i].start_ns);
        first_left = call[i].end_ns < call[first_left].end_ns ? i : first_left;
        last_began = call[i].start_ns > call[last_began].start_ns ? i : last_began;
    }
    sl_clocks_add(clocks, call[first_left].rank, call[first_left].end_ns, call[last_began].rank,
                  call[last_began].start_ns);
}

void sl_members_bound(struct sl_clocks *clocks, const struct sl_member *call, size_t size,
                      enum sl_collective_type type, size_t root)
{
    if (sl_message_joins_all(type)) {
        bound_pairs(clocks, call, size);
        return;
    }
    if (root >= size)
        return;
    if (type == SL_COLLECTIVE_REDUCE || type == SL_COLLECTIVE_GATHER)
        for (size_t i = 0; i < size; i++)
            sl_clocks_add(clocks, call[root].rank, call[root].end_ns, call[i].rank,
                          call[i].start_ns);
    else
        bound_all(clocks, call, size, root);
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static uint64_t error_of(const struct sl_clocks *clocks, const struct sl_member *a,
                         const struct sl_member *b)
{
    if (sl_clocks_is_shared(clocks, a->rank, b->rank))
        return 0;
    return sl_clocks_error_ns(clocks, a->rank, a->start_ns) +
           sl_clocks_error_ns(clocks, b->rank, b->start_ns);
}

struct sl_call_times sl_members_times(const struct sl_clocks *clocks, const struct sl_member *call,
                                      size_t size, enum sl_collective_type type, int64_t *starts_ns)
{
    struct sl_call_times times = {
        .is_comparable = 1, .last_start_ns = INT64_MIN, .last_end_ns = INT64_MIN};
    int64_t end_ns;

    for (size_t i = 0; i < size; i++) {
        times.is_comparable &=
            sl_clocks_reference(clocks, call[i].rank) == sl_clocks_reference(clocks, call[0].rank);
        starts_ns[i] = sl_clocks_ns(clocks, call[i].rank, call[i].start_ns);
        end_ns = sl_clocks_ns(clocks, call[i].rank, call[i].end_ns);
        if (starts_ns[i] > times.last_start_ns) {
            times.last_start_ns = starts_ns[i];
            times.last = i;
        }
        times.last_end_ns = end_ns > times.last_end_ns ? end_ns : times.last_end_ns;
    }
    for (size_t i = 0; i < size && times.is_comparable; i++) {
        uint64_t error_ns = error_of(clocks, &call[i], &call[times.last]);

        times.error_ns = error_ns > times.error_ns ? error_ns : times.error_ns;
        end_ns = sl_clocks_ns(clocks, call[i].rank, call[i].end_ns);
        times.is_impossible |=
            sl_message_joins_all(type) &&
            times.last_start_ns - end_ns > (int64_t)error_ns + SL_CLOCKS_TOLERANCE_NS;
    }
    if (size)
        qsort(starts_ns, size, sizeof(*starts_ns), ascending);
    times.median_ns = size ? starts_ns[(size - 1) / 2] : 0;
    return times;
}

uint64_t sl_members_wait(const struct sl_clocks *clocks, const struct sl_member *call,
                         const struct sl_call_times *times, size_t i)
{
    int64_t wait_ns = times->last_start_ns - sl_clocks_ns(clocks, call[i].rank, call[i].start_ns);

    return wait_ns > 0 && (uint64_t)wait_ns > error_of(clocks, &call[i], &call[times->last])
               ? (uint64_t)wait_ns
               : 0;
}
