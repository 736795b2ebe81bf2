/*
 * play.h - plays the lines of a replay stream as records of the simulated CUPTI.
 *
 * One thread plays. CUPTI copies all data except the names of kernels, which are kept until the
 * end.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include <stddef.h>

#include "core/probe.h"

struct replay_span { /* first and last time in the recording, in ns */
    uint64_t first_ns, last_ns;
};

/* Finds the devices of the recording and writes at most `cap` of them to `devices`. Returns 0, or
 * -EINVAL after printing the error to stderr. */
int replay_play_survey(const char *text, size_t size, struct sim_device_info *devices, uint32_t cap,
                       uint32_t *count, struct replay_span *span);

/* Passes all records to CUPTI in the stream's order. Before each line, calls `wait_until` with the
 * line's time. Returns 0, or -EINVAL or -ENOMEM after printing the error to stderr. */
int replay_play(const char *text, size_t size, const struct sim_probe *probe,
                void (*wait_until)(uint64_t ns));

#endif
