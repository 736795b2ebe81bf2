/*
 * wall_clock.h - the time of the recording as the time of the process.
 *
 * A client cuts its windows by CLOCK_REALTIME, and a recording is from another day: the program has
 * a clock_gettime() of its own, in front of libc's, whose CLOCK_REALTIME can be set. All other
 * clocks are the machine's. Any thread reads; the playing thread sets.
 */
#ifndef REPLAY_WALL_CLOCK_H
#define REPLAY_WALL_CLOCK_H

#include <stdint.h>

/* From now on it is `ns`, and goes on at its usual rate. */
void replay_wall_clock_set(uint64_t ns);
uint64_t replay_wall_clock_now(void);

/* CLOCK_MONOTONIC */
uint64_t replay_monotonic_now(void);
void replay_sleep(uint64_t ns);

#endif
