/*
 * idle.h - finds why a device was idle.
 *
 * Pure functions; any thread. Memory: none.
 */
#ifndef SL_REPORT_IDLE_H
#define SL_REPORT_IDLE_H

#include "report/parts.h"

/* An operation that was launched this long before it began was not held up by its launch. From
 * measurements of launch latency, 3 to 20 us; HTA uses the same limit for its "kernel wait". */
#define SL_IDLE_LAUNCH_NS 30000u

/* Explains a gap, of which begin_ns, end_ns and next are set. */
void sl_idle_explain(const struct sl_recording *r, struct sl_gap *gap);

#endif
