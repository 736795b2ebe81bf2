/*
 * output.h - writes the Chakra file of each window, WINDOW.RANK.et. This writer is an output
 * (write/output.h).
 *
 * Complete nodes are written to the disk at least once a second, so that a killed process leaves a
 * .part file of whole messages. If collectives of the job run on groups of its ranks, the file
 * WINDOW.comm_groups.json lists the groups that this rank knows.
 *
 * Threads: see write/output.h. Memory: `cap_bytes` for the Chakra writer, and the memory of
 * et_comms.h for collectives.
 */
#ifndef SL_CHAKRA_OUTPUT_H
#define SL_CHAKRA_OUTPUT_H

#include "write/chakra/chakra.h"
#include "write/output.h"

struct sl_chakra_output_options {
    struct sl_chakra_options chakra;    /* options of the writer; `collective` and `more` are not
                                         * used */
    struct sl_window_file_options file; /* folder, compression and level */
    /* table of operators' details (event/op_detail.h); NULL if there is no such table */
    const struct sl_intern *details;
};

/* Returns 0, -ENOMEM, or -EINVAL if chakra.cap_bytes is too small. */
int sl_chakra_output_create(struct sl_output *out, const struct sl_chakra_output_options *opt);

#endif
