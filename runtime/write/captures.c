/*
 * captures.c - remembers which operators created the nodes of CUDA graphs, and which work NCCL has
 * reported about them.
 *
 * The table consists of small sets, and a node's id selects the node's set. If the set is full, a
 * new node replaces the oldest node in the set.
 *
 * Threads, memory: see captures.h.
 */
#include "write/captures.h"

#include <stddef.h>

enum {
    WAYS = 4,
    SETS_LOG = 15,
    /* maximum number of steps from a copy to its original, through copies of copies */
    COPIES_MOST = 8,
};

_Static_assert(SL_CAPTURES == WAYS << SETS_LOG, "the table consists of its sets");

static struct sl_capture *set_of(const struct sl_captures *c, uint64_t node)
{
    return &c->capture[(node * 0x9e3779b97f4a7c15u >> (64 - SETS_LOG)) * WAYS];
}

static struct sl_capture *find(const struct sl_captures *c, uint64_t node)
{
    struct sl_capture *set = set_of(c, node);

    for (int i = 0; i < WAYS; i++)
        if (set[i].node == node)
            return &set[i];
    return NULL;
}

/* Returns the node's entry, or an empty entry for a new node. */
static struct sl_capture *get(struct sl_captures *c, uint64_t node)
{
    struct sl_capture *set = set_of(c, node), *oldest = set, *known = find(c, node);

    if (known)
        return known;
    for (int i = 0; i < WAYS; i++) {
        if (!set[i].node) {
            oldest = &set[i];
            break;
        }
        if ((int32_t)(set[i].made - oldest->made) < 0)
            oldest = &set[i];
    }
    *oldest = (struct sl_capture){.node = node, .sequence = -1, .made = c->made++};
    return oldest;
}

static int is_complete(const struct sl_captures *c, const struct sl_capture *of)
{
    return of->name && (of->work || !c->has_work);
}

/* Copies the operator and the work of the node's originals to the entry of the node, as far as they
 * are missing there. */
static void resolve(const struct sl_captures *c, struct sl_capture *copy)
{
    const struct sl_capture *from = copy;

    for (int i = 0; from && from->original && i < COPIES_MOST && !is_complete(c, copy); i++) {
        from = find(c, from->original);
        if (from && from->name && !copy->name) {
            copy->handle = from->handle;
            copy->sequence = from->sequence;
            copy->name = from->name;
        }
        if (from && !copy->work)
            copy->work = from->work;
    }
}

void sl_captures_tell(struct sl_captures *c, const struct sl_event *ev)
{
    struct sl_capture *to;

    if (!ev->u.node.id)
        return;
    if (ev->fact == SL_NODE_CAPTURED) {
        to = get(c, ev->u.node.id);
        to->handle = ev->u.node.other;
        to->sequence = ev->node_sequence;
        to->name = ev->name;
    } else if (ev->fact == SL_NODE_WORK) {
        get(c, ev->u.node.id)->work = ev->name;
        c->has_work = 1;
    } else if (ev->fact == SL_NODE_CLONED && ev->u.node.other) {
        to = get(c, ev->u.node.id);
        to->original = ev->u.node.other;
        to->name = to->work = 0;
        resolve(c, to);
    }
}

const struct sl_capture *sl_captures_find(struct sl_captures *c, uint64_t node)
{
    struct sl_capture *at = node ? find(c, node) : NULL;

    if (at && !is_complete(c, at))
        resolve(c, at);
    return at && (at->name || at->work) ? at : NULL;
}
