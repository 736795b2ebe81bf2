/*
 * broken_row.h - finds the end and the name of an event that is not valid JSON.
 *
 * A quote that is not escaped in a name swaps texts and structure for everything that follows. So
 * brackets do not show where the event ends. The next event does: in valid JSON, `}, {"ph":` is
 * never a part of a text, because a quote in a text has a backslash.
 *
 * Threads: any; the functions are pure. Memory: none.
 */
#ifndef SL_BROKEN_ROW_H
#define SL_BROKEN_ROW_H

#include <stddef.h>

#include "read/text.h"

/* Returns the size of the broken event at the begin of the text, up to the `}` before the next
 * event. Returns 0 if no other event follows. If `may_be_valid` is not 0, an event begins with
 * "ph", because a valid event may have objects with a "name" in its args. */
size_t sl_broken_row_end(const char *text, size_t size, int may_be_valid);

/* Like sl_broken_row_end(), for the last event. `text` is the whole rest of the trace: after the
 * event, the array ends, and only fields follow. */
size_t sl_broken_row_last_end(const char *text, size_t size);

/* Returns what stands where the event's name should be, or "". It may hold any bytes. */
struct sl_text sl_broken_row_name(const char *text, size_t size);

#endif
