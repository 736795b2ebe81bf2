/*
 * cuda_facts.h - queries CUDA's versions and GPU facts from the libraries in the process.
 *
 * CUPTI's DEVICE records come when CUDA initialises, before any context. With that kind enabled,
 * CUPTI would request a buffer even in processes that never use a GPU. A profiler injected late
 * would miss the records. The driver answers the same questions at any time, without a context.
 *
 * Threads: the recorder thread, at the end the exiting thread; never inside a CUPTI callback.
 */
#ifndef SL_CUPTI_CUDA_FACTS_H
#define SL_CUPTI_CUDA_FACTS_H

#include <stdint.h>

#include "event/device.h"

/* Queries the libcuda in the process about the device with this ordinal. 0: `known` is set, and
 * facts that the driver did not give are zero. -ENOENT: no driver in the process, or no such
 * device. */
int sl_cuda_facts_device(uint32_t device, struct sl_device *out);

/* Whether a device has a primary context, or the calling thread has any context. */
int sl_cuda_facts_has_context(void);

/* Versions in CUDA's form (13000 = 13.0) of the driver and of a runtime library in the process; 0:
 * none. */
void sl_cuda_facts_versions(uint32_t *driver, uint32_t *runtime);

#endif
