/*
 * cuda_facts.h - queries CUDA's versions and GPU facts from the libraries in the process.
 *
 * CUPTI could report the same facts in DEVICE records, but CUPTI writes these records when CUDA
 * initialises. If we enabled the kind DEVICE, CUPTI would request a buffer even in processes that
 * never use a GPU, and a profiler that is injected later would miss the records. The driver answers
 * the same questions at any time, without a context.
 *
 * Threads: the recorder thread, and at process end the exiting thread; never inside a CUPTI
 * callback.
 */
#ifndef SL_CUPTI_CUDA_FACTS_H
#define SL_CUPTI_CUDA_FACTS_H

#include <stdint.h>

#include "event/device.h"

/* Queries the libcuda in the process about the device with this ordinal. Returns 0 with out->known
 * set. A fact that the driver did not report is zero. Returns -ENOENT if the process has no driver,
 * or no such device. */
int sl_cuda_facts_device(uint32_t device, struct sl_device *out);

/* Returns whether a device has a primary context, or the calling thread has any context. */
int sl_cuda_facts_has_context(void);

/* Writes the versions of the driver and of a CUDA runtime library in the process, in CUDA's form
 * (13000 = 13.0). Writes 0 if the driver or the library is missing. */
void sl_cuda_facts_versions(uint32_t *driver, uint32_t *runtime);

#endif
