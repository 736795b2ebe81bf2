/*
 * sort.c - sorts rows by time.
 *
 * In a busy job, several hundred thousand rows arrive in a second, from many buffers. The starts of
 * these rows differ by one or two seconds. So a radix sort over the bits in which they differ needs
 * three passes.
 *
 * Threads: any; the functions use only the caller's memory.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

static void pass(const struct sl_chakra_turn *from, struct sl_chakra_turn *to, size_t count,
                 uint64_t base, unsigned shift)
{
    uint32_t place[DIGITS] = {0};
    uint32_t at = 0, here;
    size_t i;

    for (i = 0; i < count; i++)
        place[(from[i].key - base) >> shift & (DIGITS - 1)]++;
    for (i = 0; i < DIGITS; i++) {
        here = place[i];
        place[i] = at;
        at += here;
    }
    for (i = 0; i < count; i++)
        to[place[(from[i].key - base) >> shift & (DIGITS - 1)]++] = from[i];
}

struct sl_chakra_turn *sl_chakra_sort(struct sl_chakra_turn *turn, struct sl_chakra_turn *spare,
                                      size_t count)
{
    uint64_t least = UINT64_MAX, most = 0;
    struct sl_chakra_turn *swap;
    unsigned shift;
    size_t i;

    for (i = 0; i < count; i++) {
        least = turn[i].key < least ? turn[i].key : least;
        most = turn[i].key > most ? turn[i].key : most;
    }
    for (shift = 0; shift < 64 && most > least && (most - least) >> shift; shift += DIGIT_BITS) {
        pass(turn, spare, count, least, shift);
        swap = turn;
        turn = spare;
        spare = swap;
    }
    return turn;
}

/* Returns 1 if row `a` must be before row `b`. Both rows start at the same time. Operators and
 * ranges are first, then a call, and then the operation that the call launches. Operations of one
 * stream are in the order in which they were enqueued. The event for the end of a row is last,
 * because the row may have begun at the same time. */
static int comes_first(const struct sl_event *a, const struct sl_event *b)
{
    int a_cpu = sl_chakra_is_cpu(a), b_cpu = sl_chakra_is_cpu(b);

    if (sl_chakra_is_end(a) != sl_chakra_is_end(b))
        return sl_chakra_is_end(b);
    if (a_cpu != b_cpu)
        return a_cpu;
    /* early.c has moved these rows to a position after their call */
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->end_ns != b->end_ns)
        return a_cpu ? a->end_ns > b->end_ns : a->end_ns < b->end_ns;
    if (sl_chakra_is_outer(a) && sl_chakra_is_outer(b))
        return a->order < b->order;
    return sl_chakra_correlation(a) < sl_chakra_correlation(b);
}

struct sl_chakra_turn *sl_chakra_order(const struct sl_event *held, struct sl_chakra_turn *turn,
                                       struct sl_chakra_turn *spare, size_t count)
{
    size_t first, end, gap, i, j;

    turn = sl_chakra_sort(turn, spare, count);
    for (first = 0; first < count; first = end) {
        for (end = first + 1; end < count && turn[end].key == turn[first].key;)
            end++;
        /* A shell sort is used because it stays fast enough even for a file in which all times are
         * equal. */
        for (gap = (end - first) / 2; gap; gap /= 2) {
            for (i = first + gap; i < end; i++) {
                struct sl_chakra_turn t = turn[i];

                for (j = i;
                     j >= first + gap && comes_first(&held[t.index], &held[turn[j - gap].index]);
                     j -= gap)
                    turn[j] = turn[j - gap];
                turn[j] = t;
            }
        }
    }
    return turn;
}
