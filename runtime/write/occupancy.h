/*
 * occupancy.h - computes how much of a multiprocessor a kernel can occupy.
 *
 * Threads: any; pure functions.
 */
#ifndef SL_OCCUPANCY_H
#define SL_OCCUPANCY_H

#include <stdint.h>

#include "event/device.h"
#include "event/shape.h"

/* Returns how many blocks of this kernel fit on one multiprocessor at a time. Returns 0 if the
 * device's limits are not known or forbid the launch. */
uint32_t sl_occupancy_blocks(const struct sl_device *device, const struct sl_shape *kernel);

/* Returns the number of blocks of the launch per multiprocessor. For example, 128 blocks on 108
 * multiprocessors give 1.185. */
double sl_occupancy_blocks_per_sm(const struct sl_device *device, const struct sl_shape *kernel);

/* Returns libkineto's "est. achieved occupancy %": the share of a multiprocessor's threads that the
 * blocks of this launch can occupy, rounded. */
uint32_t sl_occupancy_percent(const struct sl_device *device, const struct sl_shape *kernel);

#endif
