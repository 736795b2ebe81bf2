/*
 * edge_rows.h - between the ring and the outputs: the edge engine sees every event, the outputs get
 * the window's rows and edges.
 *
 * Rows of the window go on to the outputs as they come. An edge goes on when the engine finds it,
 * if its destination began in the window.
 *
 * Events flagged SL_EVF_ONLY_EDGES are from outside the window (a lead-in, or what began after its
 * end): only the engine gets them. SL_EV_DELIVERED says up to when all records are in,
 * SL_EV_KINDS_ON that the recording begins anew.
 *
 * Threads: one owner, the writer thread. Memory: `cap_bytes`, mapped at creation or as needed; past
 * it edges are left out, and counted.
 */
#ifndef SL_EDGE_ROWS_H
#define SL_EDGE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/shape.h"
#include "write/outputs.h"

struct sl_edge_rows;

struct sl_edge_rows_options {
    size_t cap_bytes; /* 0 = 7 MiB */
    const struct sl_shape_table *shapes;
    struct sl_outputs *outputs; /* borrowed */
};

/* 0 or -ENOMEM. */
int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt);
void sl_edge_rows_destroy(struct sl_edge_rows *r); /* NULL is fine */

/* Events as the ring has them, but for the opening and closing of windows. */
void sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count);

/* The outputs are open for what begins from `opened_ns` on. */
void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns);

/* Before the outputs close: what began before `closed_ns` is decided. */
void sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns);

/* Events were not given: nothing is known of what waits that are not decided waited for. */
void sl_edge_rows_lose(struct sl_edge_rows *r);

#endif
