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
#include "print/top.h"

#define GROUPS_MAX 98304u /* maximum number of groups per table */
/* The memory for the maps of all full tables (a map is at most half full), and for the old maps
 * while the maps grow. */
#define MAPS_BYTES (30u << 20)

struct table {
    struct sl_edge_group *group; /* GROUPS_MAX */
    size_t groups;
    struct sl_map place; /* maps a name and a source to the index of their group, plus 1 */
};

struct sl_edge_summary {
    struct sl_edge_totals totals;
    struct sl_top top;            /* of the longest waits */
    struct sl_edge_long *longest; /* in the slots of `top` */
    struct sl_store store;
    struct table table[SL_EDGE_TABLES];
};

int sl_edge_summary_create(struct sl_edge_summary **out, size_t longest)
{
    struct sl_edge_summary *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->store.cap_bytes = MAPS_BYTES;
    s->longest = calloc(longest, sizeof(*s->longest));
    if (sl_top_create(&s->top, longest) != 0 || !s->longest) {
        sl_edge_summary_destroy(s);
        return -ENOMEM;
    }
    for (int i = 0; i < SL_EDGE_TABLES; i++) {
        sl_map_init(&s->table[i].place, &s->store);
        s->table[i].group = malloc(GROUPS_MAX * sizeof(*s->table[i].group));
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
    for (int i = 0; i < SL_EDGE_TABLES && s->table[i].place.store; i++) {
        sl_map_free(&s->table[i].place);
        free(s->table[i].group);
    }
    sl_top_free(&s->top);
    free(s->longest);
    free(s);
}

static void add_to(struct sl_edge_summary *s, enum sl_edge_table table, uint32_t name,
                   uint32_t source, const struct sl_edge_waits *w)
{
    struct table *t = &s->table[table];
    uint64_t key = ((uint64_t)source << 32 | name) + 1;
    uint64_t *place =
        t->groups < GROUPS_MAX ? sl_map_put(&t->place, key) : sl_map_find(&t->place, key);

    if (place && !*place) {
        t->group[t->groups] = (struct sl_edge_group){.name = name, .source = source};
        *place = ++t->groups;
    }
    sl_edge_waits_add(place ? &t->group[*place - 1].waits : &s->totals.rest[table], w);
}

static void keep_longest(struct sl_edge_summary *s, const struct sl_edge_long *wait)
{
    size_t slot = sl_top_put(&s->top, wait->edge.wait_ns);

    if (slot != SL_TOP_NONE)
        s->longest[slot] = *wait;
}

void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    const uint64_t ns = edge->wait_ns;
    const struct sl_edge_waits w = {1, ns, ns, where->step ? ns : 0};

    add_to(s, SL_EDGE_CALLS, where->line, 0, &w);
    if (ns == 0)
        return;
    sl_edge_waits_add(&s->totals.all, &w);
    sl_edge_waits_add(&s->totals.kind[edge->kind], &w);
    add_to(s, SL_EDGE_BY_SOURCE, where->spent_on, 0, &w);
    add_to(s, SL_EDGE_BY_PLACE, where->place, 0, &w);
    add_to(s, SL_EDGE_BY_STEP, where->step, 0, &w);
    add_to(s, SL_EDGE_BY_LINE, where->line, where->spent_on, &w);
    keep_longest(s, &(struct sl_edge_long){*edge, *where});
}

/* ---- merging ---- */

static uint32_t named(struct sl_intern *to, const struct sl_intern *from, uint32_t id)
{
    size_t size;
    const char *name = sl_intern_get(from, id, &size);

    return name ? sl_intern_put(to, name, size) : 0;
}

void sl_edge_summary_merge(struct sl_edge_summary *s, struct sl_intern *names,
                           struct sl_edge_summary *more, const struct sl_intern *more_names,
                           uint32_t file)
{
    sl_top_sort(&more->top);
    sl_edge_waits_add(&s->totals.all, &more->totals.all);
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        sl_edge_waits_add(&s->totals.kind[i], &more->totals.kind[i]);
    for (int i = 0; i < SL_EDGE_TABLES; i++) {
        const struct table *t = &more->table[i];

        sl_edge_waits_add(&s->totals.rest[i], &more->totals.rest[i]);
        for (size_t g = 0; g < t->groups; g++)
            add_to(s, (enum sl_edge_table)i, named(names, more_names, t->group[g].name),
                   named(names, more_names, t->group[g].source), &t->group[g].waits);
    }
    for (size_t i = 0; i < more->top.count; i++) {
        struct sl_edge_long wait = more->longest[more->top.item[i].slot];

        wait.edge.source.name = named(names, more_names, wait.edge.source.name);
        wait.where.who = named(names, more_names, wait.where.who);
        wait.where.place = named(names, more_names, wait.where.place);
        wait.where.line = named(names, more_names, wait.where.line);
        wait.where.step = named(names, more_names, wait.where.step);
        wait.where.spent_on = named(names, more_names, wait.where.spent_on);
        wait.where.file = file;
        keep_longest(s, &wait);
    }
}

/* ---- results ---- */

const struct sl_edge_totals *sl_edge_summary_totals(const struct sl_edge_summary *s)
{
    return &s->totals;
}

size_t sl_edge_summary_longest(struct sl_edge_summary *s)
{
    sl_top_sort(&s->top);
    return s->top.count;
}

const struct sl_edge_long *sl_edge_summary_long(const struct sl_edge_summary *s, size_t i)
{
    return &s->longest[s->top.item[i].slot];
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

uint64_t sl_edge_summary_calls(const struct sl_edge_summary *s, uint32_t line)
{
    const struct table *t = &s->table[SL_EDGE_CALLS];
    const uint64_t *place = sl_map_find(&t->place, (uint64_t)line + 1);

    return place ? t->group[*place - 1].waits.count : 0;
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
