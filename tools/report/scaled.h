/*
 * scaled.h - which part of a job the windows of a rank hold.
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_REPORT_SCALED_H
#define SL_REPORT_SCALED_H

#include "report/report.h"

struct sl_scaled {
    size_t windows;
    int is_steps;           /* 1: the next two are numbers of steps; 0: ns */
    uint64_t recorded, all; /* in the windows; from the first window to the last */
    double factor;          /* all / recorded; 0: not known */
};

/* Looks at the recordings [first, end), which are of one rank. */
struct sl_scaled sl_scaled_make(const struct sl_report *report, size_t first, size_t end);

#endif
