/*
 * discover.h - copies of NVTX in the process that have not asked for us.
 *
 * NVTX looks for its tool once, at an object's first call of it, in the environment. Where that may
 * not be touched any more, or the first call has been, a copy is found by its state: the tables
 * that it would have handed us lie in the object's data, in a form that nothing else has
 * (nvtxGlobals_t of NVTX 3). The payload extension has no such state: if an object has called it
 * before, it is not found.
 *
 * Threads: one at a time. The dynamic linker's list is locked meanwhile, so that no object goes
 * away. Allocates nothing.
 */
#ifndef SL_NVTX_DISCOVER_H
#define SL_NVTX_DISCOVER_H

#include <stdint.h>

/* A copy's own functions, as it gives them to a tool. */
struct sl_nvtx_copy {
    /* enum of NVTX's: 0 nobody has called it, 2 it has looked for its tool */
    volatile unsigned *state;
    int (*get_table)(unsigned module, void ****table, unsigned *size);
};

/* Each copy that is there. */
void sl_nvtx_discover(void (*found)(const struct sl_nvtx_copy *copy));

#endif
