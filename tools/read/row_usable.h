/*
 * row_usable.h - decides whether a row can be used for edges and dependencies.
 *
 * `edges` and `convert --to chakra` leave out the unusable rows, and `check` reports them.
 *
 * Pure function; any thread.
 */
#ifndef SL_ROW_USABLE_H
#define SL_ROW_USABLE_H

#include "read/json_event.h"

/* Why an operator, range, call, GPU operation or wait row is unusable, as a readable text ("ts is
 * below 0"). NULL: the row is usable or of another kind. `own`: syncline wrote the file, so
 * correlation ids have 64 bits. */
const char *sl_row_unusable(const struct sl_trace_row *row, int own);

#endif
