/*
 * output.h - prints the calls of torch.distributed on stdout, as Google's monitor_collectives.py
 * does. This writer is an output (write/output.h) without a file.
 *
 * Threads: see write/output.h. Memory: half a MiB.
 */
#ifndef SL_MONITOR_OUTPUT_H
#define SL_MONITOR_OUTPUT_H

#include "base/intern.h"
#include "write/output.h"

struct sl_monitor_options {
    const struct sl_intern *intern, *details; /* the tables of names and of operators' details */
    int is_crossnode;                         /* 1: print only calls between nodes */
};

/* Returns 0 or -ENOMEM. */
int sl_monitor_output_create(struct sl_output *out, const struct sl_monitor_options *opt);

#endif
