/*
 * schedule.h - data that schedule.c (times) and service.c (the service thread) share. sim_lock()
 * guards this data.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <pthread.h>

#include "core/sim.h"

struct sim_schedule {
    pthread_mutex_t lock; /* sim_lock() */
    pthread_cond_t service_wake, settled;
    struct sim_stream *active; /* streams with pending operations */
    struct op *jobs;           /* jobs of the service thread, ordered by start */
    struct op *polled;         /* started kernels that wait for other processes */
    bool service_idle;         /* the thread sleeps until it is notified of work */
    uint32_t queue_depth;
    uint64_t latency_ns, wake_ns; /* in ns, already divided by the option `scale` */
};
extern struct sim_schedule sim_schedule;

/* Called when the end time of the operation is known. Computes the times of the operations that
 * follow. */
void sim_schedule_settle(struct op *op);

#endif
