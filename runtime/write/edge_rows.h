/*
 * edge_rows.h - passes events from the ring to the outputs and the edge engine. The engine gets
 * every event; the outputs get the window's events and edges.
 *
 * Events of the window are passed to the outputs as they arrive. An edge is passed on when the
 * engine finds it, if its destination began in the window.
 *
 * Events flagged SL_EVF_ONLY_EDGES lie outside of the window (in a lead-in, or after the window's
 * end). Only the engine gets them. SL_EV_DELIVERED says up to which time all records have arrived.
 * SL_EV_KINDS_ON says that recording starts again after a pause.
 *
 * Threads: one owner, the writer thread. Memory: `cap_bytes`, mapped at creation or when needed.
 * Past the cap edges are left out and counted.
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

/* Returns 0 or -ENOMEM. */
int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt);
void sl_edge_rows_destroy(struct sl_edge_rows *r); /* accepts NULL */

/* Passes on events in the order of the ring. The caller handles the events that open and close
 * windows. */
void sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count);

/* Call when the outputs were opened for events that begin at `opened_ns` or later. */
void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns);

/* Call this before the outputs close. Decides the waits that began before `closed_ns`. */
void sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns);

/* Call if events were lost. Then the sources of undecided waits are not known. */
void sl_edge_rows_lose(struct sl_edge_rows *r);

#endif
