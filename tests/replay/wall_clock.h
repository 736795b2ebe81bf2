/*
 * wall_clock.h - sets the process's time to the time of the recording.
 *
 * A client opens and closes windows by CLOCK_REALTIME, and a recording is from another day.
 * Therefore the player defines its own clock_gettime(), which replaces the function of libc and has
 * a CLOCK_REALTIME that can be set. All other clocks are unchanged. Any thread may read the clock;
 * only the playing thread sets it.
 */
#ifndef REPLAY_WALL_CLOCK_H
#define REPLAY_WALL_CLOCK_H

#include <stdint.h>

/* Sets CLOCK_REALTIME to `ns`. The clock continues at its normal rate. */
void replay_wall_clock_set(uint64_t ns);
uint64_t replay_wall_clock_now(void);

/* Returns the time of CLOCK_MONOTONIC, in ns. */
uint64_t replay_monotonic_now(void);
void replay_sleep(uint64_t ns);

#endif
