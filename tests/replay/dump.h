/*
 * dump.h - a dump of CUPTI's buffers (docs/cupti-dump.md), as buffers of the simulated CUPTI.
 *
 * One thread plays. The bytes of the file are the caller's and must stay until the end. Nothing in
 * them is trusted.
 */
#ifndef REPLAY_DUMP_H
#define REPLAY_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "play.h"

#define REPLAY_DUMP_MAGIC "SLCUPTI\n"

/* The devices of the recording; `devices` has room for `cap`. 0; -EINVAL, said on stderr. */
int replay_dump_survey(const uint8_t *file, size_t size, struct sim_device_info *devices,
                       uint32_t cap, uint32_t *count, struct replay_span *span);

/* Hands every buffer over as it was recorded; `wait_until` is called with the time at which it came
 * before. 0; -EINVAL, said on stderr. */
int replay_dump_play(const uint8_t *file, size_t size, const struct sim_probe *probe,
                     void (*wait_until)(uint64_t ns));

#endif
