/*
 * comm.c - writes collectives, and the communicators on which they run.
 *
 * ASTRA-sim aborts on collective types for which it has no algorithm. Operations of such types are
 * written as computation. An additional attribute contains their true type.
 *
 * Threads: one owner. Memory: none.
 */
#include <stdio.h>

#include "write/chakra/chakra_internal.h"
#include "write/chakra/wire.h"

/* Chakra's NodeType */
enum {
    NODE_COMP = 4,
    NODE_COMM_SEND = 5,
    NODE_COMM_RECV = 6,
    NODE_COMM_COLL = 7
};

#define NODE_ATTR 10

#define PUT_NUMBER(at, name, type, v)                                                              \
    sl_chakra_attribute(at, NODE_ATTR, name, sizeof(name) - 1, type, (uint64_t)(v))

/* Chakra's CollectiveCommType */
enum {
    COMM_ALL_REDUCE = 0,
    COMM_ALL_GATHER = 2,
    COMM_BROADCAST = 5,
    COMM_ALL_TO_ALL = 6,
    COMM_REDUCE_SCATTER = 7
};

static const struct {
    const char *name;
    unsigned node_type;
    unsigned comm_type; /* NODE_COMM_COLL */
} kind_of[SL_COLLECTIVE_TYPE_COUNT] = {
    [SL_COLLECTIVE_ALL_REDUCE] = {"ALL_REDUCE", NODE_COMM_COLL, COMM_ALL_REDUCE},
    [SL_COLLECTIVE_REDUCE] = {"REDUCE", NODE_COMP, 0},
    [SL_COLLECTIVE_ALL_GATHER] = {"ALL_GATHER", NODE_COMM_COLL, COMM_ALL_GATHER},
    [SL_COLLECTIVE_GATHER] = {"GATHER", NODE_COMP, 0},
    [SL_COLLECTIVE_SCATTER] = {"SCATTER", NODE_COMP, 0},
    [SL_COLLECTIVE_BROADCAST] = {"BROADCAST", NODE_COMM_COLL, COMM_BROADCAST},
    [SL_COLLECTIVE_ALL_TO_ALL] = {"ALL_TO_ALL", NODE_COMM_COLL, COMM_ALL_TO_ALL},
    [SL_COLLECTIVE_REDUCE_SCATTER] = {"REDUCE_SCATTER", NODE_COMM_COLL, COMM_REDUCE_SCATTER},
    [SL_COLLECTIVE_BARRIER] = {"BARRIER", NODE_COMP, 0},
    [SL_COLLECTIVE_SEND] = {"SEND", NODE_COMM_SEND, 0},
    [SL_COLLECTIVE_RECV] = {"RECV", NODE_COMM_RECV, 0},
    [SL_COLLECTIVE_BATCH] = {"BATCH", NODE_COMP, 0},
};

unsigned sl_chakra_node_type(const struct sl_collective *coll)
{
    return coll ? kind_of[coll->type].node_type : NODE_COMP;
}

char *sl_chakra_put_collective(char *at, const struct sl_collective *coll)
{
    char group[16] = "";

    if (sl_chakra_node_type(coll) == NODE_COMP)
        at = sl_chakra_text_attribute(at, NODE_ATTR, "collective", kind_of[coll->type].name);
    else if (sl_chakra_node_type(coll) == NODE_COMM_COLL)
        at = PUT_NUMBER(at, "comm_type", SL_CHAKRA_INT64, kind_of[coll->type].comm_type);
    at = PUT_NUMBER(at, "comm_size", SL_CHAKRA_INT64, coll->bytes);
    if (coll->type == SL_COLLECTIVE_SEND)
        at = PUT_NUMBER(at, "comm_dst", SL_CHAKRA_INT32, (int64_t)coll->peer);
    if (coll->type == SL_COLLECTIVE_RECV)
        at = PUT_NUMBER(at, "comm_src", SL_CHAKRA_INT32, (int64_t)coll->peer);
    if (coll->type == SL_COLLECTIVE_SEND || coll->type == SL_COLLECTIVE_RECV)
        at = PUT_NUMBER(at, "comm_tag", SL_CHAKRA_INT32, 0); /* NCCL and PyTorch have no tags */
    if (coll->group)
        snprintf(group, sizeof(group), "%u", coll->group);
    return sl_chakra_text_attribute(at, NODE_ATTR, "pg_name", group);
}
