/*
 * edges.c - reads a trace for `syncline edges`.
 *
 * Threads, memory: see edges.h.
 */
#include "edges/edges.h"

struct sl_edge_where sl_edges_where(const struct sl_trace_events *t, const struct sl_edge *edge)
{
    const struct sl_trace_call *call = sl_trace_events_call(t, edge->dst_correlation);
    struct sl_edge_where where = {.who = edge->at_start ? edge->dst_op.name : edge->dst_name,
                                  .at_ns = edge->dst_start_ns};

    if (!call)
        return where;
    where.place = call->place;
    where.line = call->line;
    where.call_ns = call->start_ns;
    if (!edge->at_start)
        where.at_ns = call->start_ns;
    return where;
}

int sl_edges_read(const struct sl_edges_request *r, struct sl_replay *feed, const char *path)
{
    char why[512];

    if (sl_replay_read(feed, path, why, sizeof(why)) != 0 ||
        sl_replay_run(feed, path, why, sizeof(why)) != 0)
        return sl_args_complain(r->command, "%s", why);
    return 0;
}
