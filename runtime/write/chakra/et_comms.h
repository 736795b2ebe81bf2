/*
 * et_comms.h - which collective a job's GPU operations do, by what PyTorch told of the operator
 * that launched them.
 *
 * Calls come before their operations. What a call belongs to stands in its event: struct
 * sl_op_place (event/ops.h), which names what was told (event/op_detail.h).
 *
 * Threads: one owner. Memory: 2 MiB; of calls whose ids lie 16384 or more apart the older may be
 * forgotten: their operations are computation.
 */
#ifndef SL_CHAKRA_ET_COMMS_H
#define SL_CHAKRA_ET_COMMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"
#include "write/chakra/chakra.h"

struct sl_et_comms;

/* `places` and `details` are borrowed: what calls and places name. `world_size`: ranks of the job;
 * 0: not known. 0 or -ENOMEM. */
int sl_et_comms_create(struct sl_et_comms **out, const struct sl_intern *places,
                       const struct sl_intern *details, uint32_t world_size);
void sl_et_comms_destroy(struct sl_et_comms *x); /* NULL is fine */

/* 1: it is part of a collective of a group that was not known before. */
int sl_et_comms_call(struct sl_et_comms *x, const struct sl_event *call);

/* Fits sl_chakra_options.collective. */
int sl_et_comms_find(void *et_comms, const struct sl_event *op, struct sl_collective *out);

/* As sl_collectives_groups(). */
void sl_et_comms_groups(const struct sl_et_comms *x,
                        void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                     size_t ranks),
                        void *user);

#endif
