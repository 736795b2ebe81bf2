/*
 * stages.h - which lanes are the stages of one pipeline, and which of their iterations are one.
 *
 * Threads: one owner. Memory: schedule.h.
 */
#ifndef SL_PIPELINE_STAGES_H
#define SL_PIPELINE_STAGES_H

#include "pipeline/schedule.h"

/* Makes the pipelines. Returns 0, -ENOMEM, or an exit status above 0 after a line on stderr. */
int sl_stages_make(struct sl_schedule *s, const struct sl_command *command, const char *stages);

/* Matches the iterations of the lanes of each pipeline. Returns 0 or -ENOMEM. */
int sl_stages_match(struct sl_schedule *s);

/* Sets the times of the iterations, when the clocks are aligned. */
void sl_stages_time(struct sl_schedule *s);

#endif
