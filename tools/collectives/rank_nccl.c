/*
 * rank_nccl.c - reads what NCCL says about a kernel (docs/nccl.md) into a part. Pure functions.
 */
#include <errno.h>
#include <string.h>

#include "collectives/rank_file.h"
#include "event/message.h"

#define NUMBER_MOST (1ll << 31)
#define BYTES_MOST  (1ll << 56)

/* NCCL's functions. `bytes` of a call are those that this rank gives or gets. */
static const struct {
    const char *name;
    enum sl_collective_type type;
    enum {
        GIVES,
        GETS,
        GIVES_EACH /* one part of what it gives */
    } bytes;
} functions[] = {
    {"AllReduce", SL_COLLECTIVE_ALL_REDUCE, GIVES},
    {"Broadcast", SL_COLLECTIVE_BROADCAST, GIVES},
    {"Reduce", SL_COLLECTIVE_REDUCE, GIVES},
    {"AllGather", SL_COLLECTIVE_ALL_GATHER, GIVES},
    {"ReduceScatter", SL_COLLECTIVE_REDUCE_SCATTER, GIVES_EACH},
    {"AlltoAll", SL_COLLECTIVE_ALL_TO_ALL, GIVES_EACH},
    {"Gather", SL_COLLECTIVE_GATHER, GIVES},
    {"Scatter", SL_COLLECTIVE_SCATTER, GETS},
    {"Send", SL_COLLECTIVE_SEND, GIVES},
    {"Recv", SL_COLLECTIVE_RECV, GETS},
    {"mixed", SL_COLLECTIVE_BATCH, GIVES},
};

static const struct {
    const char *nccl, *torch;
} types[] = {
    {"ncclInt8", "Char"},      {"ncclUint8", "Byte"},        {"ncclInt32", "Int"},
    {"ncclInt64", "Long"},     {"ncclFloat16", "Half"},      {"ncclFloat32", "Float"},
    {"ncclFloat64", "Double"}, {"ncclBfloat16", "BFloat16"},
};

/* Returns the index of a function, or -1. */
static int function_of(struct sl_text name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (sl_text_is(name, functions[i].name))
            return (int)i;
    return -1;
}

static uint8_t dtype_of(struct sl_text name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (sl_text_is(name, types[i].nccl))
            return sl_collective_dtype_number(
                (struct sl_collective_text){types[i].torch, strlen(types[i].torch)});
    return 0;
}

/* Reads a hash such as "0x0123456789abcdef". Returns 0 if it is none. */
static uint64_t hash_of(struct sl_text text)
{
    uint64_t hash = 0;

    if (text.size != 18 || memcmp(text.data, "0x", 2) != 0)
        return 0;
    for (size_t i = 2; i < text.size; i++) {
        char c = text.data[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return 0;
        hash = hash << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return hash;
}

/* Returns what identifies a communicator. A program may create several of one hash, one after the
 * other, and each counts its collectives from 0. */
static uint64_t comm_of(const struct sl_trace_row *row)
{
    uint64_t hash = hash_of(row->comm);

    return hash && row->comm_instance > 1
               ? hash + (uint64_t)row->comm_instance * 0xbf58476d1ce4e5b9u
               : hash;
}

static int32_t small(int64_t number)
{
    return number >= 0 && number < NUMBER_MOST ? (int32_t)number : -1;
}

void sl_rank_nccl_add(const struct sl_trace_row *row, struct sl_rank_part *part)
{
    int function = function_of(row->nccl_call);

    part->comm = comm_of(row);
    if (function < 0 || !part->comm || part->numbered != SL_NUMBERED_BY_STEP ||
        row->nccl_number < 0 || row->has & SL_HAS_GRAPH)
        return;
    part->numbered = SL_NUMBERED_BY_NCCL;
    part->number = (uint64_t)row->nccl_number;
    part->func = (uint8_t)functions[function].type;
}

int sl_rank_nccl_read(const struct sl_trace_row *row, struct sl_rank_part *part,
                      struct sl_rank_group *group)
{
    int function = function_of(row->nccl_call);
    uint64_t given = SL_MESSAGE_UNKNOWN, got = SL_MESSAGE_UNKNOWN;
    uint64_t ranks = (uint64_t)row->comm_ranks, bytes = (uint64_t)row->nccl_bytes;

    if (function < 0 || !hash_of(row->comm) || small(row->comm_ranks) < 1 ||
        small(row->comm_rank) < 0 || row->comm_rank >= row->comm_ranks)
        return -EINVAL;
    if (row->nccl_bytes >= 0 && row->nccl_bytes <= BYTES_MOST / row->comm_ranks) {
        given = functions[function].bytes == GETS         ? SL_MESSAGE_UNKNOWN
                : functions[function].bytes == GIVES_EACH ? bytes * ranks
                                                          : bytes;
        got = functions[function].bytes == GETS ? bytes : SL_MESSAGE_UNKNOWN;
    }
    *part = (struct sl_rank_part){
        .size = sl_message_size(functions[function].type, given, got, ranks),
        .calls = small(row->nccl_calls) > 0 ? (uint32_t)row->nccl_calls : 1,
        .peer = functions[function].type == SL_COLLECTIVE_BATCH ? -1 : small(row->nccl_peer),
        .root = small(row->nccl_root),
        .self = (int32_t)row->comm_rank,
        .type = (uint8_t)functions[function].type,
        .dtype = dtype_of(row->nccl_dtype),
        .is_nccl = 1,
        .is_shared = row->nccl_calls > 1 || functions[function].type == SL_COLLECTIVE_BATCH};
    *group = (struct sl_rank_group){.comm = comm_of(row), .ranks = (size_t)ranks};
    sl_rank_nccl_add(row, part);
    return 0;
}
