/*
 * comms_id.h - computes Kineto's `Comms Id`, a number that all ranks of a collective share.
 *
 * Pure functions; any thread.
 */
#ifndef SL_COMMS_ID_H
#define SL_COMMS_ID_H

#include <stdint.h>

#include "event/collective.h"

/* Returns the id of the collective with this number among those of its group, or 0 if the
 * description lacks the group's name or size. Send and recv are numbered apart from the other
 * calls. */
uint64_t sl_comms_id(const struct sl_collective_args *told, uint32_t seq);

#endif
