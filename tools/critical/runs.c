/*
 * runs.c - joins neighbours of a path, and adds up its names.
 *
 * Threads, memory: see runs.h.
 */
#include "critical/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "read/grow.h"
#include "report/sums.h"

const char *sl_critical_cause_name(enum sl_critical_cause cause)
{
    static const char *const names[SL_CAUSES] = {"cpu",           "wait", "launch",  "gpu",
                                                 "communication", "sync", "earlier", "unknown"};

    return names[cause];
}

static enum sl_critical_cause cause_of(enum sl_critical_kind kind)
{
    switch (kind) {
    case SL_CRITICAL_OPERATOR:
    case SL_CRITICAL_CALL:
    case SL_CRITICAL_OUTSIDE:
        return SL_CAUSE_CPU;
    case SL_CRITICAL_WAIT:
        return SL_CAUSE_WAIT;
    case SL_CRITICAL_LAUNCH:
        return SL_CAUSE_START;
    case SL_CRITICAL_KERNEL:
    case SL_CRITICAL_COPY:
    case SL_CRITICAL_QUEUE:
        return SL_CAUSE_GPU;
    case SL_CRITICAL_COMMUNICATION:
        return SL_CAUSE_COMMUNICATION;
    case SL_CRITICAL_SYNC:
        return SL_CAUSE_SYNC;
    case SL_CRITICAL_EARLIER:
        return SL_CAUSE_EARLIER;
    default:
        return SL_CAUSE_UNKNOWN;
    }
}

/* The time between two communication kernels of a stream is communication. */
static enum sl_critical_cause cause_at(const struct sl_critical *c, size_t i)
{
    const struct sl_graph_edge *edge = sl_critical_edge(c, i);
    const struct sl_graph_edge *next = i + 1 < c->path_edges ? sl_critical_edge(c, i + 1) : NULL;

    if (edge->kind == SL_CRITICAL_QUEUE && next && next->kind == SL_CRITICAL_COMMUNICATION)
        return SL_CAUSE_COMMUNICATION;
    return cause_of((enum sl_critical_kind)edge->kind);
}

/* Finds the name that takes most of a run. */
static int name_run(const struct sl_critical *c, struct sl_critical_run *run)
{
    struct sl_sums sums = {0};
    int rc;

    for (size_t i = run->first; i < run->end; i++) {
        const struct sl_graph_edge *edge = sl_critical_edge(c, i);
        const uint32_t key[SL_SUM_KEYS] = {edge->name, edge->kind, edge->line};

        if (edge->weight_ns && (edge->name || run->end - run->first == 1) &&
            edge->kind != SL_CRITICAL_QUEUE)
            sl_sums_add(&sums, key, edge->weight_ns);
    }
    sl_sums_sort(&sums);
    if (sums.count) {
        run->name = sums.sum[0].key[0];
        run->kind = (uint8_t)sums.sum[0].key[1];
        run->line = sums.sum[0].key[2];
        run->name_ns = sums.sum[0].total_ns;
    }
    rc = sums.failed ? -ENOMEM : 0;
    sl_sums_free(&sums);
    return rc;
}

static int add_edge(struct sl_critical_runs *out, const struct sl_critical *c, size_t i)
{
    const struct sl_graph_edge *edge = sl_critical_edge(c, i);
    struct sl_critical_run *run = out->runs ? &out->run[out->runs - 1] : NULL;
    enum sl_critical_cause cause = cause_at(c, i);
    uint64_t begin_ns = c->graph.node[edge->from].at_ns, end_ns = c->graph.node[edge->to].at_ns;

    if (edge->weight_ns == 0)
        return 0;
    if (!run || run->cause != cause || run->lane != edge->lane || run->device != edge->device) {
        run = sl_grow((void **)&out->run, &out->runs, &out->run_slots, sizeof(*run));
        if (!run)
            return -ENOMEM;
        *run = (struct sl_critical_run){.begin_ns = begin_ns,
                                        .first = i,
                                        .lane = edge->lane,
                                        .device = edge->device,
                                        .kind = edge->kind,
                                        .cause = (uint8_t)cause};
    }
    run->end_ns = end_ns;
    run->ns += edge->weight_ns;
    run->pieces++;
    run->end = i + 1;
    return 0;
}

static int add_names(struct sl_critical_runs *out, const struct sl_critical *c)
{
    struct sl_sums sums = {0};
    int rc;

    for (size_t i = 0; i < c->path_edges; i++) {
        const struct sl_graph_edge *edge = sl_critical_edge(c, i);
        const uint32_t key[SL_SUM_KEYS] = {edge->name, edge->kind};

        if (edge->weight_ns && edge->name)
            sl_sums_add(&sums, key, edge->weight_ns);
    }
    sl_sums_sort(&sums);
    rc = sums.failed ? -ENOMEM : 0;
    for (size_t i = 0; rc == 0 && i < sums.count; i++) {
        struct sl_critical_name *name =
            sl_grow((void **)&out->name, &out->names, &out->name_slots, sizeof(*name));

        if (name)
            *name = (struct sl_critical_name){sums.sum[i].total_ns, sums.sum[i].count,
                                              sums.sum[i].key[0], (uint8_t)sums.sum[i].key[1]};
        else
            rc = -ENOMEM;
    }
    sl_sums_free(&sums);
    return rc;
}

int sl_critical_runs_make(struct sl_critical_runs *out, const struct sl_critical *c)
{
    int rc = 0;

    *out = (struct sl_critical_runs){0};
    for (size_t i = 0; i < c->path_edges && rc == 0; i++)
        rc = add_edge(out, c, i);
    for (size_t i = 0; i < out->runs && rc == 0; i++)
        rc = name_run(c, &out->run[i]);
    return rc ? rc : add_names(out, c);
}

void sl_critical_runs_free(struct sl_critical_runs *runs)
{
    free(runs->run);
    free(runs->name);
    *runs = (struct sl_critical_runs){0};
}
