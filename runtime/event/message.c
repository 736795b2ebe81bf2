/*
 * message.c - sizes and bandwidths of collectives, by a table of their types.
 *
 * Threads: see message.h.
 */
#include "event/message.h"

static const struct {
    const char *name;
    enum {
        INPUT,       /* S = input; if that is not known, the output */
        OUTPUT,      /* output; else n times the input */
        INPUT_PARTS, /* n times the input */
        OUTPUT_PARTS /* n times the output; else the input */
    } size;
    enum {
        ONE,    /* factor 1 */
        OTHERS, /* (n - 1) / n */
        TWICE   /* 2 (n - 1) / n */
    } factor;
    int joins_all;
} types[SL_COLLECTIVE_TYPE_COUNT] = {
    [SL_COLLECTIVE_ALL_REDUCE] = {"all_reduce", INPUT, TWICE, 1},
    [SL_COLLECTIVE_REDUCE] = {"reduce", INPUT, ONE, 0},
    [SL_COLLECTIVE_ALL_GATHER] = {"all_gather", OUTPUT, OTHERS, 1},
    [SL_COLLECTIVE_GATHER] = {"gather", INPUT_PARTS, OTHERS, 0},
    [SL_COLLECTIVE_SCATTER] = {"scatter", OUTPUT_PARTS, OTHERS, 0},
    [SL_COLLECTIVE_BROADCAST] = {"broadcast", INPUT, ONE, 0},
    [SL_COLLECTIVE_ALL_TO_ALL] = {"all_to_all", INPUT, OTHERS, 1},
    [SL_COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", INPUT, OTHERS, 1},
    [SL_COLLECTIVE_BARRIER] = {"barrier", INPUT, ONE, 1},
    [SL_COLLECTIVE_SEND] = {"send", INPUT, ONE, 0},
    [SL_COLLECTIVE_RECV] = {"recv", INPUT, ONE, 0},
    [SL_COLLECTIVE_BATCH] = {"batch_isend_irecv", INPUT, ONE, 0},
};

const char *sl_message_name(enum sl_collective_type type)
{
    return types[type].name;
}

static uint64_t times(uint64_t bytes, uint64_t ranks)
{
    uint64_t size;

    if (bytes == SL_MESSAGE_UNKNOWN || !ranks || __builtin_mul_overflow(bytes, ranks, &size))
        return SL_MESSAGE_UNKNOWN;
    return size;
}

uint64_t sl_message_size(enum sl_collective_type type, uint64_t in_bytes, uint64_t out_bytes,
                         uint64_t ranks)
{
    uint64_t size = SL_MESSAGE_UNKNOWN;

    if (type == SL_COLLECTIVE_BARRIER)
        return 0;
    switch (types[type].size) {
    case INPUT:
        return in_bytes == SL_MESSAGE_UNKNOWN ? out_bytes : in_bytes;
    case OUTPUT:
        return out_bytes == SL_MESSAGE_UNKNOWN ? times(in_bytes, ranks) : out_bytes;
    case INPUT_PARTS:
        return times(in_bytes, ranks);
    case OUTPUT_PARTS:
        size = times(out_bytes, ranks);
        return size == SL_MESSAGE_UNKNOWN ? in_bytes : size;
    }
    return size;
}

double sl_message_bus_factor(enum sl_collective_type type, uint64_t ranks)
{
    double others = ranks ? (double)(ranks - 1) / (double)ranks : 0;

    switch (types[type].factor) {
    case OTHERS:
        return others;
    case TWICE:
        return 2 * others;
    default:
        return 1;
    }
}

int sl_message_joins_all(enum sl_collective_type type)
{
    return types[type].joins_all;
}
