/*
 * output.h - writes the Kineto file of each window, WINDOW.pt.trace.json. This writer is an output
 * (write/output.h).
 *
 * If writing a file fails, all rows since the last successful sync are counted as lost
 * (SL_STAT_DROPPED_WRITE), because it is not known whether these rows were written.
 *
 * Threads: see write/output.h. Memory: the memory of the Kineto writer (kineto.h).
 */
#ifndef SL_KINETO_OUTPUT_H
#define SL_KINETO_OUTPUT_H

#include "write/kineto/kineto.h"
#include "write/output.h"

/* `file` has the folder, compression and level. Returns 0 or -ENOMEM. */
int sl_kineto_output_create(struct sl_output *out, const struct sl_kineto_options *opt,
                            struct sl_window_file_options file);

#endif
