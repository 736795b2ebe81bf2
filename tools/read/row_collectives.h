/*
 * row_collectives.h - reads the type, bytes and ranks of the collectives in a Kineto trace.
 *
 * torch.profiler writes type, bytes and ranks into the args of record_param_comms and of the NCCL
 * kernels. If a kernel has no such args, the args of the operator around its launch are used. The
 * number of a group is a hash of the group's ranks, so all ranks of a job give a group the same
 * number without communication.
 *
 * Threads: one owner. Memory: at most 40 MiB; collectives that do not fit are unknown.
 */
#ifndef SL_ROW_COLLECTIVES_H
#define SL_ROW_COLLECTIVES_H

#include "event/collective.h"
#include "event/event.h"
#include "read/json_event.h"

struct sl_row_collectives;

/* 0 or -ENOMEM. */
int sl_row_collectives_create(struct sl_row_collectives **out);
void sl_row_collectives_destroy(struct sl_row_collectives *c); /* NULL is fine */

/* Reads a scalar of the trace's header. Pass this function to sl_trace_visit(). */
void sl_row_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                              struct sl_text value);

/* Returns the number of the collective that the row describes, or 0 if the row describes none. */
uint32_t sl_row_collectives_row(struct sl_row_collectives *c, const struct sl_trace_row *row);
/* Copies the collective with this number to *out. Returns 1, or 0 if there is none. */
int sl_row_collectives_get(const struct sl_row_collectives *c, uint32_t number,
                           struct sl_collective *out);
/* Records that the GPU operations with this correlation id run the collective `number`. The first
 * call for a correlation id counts; later calls change nothing. */
void sl_row_collectives_join(struct sl_row_collectives *c, uint64_t correlation, uint32_t number);

/* Finds the collective of a GPU operation. This function has the type of
 * sl_chakra_options.collective. */
int sl_row_collectives_find(void *collectives, const struct sl_event *op,
                            struct sl_collective *out);

/* Calls `take` for each group, except the group of all ranks. */
void sl_row_collectives_groups(const struct sl_row_collectives *c,
                               void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                            size_t ranks),
                               void *user);

#endif
