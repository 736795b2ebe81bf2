/*
 * edge_rows.h - events to the engine of edges, and what it says to the writers of the open window.
 *
 * Between the ring and the window's files on the writer thread. Every event is shown to the engine;
 * rows of the window go on to the Chakra file as they come, and to Kineto, those of calls that may
 * wait only when the engine has decided what they waited for, so that they can carry it. Every edge
 * whose destination is in the window becomes a row of its own, with an arrow where it was waited
 * for and its source is in the file.
 *
 * Events flagged SL_EVF_ONLY_EDGES are from outside the window (a lead-in, or what began after its
 * end): the engine's alone. SL_EV_DELIVERED tells how far all is in, SL_EV_KINDS_ON that the
 * recording begins anew.
 *
 * Threads: one owner, the writer thread. Memory: `cap_bytes`, mapped at creation or as needed; past
 * it rows go out without what they waited for, edges are left out, and both are counted.
 */
#ifndef SL_EDGE_ROWS_H
#define SL_EDGE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/shape.h"
#include "write/chakra/et_window.h"
#include "write/kineto/kineto.h"

struct sl_edge_rows;

struct sl_edge_rows_options {
    size_t cap_bytes; /* 0 = 8 MiB */
    const struct sl_shape_table *shapes;
    struct sl_kineto *kineto;
    struct sl_et_window *et; /* the window's other file; NULL: none */
};

/* 0 or -ENOMEM. */
int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt);
void sl_edge_rows_destroy(struct sl_edge_rows *r); /* NULL is fine */

/* Events as the ring has them, but for the opening and closing of windows. 0, or the error of
 * Kineto's file. */
int sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count);

/* Files are open for the rows from `opened_ns` on; `has_rows`: Kineto's is one of them. */
void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns, int has_rows);

/* Before the files end: what began before `closed_ns` is decided, and all rows go out. 0, or
 * the error of Kineto's file. */
int sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns);

/* Events were not given: nothing is known of what waits that are not decided waited for. */
void sl_edge_rows_lose(struct sl_edge_rows *r);

/* Kineto's file went wrong: rows that are held for it are lost. The other file goes on. */
void sl_edge_rows_fail(struct sl_edge_rows *r);

#endif
