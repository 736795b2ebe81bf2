/*
 * run_id.h - makes the id by which readers separate the runs of a job.
 *
 * All ranks of a run have the same id, and each run of a job has another, as far as the launcher's
 * facts allow. docs/pytorch-details.md says which facts these are, and what they cannot separate.
 *
 * Threads: as identity.h. Memory: none.
 */
#ifndef SL_RUN_ID_H
#define SL_RUN_ID_H

#include "control/identity.h"

/* Sets out->run, out->run_start_ns and out->rank_may_change. The pid, the rank and its source must
 * be set already. */
void sl_run_id_read(struct sl_identity *out, const struct sl_config *config,
                    char *const *environment);

#endif
