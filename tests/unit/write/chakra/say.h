/*
 * say.h - prints a Chakra file as text: one line per node (scenarios/README.md has the format), and
 * the counts that are not 0.
 */
#ifndef SL_CHAKRA_SAY_H
#define SL_CHAKRA_SAY_H

#include "unit/cases.h"
#include "unit/write/chakra/fixture.h"

#include <inttypes.h>

static inline void say_us(const char *before, int64_t ns)
{
    say("%s%" PRId64, before, ns / 1000);
    if (ns % 1000)
        say(".%03" PRId64, ns % 1000);
}

static inline int by_lane(const void *a, const void *b)
{
    const struct dom_node *x = *(const struct dom_node *const *)a,
                          *y = *(const struct dom_node *const *)b;
    int64_t cpu = dom_number(y, "is_cpu_op") - dom_number(x, "is_cpu_op"), lane;

    if (cpu)
        return cpu > 0 ? 1 : -1;
    lane = dom_number(x, dom_attr(x, "tid") ? "tid" : "stream") -
           dom_number(y, dom_attr(y, "tid") ? "tid" : "stream");
    return lane ? (lane > 0 ? 1 : -1) : (x->id > y->id ? 1 : -1);
}

static inline void say_node(const struct dom_node *n, const struct dom_node *all)
{
    int64_t start = dom_number(n, "start_ns"), duration = dom_number(n, "duration_ns");
    const char *lane = dom_number(n, "is_cpu_op") ? "tid" : "stream";
    const struct dom_node *parent[16];

    assert_true(n->deps <= sizeof(parent) / sizeof(parent[0]));
    say("%s %" PRId64 ": %s", *lane == 't' ? "thread" : "stream", dom_number(n, lane), n->name);
    say_us(" ", start);
    say_us("+", duration);
    for (const char *const *attr =
             (const char *const[]){"delay_ns", "overlap_ns", "no_launch", "queries", NULL};
         *attr; attr++)
        if (dom_attr(n, *attr) && dom_number(n, *attr))
            say(" %s=%" PRId64, *attr, dom_number(n, *attr));
    if (n->type != 4)
        say(" type=%u", n->type);
    for (size_t i = 0; i < n->attrs; i++)
        if (strncmp(n->attr[i].name, "comm_", 5) == 0)
            say(" %s=%" PRId64, n->attr[i].name, n->attr[i].number);
        else if (n->attr[i].field == 29)
            say(" %s='%s'", n->attr[i].name, n->attr[i].text);
    for (size_t i = 0; i < n->deps; i++)
        parent[i] = &all[n->dep[i] - 1];
    qsort(parent, n->deps, sizeof(*parent), by_lane);
    for (size_t i = 0; i < n->deps; i++) {
        say("%s%s", i ? ", " : " <- ", parent[i]->name);
        say_us("@", dom_number(parent[i], "start_ns"));
    }
    if ((int64_t)n->replay_end != start + duration)
        say_us("; replayed until ", (int64_t)n->replay_end);
    say("\n");
}

static inline void say_counts(void)
{
    const struct sl_chakra_counts c = counts();
#define COUNT(name)                                                                                \
    {                                                                                              \
#name, c.name                                                                              \
    }
    const struct {
        const char *name;
        uint64_t count;
    } all[] = {COUNT(edges),        COUNT(edges_no_source),    COUNT(edges_no_destination),
               COUNT(edges_cycle),  COUNT(handovers),          COUNT(callers_unknown),
               COUNT(unexplained),  COUNT(gpu_without_launch), COUNT(gpu_overlaps_ns),
               COUNT(gpu_late),     COUNT(stream_overlaps_ns), COUNT(unexplained_ns),
               COUNT(gpu_overlaps), COUNT(stream_overlaps),    COUNT(rows_invalid),
               COUNT(rows_cut),     COUNT(rows_late),          COUNT(comm_unknown)};
#undef COUNT

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].count)
            say("%s %" PRIu64 "\n", all[i].name, all[i].count);
}

/* Ends the file and prints its contents. The order of the lines does not depend on the order in
 * which nodes were written. */
static inline void say_file(void)
{
    struct dom_file *d = read_back();
    const struct dom_node **order = calloc(d->nodes + 1, sizeof(*order));

    for (size_t i = 0; i < d->nodes; i++)
        order[i] = &d->node[i];
    qsort(order, d->nodes, sizeof(*order), by_lane);
    for (size_t i = 0; i < d->nodes; i++)
        say_node(order[i], d->node);
    if (!d->nodes)
        say("no node\n");
    say_counts();
    free(order);
}

#endif
