/*
 * output.h - the Chakra file of each window, WINDOW.RANK.et, as an output (write/output.h).
 *
 * Complete nodes reach the disk at least once a second, so that a killed process leaves a .part of
 * whole messages. A job whose collectives run on groups of its ranks has WINDOW.comm_groups.json
 * beside it, with the groups that this rank knows of.
 *
 * Threads: see write/output.h. Memory: the writer's of Chakra traces, `cap_bytes`, and what
 * collectives take (et_comms.h).
 */
#ifndef SL_CHAKRA_OUTPUT_H
#define SL_CHAKRA_OUTPUT_H

#include "write/chakra/chakra.h"
#include "write/output.h"

struct sl_chakra_output_options {
    struct sl_chakra_options chakra;    /* but for `collective` and `more` */
    struct sl_window_file_options file; /* folder, compression and level */
    const struct sl_intern *details;    /* of operators (event/op_detail.h); NULL: there are none */
    int rank;
    uint32_t world_size; /* ranks of the job; 0: not known */
};

/* 0, -ENOMEM, or -EINVAL: chakra.cap_bytes is too small. */
int sl_chakra_output_create(struct sl_output *out, const struct sl_chakra_output_options *opt);

#endif
