/*
 * sums.c - a hash table with open addressing whose entries are numbers of groups.
 *
 * Threads, memory: see sums.h.
 */
#include "report/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/grow.h"

static size_t place_of(const struct sl_sums *g, const uint32_t *key)
{
    uint64_t hash = 0;

    for (int i = 0; i < SL_SUM_KEYS; i++)
        hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u;
    return (hash >> 20) & (g->index_slots - 1);
}

static uint32_t *find(const struct sl_sums *g, const uint32_t *key)
{
    size_t at = place_of(g, key);

    while (g->index[at] && memcmp(g->sum[g->index[at] - 1].key, key, sizeof(g->sum->key)) != 0)
        at = (at + 1) & (g->index_slots - 1);
    return &g->index[at];
}

/* Makes room for another group in the index. Returns 0, or -1 if there is no memory. */
static int widen(struct sl_sums *g)
{
    size_t slots = g->index_slots ? g->index_slots * 2 : 1024;
    uint32_t *index;

    if (g->index_slots && g->count < g->index_slots / 2)
        return 0;
    index = calloc(slots, sizeof(*index));
    if (!index)
        return -1;
    free(g->index);
    g->index = index;
    g->index_slots = slots;
    for (size_t i = 0; i < g->count; i++)
        *find(g, g->sum[i].key) = (uint32_t)(i + 1);
    return 0;
}

struct sl_sum *sl_sums_add(struct sl_sums *g, const uint32_t key[SL_SUM_KEYS], uint64_t ns)
{
    struct sl_sum *group;
    double from_mean;
    uint32_t *at;

    if (widen(g) != 0) {
        g->failed = 1;
        return NULL;
    }
    at = find(g, key);
    if (!*at) {
        group = sl_grow((void **)&g->sum, &g->count, &g->slots, sizeof(*group));
        if (!group) {
            g->failed = 1;
            return NULL;
        }
        memcpy(group->key, key, sizeof(group->key));
        group->number = (uint32_t)g->count - 1;
        group->shortest_ns = ns;
        *at = (uint32_t)g->count;
    }
    group = &g->sum[*at - 1];
    group->count++;
    group->total_ns += ns;
    from_mean = (double)ns - group->mean_ns;
    group->mean_ns += from_mean / (double)group->count;
    group->squares += from_mean * ((double)ns - group->mean_ns);
    if (ns < group->shortest_ns)
        group->shortest_ns = ns;
    if (ns > group->longest_ns)
        group->longest_ns = ns;
    return group;
}

const struct sl_sum *sl_sums_find(const struct sl_sums *g, const uint32_t key[SL_SUM_KEYS])
{
    uint32_t at = g->index ? *find(g, key) : 0;

    return at ? &g->sum[at - 1] : NULL;
}

static int by_total(const void *a, const void *b)
{
    const struct sl_sum *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

void sl_sums_sort(struct sl_sums *g)
{
    if (g->count)
        qsort(g->sum, g->count, sizeof(*g->sum), by_total);
}

double sl_sum_deviation(const struct sl_sum *group)
{
    return group->count < 2 ? 0 : sqrt(group->squares / (double)(group->count - 1));
}

void sl_sums_free(struct sl_sums *g)
{
    free(g->sum);
    free(g->index);
    *g = (struct sl_sums){0};
}
