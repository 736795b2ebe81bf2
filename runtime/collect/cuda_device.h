/*
 * cuda_device.h - facts about a GPU, asked of the driver.
 *
 * CUPTI's DEVICE records come when CUDA initialises, before any context: having them would make
 * CUPTI ask for a buffer in processes that never use a GPU, and a profiler injected late would miss
 * them. The driver answers the same questions at any time, without a context.
 *
 * Threads: the collector; never inside a CUPTI callback.
 */
#ifndef SL_CUDA_DEVICE_H
#define SL_CUDA_DEVICE_H

#include <stdint.h>

#include "event/device.h"

/* Asks the libcuda that is already in the process about the device with this ordinal. 0 with
 * `known` set, the facts that the driver gave, and zero for those that it did not; -ENOENT without
 * a driver in the process or a device of that number. */
int sl_cuda_device_query(uint32_t device, struct sl_device *out);

#endif
