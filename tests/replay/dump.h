/*
 * dump.h - plays a dump of CUPTI buffers (docs/cupti-dump.md) as buffers of the simulated CUPTI.
 *
 * One thread plays. The caller owns the bytes of the file and must keep them until the end. The
 * bytes are not trusted.
 */
#ifndef REPLAY_DUMP_H
#define REPLAY_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "play.h"

#define REPLAY_DUMP_MAGIC "SLCUPTI\n"

/* Finds the devices of the recording and writes at most `cap` of them to `devices`. Returns 0, or
 * -EINVAL after printing the error to stderr. */
int replay_dump_survey(const uint8_t *file, size_t size, struct sim_device_info *devices,
                       uint32_t cap, uint32_t *count, struct replay_span *span);

/* Delivers every buffer with its recorded bytes. Before each buffer, calls `wait_until` with the
 * time at which CUPTI had delivered the buffer. Returns 0, or -EINVAL after printing the error to
 * stderr. */
int replay_dump_play(const uint8_t *file, size_t size, const struct sim_probe *probe,
                     void (*wait_until)(uint64_t ns));

#endif
