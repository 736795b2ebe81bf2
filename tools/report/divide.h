/*
 * divide.h - prepares the recordings of a report for its metrics: their order, the collectives of
 * all ranks, and the parts of each step.
 *
 * Threads: one owner. Memory: see parts.h and peers.h.
 */
#ifndef SL_REPORT_DIVIDE_H
#define SL_REPORT_DIVIDE_H

#include "report/report.h"

struct sl_command;

/* Reads --steps N..M or N; NULL chooses all steps. Returns 0 or an exit status. */
int sl_report_take_steps(struct sl_report *report, const struct sl_command *command,
                         const char *text);

/* Sorts recordings by rank, time and path. */
void sl_report_sort(struct sl_recordings *all);

/* Returns 1 if the file names this rank. */
int sl_report_is_of_rank(const struct sl_recording *r, uint64_t rank);

/* Matches the collectives of all ranks, frees the recordings of ranks other than `rank` (if it is
 * not NULL), and divides the time of the others. Returns 0 or -ENOMEM. The caller calls
 * sl_report_undivide() in both cases, before it frees the recordings. */
int sl_report_divide(struct sl_report *report, const uint64_t *rank);
void sl_report_undivide(struct sl_report *report);

#endif
