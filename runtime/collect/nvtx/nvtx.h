/*
 * nvtx.h - attaches to the copies of NVTX in this process.
 *
 * Every shared object that uses NVTX has its own copy of NVTX's state. At its first NVTX call, each
 * copy looks for a tool and calls the tool's entry points. So sl_nvtx_attach() runs once per copy,
 * on an application thread, while other threads that call NVTX through that copy wait.
 * sl_nvtx_attach() sets the copy's slots (function pointers) to functions of calls.h. Every later
 * NVTX call jumps through its slot. A slot that stays NULL costs nothing.
 *
 *   sl_nvtx_init()       creates tables and lanes (before sl_nvtx_getenv_hook_set())
 *   sl_nvtx_attach()     called by NVTX: sets the slots of one copy
 *   sl_nvtx_attach_all() attaches to copies that found no tool, or cannot find us
 *   sl_nvtx_detach()     clears all slots for good; later requests are refused
 *
 * read.h reads the recorded calls. Memory: static tables, and the lanes (collect/lane/lane.h).
 */
#ifndef SL_NVTX_H
#define SL_NVTX_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` is the memory limit for records in the lanes. Returns 0, -ENOMEM, or -EALREADY if a copy
 * of NVTX has called sl_nvtx_attach() before. */
int sl_nvtx_init(size_t bytes);

/* Attaches to copies that have no tool, because the copies looked for a tool before we were ready,
 * or because the copies cannot find us. One thread at a time. Does nothing unless shared objects
 * were loaded since the last call. */
void sl_nvtx_attach_all(void);

/* The entry points that NVTX calls, perhaps before sl_nvtx_init(). Return 1 if the slots were set,
 * 0 if the attachment was refused. */
int sl_nvtx_attach(const void *(*get_export_table)(uint32_t id));
int sl_nvtx_attach_extension(void *module_info);

/* Any thread, also in a forked child: async-signal-safe. */
void sl_nvtx_detach(void);

/* Returns the number of NVTX copies to which we are attached. */
unsigned sl_nvtx_copies(void);

/* Functions that turn CUDA handles into CUPTI ids, for streams and contexts that the program names.
 * Called on the naming thread. Return 0 or -errno. */
struct sl_nvtx_ids {
    int (*context)(void *context, uint32_t *id, uint32_t *device);
    int (*stream)(void *stream, uint32_t *id, uint32_t *context);
};
void sl_nvtx_set_ids(const struct sl_nvtx_ids *ids);

#endif
