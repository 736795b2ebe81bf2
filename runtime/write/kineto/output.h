/*
 * output.h - the Kineto file of each window, WINDOW.pt.trace.json, as an output (write/output.h).
 *
 * Counts the rows that a failed file loses (SL_STAT_DROPPED_WRITE): all that were not brought to
 * the disk by a sync before, since whether they fitted is not known.
 *
 * Threads: see write/output.h. Memory: the writer's of Kineto text (kineto.h).
 */
#ifndef SL_KINETO_OUTPUT_H
#define SL_KINETO_OUTPUT_H

#include "write/kineto/kineto.h"
#include "write/output.h"

/* `file`: folder, compression and level. 0 or -ENOMEM. */
int sl_kineto_output_create(struct sl_output *out, const struct sl_kineto_options *opt,
                            struct sl_window_file_options file);

#endif
