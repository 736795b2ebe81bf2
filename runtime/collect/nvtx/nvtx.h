/*
 * nvtx.h - NVTX: how its calls in this process reach us.
 *
 * Every shared object that uses NVTX brings a copy of its state and asks for a tool at its own
 * first call, so the entries below run several times, on threads of the application, inside an
 * NVTX call: other threads of it spin meanwhile. From then on each call jumps through a slot of
 * that copy to a function of calls.h; a slot that is NULL costs nothing.
 *
 *   sl_nvtx_init()      tables and lanes; then sl_nvtx_getenv_hook_set(), so that NVTX finds us
 *   sl_nvtx_attach()    NVTX asks: the slots of one copy are set
 *   sl_nvtx_attach_all() NVTX has asked already, or cannot: its copies are looked for
 *   sl_nvtx_detach()    for good: they are cleared, and what has not been asked will be refused
 *
 * What was called is read by read.h.
 */
#ifndef SL_NVTX_H
#define SL_NVTX_H

#include <stddef.h>
#include <stdint.h>

/* 0, -ENOMEM; -EALREADY: NVTX asked first. `bytes`: most memory for records on their way. */
int sl_nvtx_init(size_t bytes);

/* Copies that were asked for their tool before us, or find none: those that nobody has are taken.
 * One thread at a time; does nothing unless objects were loaded since the last call. */
void sl_nvtx_attach_all(void);

/* NVTX's entry points; 1: slots are set; 0: refused. They may come before sl_nvtx_init(). */
int sl_nvtx_attach(const void *(*get_export_table)(uint32_t id));
int sl_nvtx_attach_extension(void *module_info);

/* Any thread, also in the child of a fork: async-signal-safe. */
void sl_nvtx_detach(void);

/* Copies of NVTX that we are attached to. */
unsigned sl_nvtx_copies(void);

/* How handles of CUDA's turn into CUPTI's ids, for streams and contexts that are named. Called on
 * the naming thread. 0 or -errno. */
struct sl_nvtx_ids {
    int (*context)(void *context, uint32_t *id, uint32_t *device);
    int (*stream)(void *stream, uint32_t *id, uint32_t *context);
};
void sl_nvtx_set_ids(const struct sl_nvtx_ids *ids);

#endif
