/*
 * exec_state.c - stores the stream on which each executable graph was launched last, and the last
 * operations of that launch.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the executable graphs, their sets
 * and the array for a launch.
 */
#include "sync/exec_state.h"

#include <string.h>

enum {
    SHARE = 16,     /* this table may use 1/SHARE of the store */
    ENDS_USUAL = 4, /* usual number of streams that a graph runs on */
    SLOTS_USUAL = 4 /* number of map slots that are reserved for one key */
};

void sl_execs_init(struct sl_execs *x, struct sl_streams *streams)
{
    const size_t each = sizeof(struct sl_exec) +
                        SL_EXEC_NODES * SLOTS_USUAL * sizeof(struct sl_map_slot) +
                        ENDS_USUAL * (sizeof(struct sl_link) + sizeof(struct sl_op));

    *x = (struct sl_execs){.streams = streams};
    sl_pool_init(&x->pool, streams->store, sizeof(struct sl_exec));
    sl_map_init(&x->by_node, streams->store);
    x->most = streams->store->cap_bytes / SHARE / each + 1;
}

void sl_execs_free(struct sl_execs *x)
{
    sl_pool_free(&x->pool);
    sl_map_free(&x->by_node);
    sl_store_unmap(x->streams->store, x->launched, x->launched_slots * sizeof *x->launched);
}

struct sl_launched *sl_execs_launched(struct sl_execs *x, size_t count)
{
    struct sl_launched *launched =
        sl_store_more(x->streams->store, x->launched, &x->launched_slots, count, sizeof *launched);

    if (!launched)
        return NULL;
    x->launched = launched;
    return memset(launched, 0, count * sizeof *launched);
}

static void leave_list(struct sl_execs *x, struct sl_exec *exec)
{
    *(exec->older ? &exec->older->newer : &x->oldest) = exec->newer;
    *(exec->newer ? &exec->newer->older : &x->newest) = exec->older;
}

static void join_list(struct sl_execs *x, struct sl_exec *exec)
{
    exec->older = x->newest;
    exec->newer = NULL;
    *(x->newest ? &x->newest->newer : &x->oldest) = exec;
    x->newest = exec;
}

static void forget(struct sl_execs *x, struct sl_exec *exec)
{
    for (int i = 0; i < SL_EXEC_NODES; i++)
        if (sl_map_get(&x->by_node, exec->node[i]) == exec)
            sl_map_drop(&x->by_node, exec->node[i]);
    leave_list(x, exec);
    sl_set_clear(x->streams, &exec->ends);
    sl_pool_put(&x->pool, exec);
    x->count--;
}

void sl_execs_forget(struct sl_execs *x)
{
    while (x->oldest)
        forget(x, x->oldest);
}

/* Fills `node` with the lowest node ids, without duplicates, in ascending order. */
static void lowest(const struct sl_item *item, size_t count, uint64_t node[SL_EXEC_NODES])
{
    size_t used = 0;

    memset(node, 0, SL_EXEC_NODES * sizeof *node);
    for (size_t i = 0; i < count; i++) {
        uint64_t id = sl_item_is_node(&item[i]) ? item[i].id : 0;
        size_t at = used;

        while (at && node[at - 1] > id)
            at--;
        if (id == 0 || at == SL_EXEC_NODES || (at && node[at - 1] == id))
            continue;
        if (used < SL_EXEC_NODES)
            used++;
        memmove(&node[at + 1], &node[at], (used - 1 - at) * sizeof *node);
        node[at] = id;
    }
}

static struct sl_exec *find(const struct sl_execs *x, const uint64_t node[SL_EXEC_NODES])
{
    struct sl_exec *exec = NULL;

    for (int i = 0; i < SL_EXEC_NODES && !exec; i++)
        exec = sl_map_get(&x->by_node, node[i]);
    return exec;
}

static struct sl_exec *make(struct sl_execs *x, const uint64_t node[SL_EXEC_NODES])
{
    struct sl_exec *exec = sl_pool_get(&x->pool);

    if (!exec)
        return NULL;
    memcpy(exec->node, node, sizeof exec->node);
    exec->context = exec->stream = SL_STREAM_NONE;
    for (int i = 0; i < SL_EXEC_NODES && node[i]; i++) {
        uint64_t *place = sl_map_put(&x->by_node, node[i]);

        if (place)
            *place = (uintptr_t)exec;
    }
    x->count++;
    join_list(x, exec);
    return exec;
}

static int has_ended(const struct sl_execs *x, const struct sl_exec *exec)
{
    for (const struct sl_link *at = exec->ends.first; at; at = at->next)
        if (at->op->pub.end_ns > x->streams->horizon_ns)
            return 0;
    return 1;
}

struct sl_exec *sl_execs_get(struct sl_execs *x, const struct sl_item *item, size_t count,
                             int *lost)
{
    uint64_t node[SL_EXEC_NODES];
    struct sl_exec *exec;

    lowest(item, count, node);
    if (!node[0])
        return NULL;
    exec = find(x, node);
    if (exec && exec != x->newest) {
        leave_list(x, exec);
        join_list(x, exec);
    }
    if (exec)
        return exec;
    if (x->count == x->most) {
        *lost = !has_ended(x, x->oldest);
        forget(x, x->oldest);
    }
    return make(x, node);
}
