/*
 * run_id.h - makes the id by which readers separate the runs of a job.
 *
 * All ranks of a run have the same id, and each run of a job has another, as far as the launcher's
 * facts allow. docs/pytorch-details.md says which facts these are, and what they cannot separate.
 *
 * Memory: the caller's.
 */
#ifndef SL_RUN_ID_H
#define SL_RUN_ID_H

#include "control/identity.h"

/* Sets out->run_facts, and out->run if the user has set SYNCLINE_RUN. The rank and its source must
 * be set already. Reads no file. Thread: as sl_identity_read(). */
void sl_run_id_read(struct sl_identity *out, const struct sl_config *config,
                    char *const *environment);

/* Sets who->run, who->run_start_ns and who->rank_may_change, from `run_facts` and from the files of
 * up to 64 processes in /proc. Call after sl_identity_read(). Thread: the recorder thread, because
 * the first CUDA call must not wait for these files. */
void sl_run_id_find(struct sl_identity *who);

#endif
