/*
 * count.h - how many a kernel found, as far as a host asks for it (count.c).
 */
#ifndef SIM_COUNT_H
#define SIM_COUNT_H

#include "core/sim.h"

int sim_count_parameter(const char *kernel); /* which one says where the count goes, or -1 */
/* Where this launch's count goes, into the work. `params` as cuLaunchKernel has them, or NULL. */
void sim_count_find(struct sim_work *work, void **params);

#endif
