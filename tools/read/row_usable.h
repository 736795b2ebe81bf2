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

/* Returns why the row of an operator, range, call, GPU operation or wait is unusable, as a text
 * ("ts is below 0"). Returns NULL if the row is usable or of another kind. `own` is not 0 if
 * syncline wrote the file; correlation ids then have 64 bits. */
const char *sl_row_unusable(const struct sl_trace_row *row, int own);

#endif
