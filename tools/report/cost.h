/*
 * cost.h - what CUPTI and the driver spent beside the program's calls.
 *
 * Threads: one owner. Memory: see sums.h.
 */
#ifndef SL_REPORT_COST_H
#define SL_REPORT_COST_H

#include "report/report.h"

struct sl_cost {
    struct sl_sums by_name; /* key 0: name; the largest first */
    uint64_t recording_ns;  /* the sum of what would not be there without a recording */
    uint64_t length_ns;     /* of the chosen steps */
    uint64_t steps;
};

/* Adds up the chosen steps of the recordings [first, end), which are of one rank. Returns 0 or -1
 * if there is no memory. The caller frees `by_name`, also then. */
int sl_cost_make(const struct sl_report *report, size_t first, size_t end, struct sl_cost *out);

/* Returns 1 if an overhead of this name would not be there without a recording. */
int sl_cost_is_recording(const char *name);

#endif
