/*
 * near.h - finds the line of code nearest to idle time whose launch has no line of its own.
 *
 * Recordings of syncline have lines of calls that waited and of collectives, but not of launches.
 *
 * Threads: one owner. Memory: see sums.h.
 */
#ifndef SL_REPORT_NEAR_H
#define SL_REPORT_NEAR_H

#include "report/report.h"

/* Where a line of code is, seen from the launch. */
enum sl_near {
    SL_NEAR_AT,     /* it made the launch */
    SL_NEAR_BEFORE, /* the launch came before it: the next call with a line has this one */
    SL_NEAR_AFTER   /* the launch came after it: the last call with a line has this one */
};

/* Returns "at", "before" or "after". */
const char *sl_near_name(enum sl_near near);

/* Looks at all gaps with time in `part` that ended with a launch of this place and name, in the
 * chosen steps. For each, takes the site of the same step that is nearest in time, if possible
 * of the same thread. With `is_inside`, the gaps count that the thread spent in a call of this
 * place and name. Returns the line with most idle time, or 0 if there is none. Sets *near. */
uint32_t sl_near_line(const struct sl_report *report, enum sl_part part, int is_inside,
                      uint32_t place, uint32_t name, enum sl_near *near);

#endif
