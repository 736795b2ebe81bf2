/*
 * edge_summary.c - keeps tables of waits and a short list of the longest waits.
 *
 * Threads, memory: see edge_summary.h.
 */
#include "edges/edge_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"

#define GROUPS_MAX 98304u /* maximum number of groups per table */
#define LATER_MAX  (1u << 20)
/* The memory for the maps of four full tables (a map is at most half full), and for the old maps
 * while the maps grow. */
#define MAPS_BYTES (24u << 20)

struct table {
    struct sl_edge_group *group; /* GROUPS_MAX */
    size_t groups;
    struct sl_map place; /* maps a name and a source to the index of their group, plus 1 */
};

/* A wait whose step is not known yet. */
struct later {
    uint64_t at_ns, wait_ns;
    uint32_t line, source; /* intern ids; `line` is NO_LINE if the wait is not counted by source
                              line */
};

#define NO_LINE UINT32_MAX

struct sl_edge_summary {
    sl_edge_step_fn step;
    void *user;
    struct later *later; /* LATER_MAX */
    size_t laters;
    struct sl_edge_totals totals;
    struct sl_store store;
    struct table table[SL_EDGE_TABLES];
};

int sl_edge_summary_create(struct sl_edge_summary **out, sl_edge_step_fn step, void *user)
{
    struct sl_edge_summary *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->step = step;
    s->user = user;
    s->store.cap_bytes = MAPS_BYTES;
    s->later = malloc(LATER_MAX * sizeof(*s->later));
    for (int i = 0; i < SL_EDGE_TABLES; i++) {
        sl_map_init(&s->table[i].place, &s->store);
        s->table[i].group = malloc(GROUPS_MAX * sizeof(*s->table[i].group));
        if (!s->table[i].group || !s->later) {
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
    for (int i = 0; i < SL_EDGE_TABLES && s->table[i].place.store; i++) {
        sl_map_free(&s->table[i].place);
        free(s->table[i].group);
    }
    free(s->later);
    free(s);
}

static void count_wait(struct sl_edge_waits *w, uint64_t ns, int in_step)
{
    const struct sl_edge_waits one = {1, ns, ns, in_step ? ns : 0};

    sl_edge_waits_add(w, &one);
}

static void count_in(struct sl_edge_summary *s, enum sl_edge_table table, uint32_t name,
                     uint32_t source, uint64_t ns, int in_step)
{
    struct table *t = &s->table[table];
    uint64_t key = ((uint64_t)name << 32 | source) + 1;
    uint64_t *place =
        t->groups < GROUPS_MAX ? sl_map_put(&t->place, key) : sl_map_find(&t->place, key);

    if (place && !*place) {
        t->group[t->groups] = (struct sl_edge_group){.name = name, .source = source};
        *place = ++t->groups;
    }
    count_wait(place ? &t->group[*place - 1].waits : &s->totals.rest[table], ns, in_step);
}

static void keep_longest(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    size_t at = s->totals.longest_count;

    if (at == SL_EDGE_LONGEST && edge->wait_ns <= s->totals.longest[at - 1].edge.wait_ns)
        return;
    if (at == SL_EDGE_LONGEST)
        at--;
    else
        s->totals.longest_count++;
    for (; at && s->totals.longest[at - 1].edge.wait_ns < edge->wait_ns; at--)
        s->totals.longest[at] = s->totals.longest[at - 1];
    s->totals.longest[at] = (struct sl_edge_long){*edge, *where};
}

static void count_in_step(struct sl_edge_summary *s, const struct later *wait, uint32_t step)
{
    count_in(s, SL_EDGE_BY_STEP, step, 0, wait->wait_ns, 0);
    if (wait->line != NO_LINE)
        count_in(s, SL_EDGE_BY_LINE, wait->line, wait->source, wait->wait_ns, step != 0);
}

/* Counts the oldest `count` waits of the table `later`, whose steps are known by now. */
static void count_steps(struct sl_edge_summary *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        count_in_step(s, &s->later[i], s->step(s->user, s->later[i].at_ns));
    s->laters -= count;
    memmove(s->later, s->later + count, s->laters * sizeof(*s->later));
}

/* Counts a wait by line and step. */
static void count_place(struct sl_edge_summary *s, const struct sl_edge *edge,
                        const struct sl_edge_where *where)
{
    const struct later wait = {where->later_ns, edge->wait_ns,
                               edge->at_start ? NO_LINE : where->line, where->spent_on};

    if (!where->later_ns) {
        count_in_step(s, &wait, where->step);
        return;
    }
    /* The table is full. The row of a step comes soon after the waits inside the step, so the steps
     * of the older half of these waits are known by now. */
    if (s->laters == LATER_MAX)
        count_steps(s, LATER_MAX / 2);
    s->later[s->laters++] = wait;
}

void sl_edge_summary_end(struct sl_edge_summary *s)
{
    count_steps(s, s->laters);
    for (size_t i = 0; i < s->totals.longest_count; i++)
        if (s->totals.longest[i].where.later_ns)
            s->totals.longest[i].where.step = s->step(s->user, s->totals.longest[i].where.later_ns);
}

void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    if (edge->wait_ns == 0)
        return;
    count_wait(&s->totals.all, edge->wait_ns, 0);
    count_wait(&s->totals.kind[edge->kind], edge->wait_ns, 0);
    count_in(s, SL_EDGE_BY_SOURCE, where->spent_on, 0, edge->wait_ns, 0);
    count_in(s, SL_EDGE_BY_PLACE, where->place, 0, edge->wait_ns, 0);
    count_place(s, edge, where);
    keep_longest(s, edge, where);
}

const struct sl_edge_totals *sl_edge_summary_totals(const struct sl_edge_summary *s)
{
    return &s->totals;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int most_first(const void *x, const void *y)
{
    const struct sl_edge_group *a = x, *b = y;
    int c = compare(b->name_total_ns, a->name_total_ns);

    if (c == 0)
        c = compare(a->name, b->name);
    if (c == 0)
        c = compare(b->waits.total_ns, a->waits.total_ns);
    return c ? c : compare(a->source, b->source);
}

size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out)
{
    struct table *t = &s->table[table];
    struct sl_map total; /* maps a name, plus 1, to the total wait of that name */

    /* Sorting changes the indexes, so the map is freed. If memory for the totals runs out, the
     * names are not sorted by total time. */
    sl_map_free(&t->place);
    sl_map_init(&total, &s->store);
    for (size_t i = 0; i < t->groups; i++) {
        uint64_t *ns = sl_map_put(&total, (uint64_t)t->group[i].name + 1);

        if (ns)
            *ns += t->group[i].waits.total_ns;
    }
    for (size_t i = 0; i < t->groups; i++) {
        const uint64_t *ns = sl_map_find(&total, (uint64_t)t->group[i].name + 1);

        t->group[i].name_total_ns = ns ? *ns : 0;
    }
    sl_map_free(&total);
    qsort(t->group, t->groups, sizeof(*t->group), most_first);
    *out = t->group;
    return t->groups;
}

size_t sl_edge_summary_name(const struct sl_edge_group *first, size_t left,
                            struct sl_edge_waits *all)
{
    size_t n = 0;

    *all = (struct sl_edge_waits){0, 0, 0, 0};
    for (; n < left && first[n].name == first->name; n++)
        sl_edge_waits_add(all, &first[n].waits);
    return n;
}
