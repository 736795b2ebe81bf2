/*
 * nvtx.h - attaches to the copies of NVTX in this process.
 *
 * Every shared object that uses NVTX has its own copy of NVTX's state. Each copy asks for a tool at
 * its first call. So the entries below run several times, on application threads inside an NVTX
 * call, while other threads of that copy spin. From then on each NVTX call jumps through a slot of
 * the copy to a function of calls.h. A slot that is NULL costs nothing.
 *
 *   sl_nvtx_init()       creates tables and lanes; then sl_nvtx_getenv_hook_set() lets NVTX find us
 *   sl_nvtx_attach()     NVTX asks for its tool: sets the slots of one copy
 *   sl_nvtx_attach_all() looks for copies that have asked already, or cannot ask
 *   sl_nvtx_detach()     clears all slots for good; later requests are refused
 *
 * read.h reads the recorded calls. Memory: static, and the lanes'.
 */
#ifndef SL_NVTX_H
#define SL_NVTX_H

#include <stddef.h>
#include <stdint.h>

/* 0, -ENOMEM; -EALREADY: NVTX asked first. `bytes`: memory limit for records in the lanes. */
int sl_nvtx_init(size_t bytes);

/* Attaches to copies without a tool that looked before us, or cannot find us. One thread at a time.
 * Does nothing unless objects were loaded since the last call. */
void sl_nvtx_attach_all(void);

/* NVTX's entry points. 1: slots are set; 0: refused. NVTX may call them before sl_nvtx_init(). */
int sl_nvtx_attach(const void *(*get_export_table)(uint32_t id));
int sl_nvtx_attach_extension(void *module_info);

/* Any thread, also in a forked child: async-signal-safe. */
void sl_nvtx_detach(void);

/* Number of NVTX copies that we are attached to. */
unsigned sl_nvtx_copies(void);

/* Functions that turn CUDA handles into CUPTI ids, for streams and contexts that the program names.
 * Called on the naming thread. 0 or -errno. */
struct sl_nvtx_ids {
    int (*context)(void *context, uint32_t *id, uint32_t *device);
    int (*stream)(void *stream, uint32_t *id, uint32_t *context);
};
void sl_nvtx_set_ids(const struct sl_nvtx_ids *ids);

#endif
