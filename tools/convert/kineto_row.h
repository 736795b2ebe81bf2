/*
 * kineto_row.h - changes the events of a trace that other programs refuse.
 *
 *   - Files of older versions have facts as metadata events with names of syncline's own, and
 *     TraceLens ends at the first. They become instant events, as in newer files.
 *   - torch-tb-profiler drops steps that touch, because their ends cross when it reads times as
 *     doubles. A step that begins at the end of the step before it on its track begins 2 ns later.
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_CONVERT_KINETO_ROW_H
#define SL_CONVERT_KINETO_ROW_H

#include "read/trace_file.h"

/* All members begin as zero. */
struct sl_kineto_row {
    /* begin of the first event and of the last slice that has a time; for events without a time */
    int64_t first_ns, last_ns;
    int has_first;
    /* the track and the end of the last step */
    char step_pid[24], step_tid[24];
    int64_t step_end_ns;
};

/* A part of an event's text, and the text to write instead of it. */
struct sl_kineto_change {
    const char *from, *to;
    char text[48];
};

#define SL_KINETO_CHANGES 2

/* Looks at the next event of the trace. Writes the changes that its text needs, in the text's
 * order, and returns their number, or 0 if the text stays as it is. */
size_t sl_kineto_row_changes(struct sl_kineto_row *r, const struct sl_trace_item *item,
                             struct sl_kineto_change out[SL_KINETO_CHANGES]);

#endif
