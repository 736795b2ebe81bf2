/*
 * et_inputs.h - what an operator was given, as the field of Chakra's Node that says so.
 *
 * sl_et_inputs_put() is a pure function. The rest makes the lists of a job's operators: one owner;
 * texts are borrowed and outlive it; memory is mapped, and bounded.
 */
#ifndef SL_CHAKRA_ET_INPUTS_H
#define SL_CHAKRA_ET_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"

/* Each as JSON, "[...]"; a list that is longer, or NULL, is left out. */
struct sl_et_inputs_list {
    const char *data;
    size_t size;
};

#define SL_ET_INPUTS_LIST_MOST 4096u
#define SL_ET_INPUTS_MOST      (3 * (SL_ET_INPUTS_LIST_MOST + 16) + 16)

/* At most SL_ET_INPUTS_MOST bytes; returns how many, 0 where all three are left out. */
size_t sl_et_inputs_put(char *out, struct sl_et_inputs_list values, struct sl_et_inputs_list shapes,
                        struct sl_et_inputs_list types);

struct sl_et_inputs;

/* `details`: see event/op_detail.h. 0 or -ENOMEM. */
int sl_et_inputs_create(struct sl_et_inputs **out, const struct sl_intern *details);
void sl_et_inputs_destroy(struct sl_et_inputs *x); /* NULL is fine */

/* As `more` of struct sl_chakra_options, its user being an sl_et_inputs. */
size_t sl_et_inputs_find(void *et_inputs, const struct sl_event *op, char *out, size_t room);

#endif
