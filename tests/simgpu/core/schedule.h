/*
 * schedule.h - what schedule.c (times) and service.c (the service thread) share, all of it under
 * the lock.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <pthread.h>

#include "core/sim.h"

struct sim_schedule {
    pthread_mutex_t lock; /* sim_lock() */
    pthread_cond_t service_wake, settled;
    struct sim_stream *active; /* streams with a queue */
    struct op *jobs;           /* to be run by the service thread, by start */
    struct op *polled;         /* kernels that have started and wait for other processes */
    bool service_idle;         /* it sleeps until told of work */
    uint32_t queue_depth;
    uint64_t latency_ns, wake_ns; /* scaled */
};
extern struct sim_schedule sim_schedule;

/* The op's end is known: tells everything behind it. */
void sim_schedule_settle(struct op *op);

#endif
