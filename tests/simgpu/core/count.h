/*
 * count.h - the element counts that kernels write and PyTorch reads back (count.c).
 */
#ifndef SIM_COUNT_H
#define SIM_COUNT_H

#include "core/sim.h"

/* Returns the index of the parameter with the count's address, or -1 if there is none. */
int sim_count_parameter(const char *kernel);
/* Stores the address of this launch's count in the work. `params` are the parameters of
 * cuLaunchKernel, or NULL. */
void sim_count_find(struct sim_work *work, void **params);

#endif
