/*
 * cut.h - cuts the rows of some steps out of a Kineto trace.
 *
 * Rows of the CPU belong to the part if they begin in its steps. GPU operations belong to their
 * launches, arrows to both their ends, and sync edges to the call or operation that waited. The
 * trace is read three or four times before the part is written.
 *
 * Threads: main; helper threads read the file. Memory: about 32 bytes for each call of the part, at
 * most 256 MiB.
 */
#ifndef SL_CONVERT_CUT_H
#define SL_CONVERT_CUT_H

#include "convert/request.h"
#include "read/trace_file.h"

struct sl_cut;

/* Finds the steps of the request in its input. Returns 0, or the exit status after a line on
 * stderr. */
int sl_cut_create(struct sl_cut **out, const struct sl_convert_request *r);
void sl_cut_destroy(struct sl_cut *c); /* NULL is fine */

/* Returns whether the event belongs to the part. */
int sl_cut_keeps(const struct sl_cut *c, const struct sl_trace_item *item);

#endif
