/*
 * request.h - the options of `syncline convert`, and the converters.
 *
 * Threads: main only. Memory: all pointers are borrowed.
 */
#ifndef SL_CONVERT_REQUEST_H
#define SL_CONVERT_REQUEST_H

#include <stdint.h>

#include "args/args.h"
#include "write/sink/sink.h"

struct sl_output;

struct sl_convert_request {
    const struct sl_command *command;
    const char *input, *output;
    enum sl_compression compression;
    int level, force;
    int has_steps; /* 1: only the steps first_step to last_step (cut.h); never for Chakra */
    int64_t first_step, last_step;
    /* Kineto formats: called at the end of the events, if there are any. Writes further events,
     * each after a comma. Returns 0 or -errno. NULL: there are none. */
    int (*more_events)(const struct sl_convert_request *r, struct sl_output *o);
    const void *user; /* for more_events */
    /* the members below are set only for Chakra */
    int has_rank;
    int32_t rank;
    const char *et; /* path of PyTorch's execution trace, or NULL */
    /* time base of the files of all ranks, in ns since the epoch (window_starts.h); 0: each file
     * has the start of its own window */
    int64_t base_ns;
};

/* The converters. Each function returns the exit status, which is nonzero after a line on
 * stderr. */
int sl_convert_kineto(const struct sl_convert_request *r);
int sl_convert_chakra(const struct sl_convert_request *r);
int sl_convert_et(const struct sl_convert_request *r); /* converts from a Chakra trace */

struct sl_chakra;
struct sl_replay;
struct sl_row_collectives;

/* Reports the counts of a conversion to Chakra. */
void sl_chakra_report(const struct sl_convert_request *r, const struct sl_replay *feed,
                      const struct sl_chakra *chakra);

/* Adds the groups to the comm-group file of the job, PREFIX.comm_groups.json: {"5": [0, 1]}. `et`
 * is PREFIX.RANK.et, with or without a compression suffix. Several processes may add to one file at
 * the same time. Returns the exit status: nonzero after a line on stderr. */
int sl_groups_add(const struct sl_command *command, const char *et,
                  const struct sl_row_collectives *collectives);

#endif
