/*
 * message.h - sizes and bandwidths of collectives as nccl-tests defines them.
 *
 * Threads: pure functions.
 */
#ifndef SL_EVENT_MESSAGE_H
#define SL_EVENT_MESSAGE_H

#include <stdint.h>

#include "event/collective.h"

#define SL_MESSAGE_UNKNOWN UINT64_MAX

/* Returns the plain name of a type, such as "all_reduce". */
const char *sl_message_name(enum sl_collective_type type);

/* Returns nccl-tests' size S from the bytes of a rank's input and output, of which one may be
 * SL_MESSAGE_UNKNOWN. S is equal on all ranks, except for all_to_all with different parts:
 *
 *   all_reduce, broadcast, reduce, send, recv   the tensor
 *   all_gather                                  the output
 *   reduce_scatter                              the input
 *   all_to_all                                  the input, with the rank's own part
 *   gather, scatter                             one part for each rank of the group
 *   barrier                                     0
 *
 * Returns SL_MESSAGE_UNKNOWN if S does not follow from the bytes. */
uint64_t sl_message_size(enum sl_collective_type type, uint64_t in_bytes, uint64_t out_bytes,
                         uint64_t ranks);

/* Returns the factor from the algorithm's bandwidth to that of the bus. */
double sl_message_bus_factor(enum sl_collective_type type, uint64_t ranks);

/* Returns 1 if no rank leaves a collective of the type before all have begun it. */
int sl_message_joins_all(enum sl_collective_type type);

static inline int sl_message_is_p2p(enum sl_collective_type type)
{
    return type == SL_COLLECTIVE_SEND || type == SL_COLLECTIVE_RECV || type == SL_COLLECTIVE_BATCH;
}

#endif
