/*
 * collectives.h - finds type, bytes and ranks of the collectives in a Kineto trace.
 *
 * torch.profiler writes them into the args of record_param_comms and of the NCCL kernels. A kernel
 * without args takes them from the operator around its launch. The number of a group is a hash of
 * its ranks, so that all ranks of a job use the same number without communicating.
 *
 * Threads: one owner. Memory: at most about 40 MiB. A collective that does not fit is unknown.
 */
#ifndef SL_COLLECTIVES_H
#define SL_COLLECTIVES_H

#include "read/json_event.h"
#include "write/chakra/chakra.h"

struct sl_collectives;

/* 0 or -ENOMEM. */
int sl_collectives_create(struct sl_collectives **out);
void sl_collectives_destroy(struct sl_collectives *c); /* NULL is fine */

/* Takes one scalar of the file's header. Usable as sl_json_visit_fn. */
void sl_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                          struct sl_text value);

/* Returns the number of the collective that the row describes; 0: none. */
uint32_t sl_collectives_row(struct sl_collectives *c, const struct sl_trace_row *row);
/* States that the GPU operations with this correlation id run collective `number`. The first
 * statement for an id wins. */
void sl_collectives_join(struct sl_collectives *c, uint64_t correlation, uint32_t number);

/* Usable as sl_chakra_options.collective. */
int sl_collectives_find(void *collectives, const struct sl_event *op,
                        struct sl_chakra_collective *out);

/* Calls `take` for each group, except the group of all ranks. */
void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user);

#endif
