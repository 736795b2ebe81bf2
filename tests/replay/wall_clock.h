/*
 * wall_clock.h - sets the process's time to the time of the recording.
 *
 * A client opens and closes windows by CLOCK_REALTIME, and a recording is from another day.
 * Therefore the program defines clock_gettime() itself, which replaces libc's, and its
 * CLOCK_REALTIME can be set. All other clocks are the machine's. Any thread reads; the playing
 * thread sets.
 */
#ifndef REPLAY_WALL_CLOCK_H
#define REPLAY_WALL_CLOCK_H

#include <stdint.h>

/* Sets CLOCK_REALTIME to `ns`. The clock continues at its normal rate. */
void replay_wall_clock_set(uint64_t ns);
uint64_t replay_wall_clock_now(void);

/* CLOCK_MONOTONIC */
uint64_t replay_monotonic_now(void);
void replay_sleep(uint64_t ns);

#endif
