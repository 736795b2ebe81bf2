/*
 * counter_events.h - the counters of a recording as events of its trace, as HTA writes them.
 *
 * Threads: one owner. Memory: see counters.h.
 */
#ifndef SL_REPORT_COUNTER_EVENTS_H
#define SL_REPORT_COUNTER_EVENTS_H

#include "report/report.h"

/* Passes each event to `write` as JSON text that begins with a comma: the length of the queue of
 * each stream, and the bandwidth of each kind of copy, at each change. Returns 0 or -ENOMEM. */
int sl_counter_events_write(const struct sl_report *report, const struct sl_recording *r,
                            void (*write)(void *user, const char *text, size_t size), void *user);

#endif
