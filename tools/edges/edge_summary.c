/*
 * edge_summary.c - open-addressing tables by name, and a short list of the longest.
 *
 * Threads, memory: see edge_summary.h.
 */
#include "edges/edge_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edges/edge_lines.h"

#define SLOTS      65536u /* a power of two */
#define GROUPS_MAX (SLOTS / 4 * 3)
#define LATER_MAX  (1u << 20)

struct table {
    struct sl_edge_group *group;
    size_t groups;
    struct sl_edge_waits rest;
};

/* A wait whose step is not known yet. */
struct later {
    uint64_t at_ns, wait_ns;
    uint32_t line, source; /* if it is counted by line */
};

#define NO_LINE UINT32_MAX

struct sl_edge_summary {
    sl_edge_step_fn step;
    void *user;
    struct sl_edge_lines *lines;
    struct later *later; /* LATER_MAX */
    size_t laters;
    struct sl_edge_waits all, kind[SL_EDGE_KIND_COUNT];
    struct table table[SL_EDGE_TABLES];
    struct sl_edge_long longest[SL_EDGE_LONGEST];
    size_t longest_count;
};

int sl_edge_summary_create(struct sl_edge_summary **out, sl_edge_step_fn step, void *user)
{
    struct sl_edge_summary *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->step = step;
    s->user = user;
    s->later = malloc(LATER_MAX * sizeof(*s->later));
    if (!s->later || sl_edge_lines_create(&s->lines) != 0) {
        sl_edge_summary_destroy(s);
        return -ENOMEM;
    }
    for (int i = 0; i < SL_EDGE_TABLES; i++) {
        s->table[i].group = calloc(SLOTS, sizeof(*s->table[i].group));
        if (!s->table[i].group) {
            sl_edge_summary_destroy(s);
            return -ENOMEM;
        }
    }
    *out = s;
    return 0;
}

void sl_edge_summary_destroy(struct sl_edge_summary *s)
{
    if (!s)
        return;
    for (int i = 0; i < SL_EDGE_TABLES; i++)
        free(s->table[i].group);
    sl_edge_lines_destroy(s->lines);
    free(s->later);
    free(s);
}

static void count_wait(struct sl_edge_waits *w, uint64_t ns)
{
    const struct sl_edge_waits one = {1, ns, ns, 0};

    sl_edge_waits_add(w, &one);
}

static void count_name(struct table *t, uint32_t name, uint64_t ns)
{
    size_t at = (name * 0x9e3779b1u) >> 16;
    struct sl_edge_group *g = &t->group[at];

    while (g->waits.count && g->name != name)
        g = &t->group[at = (at + 1) % SLOTS];
    if (!g->waits.count && t->groups == GROUPS_MAX) {
        count_wait(&t->rest, ns);
        return;
    }
    t->groups += g->waits.count == 0;
    g->name = name;
    count_wait(&g->waits, ns);
}

static void keep_longest(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    size_t at = s->longest_count;

    if (at == SL_EDGE_LONGEST && edge->wait_ns <= s->longest[at - 1].edge.wait_ns)
        return;
    if (at == SL_EDGE_LONGEST)
        at--;
    else
        s->longest_count++;
    for (; at && s->longest[at - 1].edge.wait_ns < edge->wait_ns; at--)
        s->longest[at] = s->longest[at - 1];
    s->longest[at] = (struct sl_edge_long){*edge, *where};
}

static void count_in_step(struct sl_edge_summary *s, const struct later *wait, uint32_t step)
{
    count_name(&s->table[SL_EDGE_BY_STEP], step, wait->wait_ns);
    if (wait->line != NO_LINE)
        sl_edge_lines_add(s->lines, wait->line, wait->source, wait->wait_ns, step != 0);
}

/* The first `count` of those that wait for it. */
static void count_steps(struct sl_edge_summary *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        count_in_step(s, &s->later[i], s->step(s->user, s->later[i].at_ns));
    s->laters -= count;
    memmove(s->later, s->later + count, s->laters * sizeof(*s->later));
}

/* By line and step. */
static void count_place(struct sl_edge_summary *s, const struct sl_edge *edge,
                        const struct sl_edge_where *where)
{
    const struct later wait = {where->later_ns, edge->wait_ns,
                               edge->at_start ? NO_LINE : where->line, where->spent_on};

    if (!where->later_ns) {
        count_in_step(s, &wait, where->step);
        return;
    }
    /* The steps of the older ones have been read by now. */
    if (s->laters == LATER_MAX)
        count_steps(s, LATER_MAX / 2);
    s->later[s->laters++] = wait;
}

void sl_edge_summary_end(struct sl_edge_summary *s)
{
    count_steps(s, s->laters);
    for (size_t i = 0; i < s->longest_count; i++)
        if (s->longest[i].where.later_ns)
            s->longest[i].where.step = s->step(s->user, s->longest[i].where.later_ns);
}

void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    if (edge->wait_ns == 0)
        return;
    count_wait(&s->all, edge->wait_ns);
    count_wait(&s->kind[edge->kind], edge->wait_ns);
    count_name(&s->table[SL_EDGE_BY_SOURCE], where->spent_on, edge->wait_ns);
    count_name(&s->table[SL_EDGE_BY_PLACE], where->place, edge->wait_ns);
    count_place(s, edge, where);
    keep_longest(s, edge, where);
}

struct sl_edge_lines *sl_edge_summary_lines(struct sl_edge_summary *s)
{
    return s->lines;
}

const struct sl_edge_waits *sl_edge_summary_all(const struct sl_edge_summary *s)
{
    return &s->all;
}

const struct sl_edge_waits *sl_edge_summary_kind(const struct sl_edge_summary *s,
                                                 enum sl_edge_kind kind)
{
    return &s->kind[kind];
}

const struct sl_edge_waits *sl_edge_summary_rest(const struct sl_edge_summary *s,
                                                 enum sl_edge_table table)
{
    return &s->table[table].rest;
}

static int most_first(const void *x, const void *y)
{
    const struct sl_edge_group *a = x, *b = y;

    if (a->waits.total_ns != b->waits.total_ns)
        return a->waits.total_ns < b->waits.total_ns ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out)
{
    struct table *t = &s->table[table];
    size_t n = 0;

    for (size_t i = 0; i < SLOTS; i++) {
        if (t->group[i].waits.count)
            t->group[n++] = t->group[i];
    }
    qsort(t->group, n, sizeof(*t->group), most_first);
    *out = t->group;
    return n;
}

size_t sl_edge_summary_longest(const struct sl_edge_summary *s, const struct sl_edge_long **out)
{
    *out = s->longest;
    return s->longest_count;
}
