/*
 * collectives.h - what a Kineto trace tells about its collectives: type, bytes, ranks.
 *
 * torch.profiler writes that into the args of record_param_comms, and of the NCCL kernels; a kernel
 * without args has what the operator around its launch has. Groups are numbered by a hash of their
 * ranks, so that all ranks of a job give a group the same number without asking each other.
 *
 * Threads: one owner. Memory: some 40 MiB at the very most; what does not fit is not known.
 */
#ifndef SL_COLLECTIVES_H
#define SL_COLLECTIVES_H

#include "read/json_event.h"
#include "write/chakra/chakra.h"

struct sl_collectives;

/* 0 or -ENOMEM. */
int sl_collectives_create(struct sl_collectives **out);
void sl_collectives_destroy(struct sl_collectives *c); /* NULL is fine */

/* Scalars of the header: fits sl_trace_visit(). */
void sl_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                          struct sl_text value);

/* Number of what the row tells; 0: nothing. */
uint32_t sl_collectives_row(struct sl_collectives *c, const struct sl_trace_row *row);
/* GPU operations of this correlation id do it. What was told first stays. */
void sl_collectives_join(struct sl_collectives *c, uint64_t correlation, uint32_t number);

/* Fits sl_chakra_options.collective. */
int sl_collectives_find(void *collectives, const struct sl_event *op,
                        struct sl_chakra_collective *out);

/* All groups but the one of all ranks, one by one. */
void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user);

#endif
