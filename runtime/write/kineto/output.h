/*
 * output.h - the Kineto file of each window, WINDOW.pt.trace.json, as an output (write/output.h).
 *
 * Counts the rows that a failed file loses (SL_STAT_DROPPED_WRITE): all rows that no sync had
 * brought to the disk before, because whether they were written is not known.
 *
 * Threads: see write/output.h. Memory: that of the Kineto writer (kineto.h).
 */
#ifndef SL_KINETO_OUTPUT_H
#define SL_KINETO_OUTPUT_H

#include "write/kineto/kineto.h"
#include "write/output.h"

/* `file`: folder, compression and level. Returns 0 or -ENOMEM. */
int sl_kineto_output_create(struct sl_output *out, const struct sl_kineto_options *opt,
                            struct sl_window_file_options file);

#endif
