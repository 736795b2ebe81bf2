/*
 * et_comms.h - finds the collective that a GPU operation runs, from PyTorch's description of the
 * operator that launched it.
 *
 * Calls arrive before their operations. The event of a call names its operator by struct
 * sl_op_place (event/ops.h), which refers to the operator's details (event/op_detail.h).
 *
 * Threads: one owner. Memory: 2 MiB. The last 16384 calls of collectives are known. The operations
 * of older calls count as computation.
 */
#ifndef SL_CHAKRA_ET_COMMS_H
#define SL_CHAKRA_ET_COMMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"
#include "write/chakra/chakra.h"

struct sl_et_comms;

/* `places` and `details` are the tables to which calls and places refer. The caller continues to
 * own both tables. Returns 0 or -ENOMEM. */
int sl_et_comms_create(struct sl_et_comms **out, const struct sl_intern *places,
                       const struct sl_intern *details);
void sl_et_comms_destroy(struct sl_et_comms *x); /* accepts NULL */

/* Sets the number of ranks of the job, which is 0 (not known) at first. */
void sl_et_comms_world(struct sl_et_comms *x, uint32_t size);

/* Returns 1 if the call is part of a collective of a group that was not known before. */
int sl_et_comms_call(struct sl_et_comms *x, const struct sl_event *call);

/* Finds the collective of `op`, for sl_chakra_options.collective. */
int sl_et_comms_find(void *et_comms, const struct sl_event *op, struct sl_collective *out);

/* Passes each group to `take`, as sl_collectives_groups() does. */
void sl_et_comms_groups(const struct sl_et_comms *x,
                        void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                     size_t ranks),
                        void *user);

#endif
