/*
 * line.h - makes the line of JSON by which Google's monitor_collectives.py describes a call of
 * torch.distributed.
 *
 * The names of fields and calls, the sizes, and who prints are that program's.
 * docs/from-monitor-collectives.md describes them.
 *
 * Pure functions; any thread.
 */
#ifndef SL_MONITOR_LINE_H
#define SL_MONITOR_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/op_detail.h"

/* Facts about the process. */
struct sl_monitor_who {
    int rank;
    int local_ranks;  /* ranks of the job on each node; 0: all ranks are on one node */
    int is_crossnode; /* 1: only calls between nodes have a line */
    const char *gpu_serial, *vm_id; /* NULL or "": not known */
    /* The description of the job's groups (write/distributed.h), `groups_length` bytes; NULL: not
     * known. */
    const char *groups;
    size_t groups_length;
};

/* Maximum number of bytes of a line. A longer list of ranks is left out. */
#define SL_MONITOR_LINE_MOST 65536

/* Writes the line of a collective, with its newline. `call` is the event of the operator
 * record_param_comms, and `detail` its details. `out` has room for SL_MONITOR_LINE_MOST bytes.
 * Returns the length, or 0 if this rank prints no line for the call. */
size_t sl_monitor_line(char *out, const struct sl_monitor_who *who, const struct sl_event *call,
                       const struct sl_op_detail *detail);

#endif
