/*
 * edge_lines.c - which lines of the source made the CPU wait, and for what.
 *
 * Threads, memory: see edge_lines.h.
 */
#include "edges/edge_lines.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS     131072u /* a power of two */
#define PAIRS_MAX (SLOTS / 4 * 3)

/* While pairs are sorted: what their line waited in all. */
struct pair {
    struct sl_edge_line line;
    uint64_t total_ns;
};

struct sl_edge_lines {
    struct sl_edge_line *pair;
    size_t pairs;
    struct sl_edge_waits rest;
};

int sl_edge_lines_create(struct sl_edge_lines **out)
{
    struct sl_edge_lines *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->pair = calloc(SLOTS, sizeof(*l->pair));
    if (!l->pair) {
        free(l);
        return -ENOMEM;
    }
    *out = l;
    return 0;
}

void sl_edge_lines_destroy(struct sl_edge_lines *l)
{
    if (!l)
        return;
    free(l->pair);
    free(l);
}

void sl_edge_lines_add(struct sl_edge_lines *l, uint32_t line, uint32_t source, uint64_t wait_ns,
                       int in_step)
{
    const struct sl_edge_waits one = {1, wait_ns, wait_ns, in_step ? wait_ns : 0};
    size_t at = ((line * 0x9e3779b1u) ^ (source * 0x85ebca6bu)) >> 15;
    struct sl_edge_line *p = &l->pair[at];

    while (p->waits.count && (p->line != line || p->source != source))
        p = &l->pair[at = (at + 1) % SLOTS];
    if (!p->waits.count && l->pairs == PAIRS_MAX) {
        sl_edge_waits_add(&l->rest, &one);
        return;
    }
    l->pairs += p->waits.count == 0;
    p->line = line;
    p->source = source;
    sl_edge_waits_add(&p->waits, &one);
}

const struct sl_edge_waits *sl_edge_lines_rest(const struct sl_edge_lines *l)
{
    return &l->rest;
}

/* ---- in order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_line(const void *x, const void *y)
{
    const struct sl_edge_line *a = x, *b = y;

    return compare(a->line, b->line);
}

static int most_first(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;
    int c = compare(b->total_ns, a->total_ns);

    if (c == 0)
        c = compare(a->line.line, b->line.line);
    if (c == 0)
        c = compare(b->line.waits.total_ns, a->line.waits.total_ns);
    return c ? c : compare(a->line.source, b->line.source);
}

size_t sl_edge_lines_one(const struct sl_edge_line *first, size_t left, struct sl_edge_waits *all)
{
    size_t n = 0;

    *all = (struct sl_edge_waits){0, 0, 0, 0};
    for (; n < left && first[n].line == first->line; n++)
        sl_edge_waits_add(all, &first[n].waits);
    return n;
}

static void sort_by_total(struct sl_edge_line *line, struct pair *pair, size_t n)
{
    struct sl_edge_waits all;

    for (size_t i = 0, same; i < n; i += same) {
        same = sl_edge_lines_one(&line[i], n - i, &all);
        for (size_t j = i; j < i + same; j++)
            pair[j] = (struct pair){line[j], all.total_ns};
    }
    qsort(pair, n, sizeof(*pair), most_first);
    for (size_t i = 0; i < n; i++)
        line[i] = pair[i].line;
}

size_t sl_edge_lines_sort(struct sl_edge_lines *l, const struct sl_edge_line **out)
{
    struct pair *pair;
    size_t n = 0;

    for (size_t i = 0; i < SLOTS; i++) {
        if (l->pair[i].waits.count)
            l->pair[n++] = l->pair[i];
    }
    qsort(l->pair, n, sizeof(*l->pair), by_line);
    /* Without memory lines come in another order. */
    pair = malloc(n * sizeof(*pair));
    if (pair)
        sort_by_total(l->pair, pair, n);
    free(pair);
    *out = l->pair;
    return n;
}
