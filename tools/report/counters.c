/*
 * counters.c - groups the operations by stream, or copies by kind, and makes a series of each
 * group.
 *
 * Threads, memory: see counters.h.
 */
#include "report/counters.h"

#include <errno.h>
#include <string.h>

#include "report/op_groups.h"

#define KINDS_MAX 64
#define SERIES    100 /* series that have all their points */

/* The facts from which the key of an operation is made. */
struct keys {
    const struct sl_report *report;
    const struct sl_recording *recording;
    uint32_t
        kind[KINDS_MAX]; /* names of the kinds of copies, in the order in which they were found */
    uint32_t kinds;
    uint32_t last_name, last_kind; /* the kind of the last copy */
};

static uint32_t stream_of(void *user, const struct sl_report_op *op)
{
    const struct keys *keys = user;

    return op->launch && sl_report_counts_stream(keys->report, op->stream) ? op->stream
                                                                           : SL_OP_GROUPS_NONE;
}

/* Returns the index of a copy's kind, which is its name up to the kinds of memory. */
static uint32_t kind_of(void *user, const struct sl_report_op *op)
{
    struct keys *keys = user;
    const char *name, *end;
    uint32_t kind;

    if (op->work != SL_WORK_COPY || op->end_ns == op->start_ns || !op->bytes ||
        !sl_report_counts_op(keys->report, keys->recording, op))
        return SL_OP_GROUPS_NONE;
    if (op->name == keys->last_name)
        return keys->last_kind;
    name = sl_report_name(keys->report, op->name);
    end = strstr(name, " (");
    kind = sl_intern_put(keys->report->recordings.names, name,
                         end ? (size_t)(end - name) : strlen(name));
    keys->last_name = op->name;
    for (keys->last_kind = 0; keys->last_kind < keys->kinds; keys->last_kind++)
        if (keys->kind[keys->last_kind] == kind)
            return keys->last_kind;
    if (keys->kinds == KINDS_MAX)
        return keys->last_kind = KINDS_MAX - 1;
    keys->kind[keys->kinds++] = kind;
    return keys->last_kind;
}

static int add_queued(const struct keys *keys, const struct sl_report_op *const *op, size_t ops,
                      struct sl_counter *out)
{
    const struct sl_recording *r = keys->recording;
    int counts, rc = 0;

    for (size_t i = 0; i < ops && rc == 0; i++) {
        uint64_t launch_ns = r->launch[op[i]->launch - 1].start_ns;

        /* The operations of a graph follow each other. */
        if (i && op[i]->launch == op[i - 1]->launch)
            continue;
        counts = sl_report_counts_op(keys->report, r, op[i]);
        out->things += (size_t)counts;
        rc = sl_series_change(&out->series, launch_ns,
                              op[i]->start_ns > launch_ns ? op[i]->start_ns : launch_ns, 1, counts);
    }
    return rc ? rc : sl_series_sum(&out->series, SL_SERIES_BEGINS_FIRST);
}

static int add_copies(const struct keys *keys, const struct sl_report_op *const *op, size_t ops,
                      struct sl_counter *out)
{
    int rc = 0;

    (void)keys;
    out->things = ops;
    for (size_t i = 0; i < ops && rc == 0; i++)
        rc = sl_series_change(&out->series, op[i]->start_ns, op[i]->end_ns,
                              (double)op[i]->bytes / (double)(op[i]->end_ns - op[i]->start_ns), 1);
    return rc ? rc : sl_series_sum(&out->series, SL_SERIES_ENDS_FIRST);
}

static int walk(const struct sl_report *report, const struct sl_recording *r, int is_queue,
                sl_counter_fn fn, void *user)
{
    struct keys keys = {.report = report, .recording = r};
    struct sl_op_groups groups;
    int rc = sl_op_groups_make(&groups, r, is_queue ? stream_of : kind_of, &keys);

    if (rc)
        return rc;
    for (size_t i = 0; i < groups.groups && rc == 0; i++) {
        const struct sl_op_group *g = &groups.group[i];
        struct sl_counter counter = {.device = g->device,
                                     .stream = is_queue ? g->key : 0,
                                     .counters = groups.groups,
                                     .name = is_queue ? 0 : keys.kind[g->key]};

        rc = (is_queue ? add_queued : add_copies)(&keys, &groups.op[g->first], g->end - g->first,
                                                  &counter);
        if (rc == 0)
            rc = fn(user, report, r, &counter);
        sl_series_free(&counter.series);
    }
    sl_op_groups_free(&groups);
    return rc;
}

int sl_counters_queues(const struct sl_report *report, const struct sl_recording *r,
                       sl_counter_fn fn, void *user)
{
    return walk(report, r, 1, fn, user);
}

int sl_counters_bandwidth(const struct sl_report *report, const struct sl_recording *r,
                          sl_counter_fn fn, void *user)
{
    return walk(report, r, 0, fn, user);
}

void sl_counter_thin(const struct sl_report *report, struct sl_counter *counter, double points)
{
    double all = (double)counter->counters * (double)report->recordings.count;
    double share = SERIES * points / all;

    points = share < points ? share : points;
    sl_series_thin(&counter->series, points < 2 ? 2 : (size_t)points);
}
