/*
 * play.h - the lines of a replay stream, as records of the simulated CUPTI.
 *
 * One thread plays. CUPTI copies what it is told; only kernels' names are kept, until the end.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include <stddef.h>

#include "core/probe.h"

struct replay_span { /* what the recording covers, ns */
    uint64_t first_ns, last_ns;
};

/* The devices of the recording; `devices` has room for `cap`. 0; -EINVAL, said on stderr. */
int replay_play_survey(const char *text, size_t size, struct sim_device_info *devices, uint32_t cap,
                       uint32_t *count, struct replay_span *span);

/* Tells CUPTI everything, in the stream's order; `wait_until` is called with the time of each line
 * before. 0; -EINVAL or -ENOMEM, said on stderr. */
int replay_play(const char *text, size_t size, const struct sim_probe *probe,
                void (*wait_until)(uint64_t ns));

#endif
