/*
 * discover.h - finds copies of NVTX in the process that have not asked us to be their tool.
 *
 * NVTX looks for its tool once, in the environment, at an object's first NVTX call. If that call is
 * over, or the environment must not be changed, the copy is found by its state in memory. The
 * object's data holds the tables that NVTX hands to a tool, in a form that nothing else has
 * (nvtxGlobals_t of NVTX 3). The payload extension has no such state. If an object has already
 * called the extension, that extension is not found.
 *
 * Threads: one at a time. The dynamic linker's list is locked meanwhile, so that no object is
 * unloaded. Allocates nothing.
 */
#ifndef SL_NVTX_DISCOVER_H
#define SL_NVTX_DISCOVER_H

#include <stdint.h>

/* The copy's own functions, as NVTX gives them to a tool. */
struct sl_nvtx_copy {
    /* NVTX's enum: 0 never called, 2 has looked for its tool */
    volatile unsigned *state;
    int (*get_table)(unsigned module, void ****table, unsigned *size);
};

/* Calls `found` for each copy in the process. */
void sl_nvtx_discover(void (*found)(const struct sl_nvtx_copy *copy));

#endif
