/*
 * links.h - checks that related rows name each other correctly.
 *
 * It matches calls and GPU operations by correlation id, flow arrows by id, and stream waits with
 * the calls that recorded their events.
 *
 * Threads: one owner. Memory: at most 64 MiB for any file.
 */
#ifndef SL_CHECK_LINKS_H
#define SL_CHECK_LINKS_H

#include "check/finding.h"
#include "read/json_event.h"

struct sl_links;

/* 0 or -ENOMEM. `findings` is borrowed. */
int sl_links_create(struct sl_links **out, struct sl_findings *findings);
void sl_links_destroy(struct sl_links *l); /* NULL is fine */

void sl_links_row(struct sl_links *l, const struct sl_trace_row *row, uint64_t at);

/* After the last row: reports the rows without a partner. */
void sl_links_end(struct sl_links *l);

#endif
