/*
 * note.h - sentences of the first screen that are not losses: whether launches come in time, long
 * steps, drift, the recording's own cost, replays without nodes, scaled totals, losses, and what
 * the recording lacks.
 *
 * Threads: one owner. Memory: see step_stats.h.
 */
#ifndef SL_REPORT_NOTE_H
#define SL_REPORT_NOTE_H

#include "report/finding.h"

/* Sets the sentences. Returns 0 or -ENOMEM. */
int sl_report_notes_make(struct sl_report_findings *out, const struct sl_report *report);

#endif
