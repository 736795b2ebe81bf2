/*
 * discover.h - finds copies of NVTX in the process to which we are not attached.
 *
 * NVTX looks for its tool once, in the environment, at a shared object's first NVTX call. After
 * that call, or if the environment must not be changed, this module finds the copy by its state in
 * memory. The object's data contains an nvtxGlobals_t (NVTX 3), whose constants and pointers occur
 * nowhere else. NVTX's payload extension has no such state. So the extension cannot be found in an
 * object that has already called the extension.
 *
 * Threads: any thread, but only one at a time. The dynamic linker's list is locked during the
 * search, so that no object is unloaded. Memory: none.
 */
#ifndef SL_NVTX_DISCOVER_H
#define SL_NVTX_DISCOVER_H

#include <stdint.h>

/* A copy's own data. NVTX passes the same data to a tool. */
struct sl_nvtx_copy {
    /* state of the copy, a value of NVTX's enum. 0: NVTX was never called. 2: NVTX has looked for
     * its tool */
    volatile unsigned *state;
    int (*get_table)(unsigned module, void ****table, unsigned *size);
};

/* Calls `found` for each copy in the process. */
void sl_nvtx_discover(void (*found)(const struct sl_nvtx_copy *copy));

#endif
