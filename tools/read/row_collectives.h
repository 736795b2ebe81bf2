/*
 * row_collectives.h - what a Kineto trace tells about its collectives: type, bytes, ranks.
 *
 * torch.profiler writes that into the args of record_param_comms, and of the NCCL kernels; a kernel
 * without args has what the operator around its launch has. Groups are numbered by a hash of their
 * ranks, so that all ranks of a job give a group the same number without asking each other.
 *
 * Threads: one owner. Memory: some 40 MiB at the very most; what does not fit is not known.
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

/* Scalars of the header: fits sl_trace_visit(). */
void sl_row_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                              struct sl_text value);

/* Number of what the row tells; 0: nothing. */
uint32_t sl_row_collectives_row(struct sl_row_collectives *c, const struct sl_trace_row *row);
/* GPU operations of this correlation id do it. What was told first stays. */
void sl_row_collectives_join(struct sl_row_collectives *c, uint64_t correlation, uint32_t number);

/* Fits sl_chakra_options.collective. */
int sl_row_collectives_find(void *collectives, const struct sl_event *op,
                            struct sl_collective *out);

/* All groups but the one of all ranks, one by one. */
void sl_row_collectives_groups(const struct sl_row_collectives *c,
                               void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                            size_t ranks),
                               void *user);

#endif
