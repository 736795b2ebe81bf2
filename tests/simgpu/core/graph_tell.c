/*
 * graph_tell.c - reports changes of graphs to CUPTI subscribers.
 *
 * Any thread. Changes happen under sim_lock(), where no report is allowed. Each thread queues its
 * reports until its API call ends.
 */
#include <stdlib.h>

#include "core/graph.h"

static __thread struct {
    struct sim_graph_fact *fact;
    size_t n, cap;
} kept;

static void keep(const struct sim_graph_fact *fact)
{
    const struct sim_probe *probe = sim_probe_get();

    if (!probe || !probe->graph) {
        return;
    }
    if (kept.n == kept.cap) {
        size_t cap = kept.cap ? kept.cap * 2 : 64;
        void *more = realloc(kept.fact, cap * sizeof *kept.fact);

        if (!more) {
            return;
        }
        kept.fact = more;
        kept.cap = cap;
    }
    kept.fact[kept.n++] = *fact;
}

/* CUgraphNodeType. */
static int type_of(const struct sim_node *node)
{
    static const int types[] = {
        [SIM_WORK_KERNEL] = 0, [SIM_WORK_COPY] = 1,       [SIM_WORK_SET] = 2,
        [SIM_WORK_HOST] = 3,   [SIM_WORK_CHILD] = 4,      [SIM_WORK_EMPTY] = 5,
        [SIM_WORK_FREE] = 11,  [SIM_WORK_EVENT_WAIT] = 6, [SIM_WORK_EVENT_RECORD] = 7};

    return types[node->work.kind];
}

void sim_graph_tell_node(const struct sim_node *node)
{
    keep(&(struct sim_graph_fact){.what = node->original ? SIM_NODE_CLONED : SIM_NODE_CREATED,
                                  .graph = node->graph,
                                  .original_graph = node->original ? node->original->graph : NULL,
                                  .node = node,
                                  .original = node->original,
                                  .type = type_of(node)});
}

void sim_graph_tell_link(const struct sim_node *from, const struct sim_node *to, bool added)
{
    keep(&(struct sim_graph_fact){.what = added ? SIM_NODE_DEPENDS : SIM_NODE_DEPENDS_NO_MORE,
                                  .graph = from->graph,
                                  .node = from,
                                  .dependent = to,
                                  .type = type_of(from)});
}

void sim_graph_tell_kept(void)
{
    const struct sim_probe *probe = sim_probe_get();

    for (size_t i = 0; i < kept.n && probe; i++) {
        probe->graph(&kept.fact[i]);
    }
    free(kept.fact);
    kept.fact = NULL;
    kept.n = kept.cap = 0;
}
