/*
 * edge_rows.h - passes events from the ring to the outputs and the edge engine. The edge engine
 * (sync/edge.h) gets every event. The outputs (write/output.h) get the events and edges of the
 * window.
 *
 * Events of the window are passed to the outputs as they arrive. An edge is passed on when the
 * engine finds it, if its destination began in the window.
 *
 * Events with SL_EVF_ONLY_EDGES are outside of the window. They began in the lead-in before the
 * window, or after the window's end. Only the engine gets such events. The event SL_EV_DELIVERED
 * contains the time up to which all records have arrived. The event SL_EV_KINDS_ON means that
 * recording starts again after a pause.
 *
 * Threads: one owner, the writer thread. Memory: `cap_bytes`, mapped at creation or when needed. If
 * more memory is needed, edges are left out and counted.
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
    size_t cap_bytes; /* maximum memory in bytes; 0 means 7 MiB */
    const struct sl_shape_table *shapes;
    struct sl_outputs *outputs; /* borrowed */
};

/* Returns 0 or -ENOMEM. */
int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt);
void sl_edge_rows_destroy(struct sl_edge_rows *r); /* accepts NULL */

/* Handles events in the order of the ring. The caller handles the events that open and close
 * windows. */
void sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count);

/* Call when the outputs were opened for events that begin at `opened_ns` or later. */
void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns);

/* Call this before the outputs close. Decides the waits that began before `closed_ns`. */
void sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns);

/* Call if events were lost. The sources of undecided waits are unknown after such a loss. */
void sl_edge_rows_lose(struct sl_edge_rows *r);

#endif
