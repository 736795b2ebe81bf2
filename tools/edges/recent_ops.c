/*
 * recent_ops.c - keeps the last operations in a ring. Operations whose ids hash to one slot form a
 * chain, latest first, so a search ends at the first forgotten operation.
 *
 * Threads, memory: see recent_ops.h.
 */
#include "edges/recent_ops.h"

#include <errno.h>

#include "base/pages.h"

enum {
    OPERATIONS = 1 << 17, /* both sizes are powers of two */
    BY_ID = 1 << 18,
    LINKS_MOST = 64 /* most links of a chain that are followed; only damaged or hostile files have
                       longer chains */
};

struct sl_recent_ops {
    struct sl_recent_op op[OPERATIONS]; /* indexed by the low bits of the operation's number */
    uint32_t by_id[BY_ID];
    uint32_t newest;
};

int sl_recent_ops_create(struct sl_recent_ops **out)
{
    struct sl_recent_ops *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    *out = r;
    return 0;
}

void sl_recent_ops_destroy(struct sl_recent_ops *r)
{
    if (r)
        sl_pages_unmap(r, sizeof(*r));
}

static uint32_t place_of_id(uint64_t correlation, uint64_t graph_node, uint32_t stream)
{
    return (uint32_t)(((correlation + ((uint64_t)stream << 40)) * 0x9e3779b97f4a7c15u +
                       graph_node * 0xc2b2ae3d27d4eb4fu) >>
                      32) %
           BY_ID;
}

static const struct sl_recent_op *numbered(const struct sl_recent_ops *r, uint32_t number)
{
    const struct sl_recent_op *op = &r->op[number % OPERATIONS];

    return number && op->number == number ? op : NULL;
}

uint32_t sl_recent_ops_add(struct sl_recent_ops *r, const struct sl_event *ev)
{
    uint32_t *place;

    if (ev->kind != SL_EV_KERNEL && ev->kind != SL_EV_MEMCPY && ev->kind != SL_EV_MEMSET)
        return 0;
    if (++r->newest == 0) /* the number wraps after 2^32 operations, and must not be 0, which means
                             no operation */
        r->newest = 1;
    place = &r->by_id[place_of_id(ev->correlation, ev->u.op.graph_node, ev->stream)];
    r->op[r->newest % OPERATIONS] = (struct sl_recent_op){.correlation = ev->correlation,
                                                          .graph_node = ev->u.op.graph_node,
                                                          .start_ns = ev->start_ns,
                                                          .end_ns = ev->end_ns,
                                                          .stream = ev->stream,
                                                          .number = r->newest,
                                                          .chained = *place,
                                                          .device = ev->device};
    *place = r->newest;
    return r->newest;
}

const struct sl_recent_op *sl_recent_ops_find(const struct sl_recent_ops *r,
                                              const struct sl_edge_op *op)
{
    uint32_t at = place_of_id(op->correlation, op->graph_node, op->stream);
    const struct sl_recent_op *o = numbered(r, r->by_id[at]);

    for (int i = 0; o && i < LINKS_MOST; i++, o = numbered(r, o->chained))
        if (o->correlation == op->correlation && o->graph_node == op->graph_node &&
            o->stream == op->stream && o->device == op->device)
            return o;
    return NULL;
}
