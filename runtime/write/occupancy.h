/*
 * occupancy.h - how much of a multiprocessor a kernel can fill.
 *
 * Threads: any; pure functions.
 */
#ifndef SL_OCCUPANCY_H
#define SL_OCCUPANCY_H

#include <stdint.h>

#include "event/device.h"
#include "event/shape.h"

/* Blocks of this kernel that fit on one multiprocessor at a time; 0 when the device's limits are
 * not known or forbid the launch. */
uint32_t sl_occupancy_blocks(const struct sl_device *device, const struct sl_shape *kernel);

/* Blocks that the launch has for each multiprocessor, 128 blocks on 108 of them being 1.185. */
double sl_occupancy_blocks_per_sm(const struct sl_device *device, const struct sl_shape *kernel);

/* libkineto's "est. achieved occupancy %": the share of a multiprocessor's threads that the blocks
 * of this launch can occupy, rounded. */
uint32_t sl_occupancy_percent(const struct sl_device *device, const struct sl_shape *kernel);

#endif
