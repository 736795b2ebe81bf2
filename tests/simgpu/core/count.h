/*
 * count.h - the counts that a host reads back from kernels (count.c).
 */
#ifndef SIM_COUNT_H
#define SIM_COUNT_H

#include "core/sim.h"

int sim_count_parameter(const char *kernel); /* the parameter with the count's address; -1 if there
                                              * is none */
/* Stores the address of this launch's count in the work. `params` as in cuLaunchKernel, or NULL. */
void sim_count_find(struct sim_work *work, void **params);

#endif
