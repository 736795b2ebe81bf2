/*
 * schedule.h - shared by schedule.c (times) and service.c (the service thread); sim_lock() guards
 * all of it.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <pthread.h>

#include "core/sim.h"

struct sim_schedule {
    pthread_mutex_t lock; /* sim_lock() */
    pthread_cond_t service_wake, settled;
    struct sim_stream *active; /* streams with a queue */
    struct op *jobs;           /* jobs of the service thread, ordered by start */
    struct op *polled;         /* started kernels that wait for other processes */
    bool service_idle;         /* the thread sleeps until it is notified of work */
    uint32_t queue_depth;
    uint64_t latency_ns, wake_ns; /* scaled */
};
extern struct sim_schedule sim_schedule;

/* The end of the operation is known: notifies the operations behind it. */
void sim_schedule_settle(struct op *op);

#endif
