/*
 * cuda_facts.h - what CUDA says of itself and of its GPUs, asked of the libraries in the process.
 *
 * CUPTI's DEVICE records come when CUDA initialises, before any context: having them would make
 * CUPTI ask for a buffer in processes that never use a GPU, and a profiler injected late would miss
 * them. The driver answers the same questions at any time, without a context.
 *
 * Threads: the collector, at the end the exiting one; never inside a CUPTI callback.
 */
#ifndef SL_CUPTI_CUDA_FACTS_H
#define SL_CUPTI_CUDA_FACTS_H

#include <stdint.h>

#include "event/device.h"

/* Asks the libcuda that is already in the process about the device with this ordinal. 0 with
 * `known` set, the facts that the driver gave, and zero for those that it did not; -ENOENT without
 * a driver in the process or a device of that number. */
int sl_cuda_facts_device(uint32_t device, struct sl_device *out);

/* Whether some device has a primary context, or the calling thread a context of any kind. */
int sl_cuda_facts_has_context(void);

/* Versions as CUDA tells them (13000 = 13.0) of the driver and of a runtime library in the process;
 * 0 where there is none. */
void sl_cuda_facts_versions(uint32_t *driver, uint32_t *runtime);

#endif
