/*
 * row_usable.h - can edges and dependencies be made of a row?
 *
 * What `edges` and `convert --to chakra` leave out, and what `check` says of it, is decided here.
 *
 * Pure function; any thread.
 */
#ifndef SL_ROW_USABLE_H
#define SL_ROW_USABLE_H

#include "read/json_event.h"

/* Why the row of an operator, a range, a call, a GPU operation or a wait cannot be used, for a
 * person ("ts is below 0"); NULL: it can, or it is none of these. `own`: the file is syncline's,
 * whose correlation ids have 64 bits. */
const char *sl_row_unusable(const struct sl_trace_row *row, int own);

#endif
