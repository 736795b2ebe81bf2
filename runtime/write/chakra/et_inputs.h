/*
 * et_inputs.h - writes an operator's inputs as a field of Chakra's Node.
 *
 * sl_et_inputs_put() is a pure function. The other functions build the lists for the operators of a
 * job. Threads: one owner. Memory: mapped and bounded. The caller keeps the ownership of the table
 * of details.
 */
#ifndef SL_CHAKRA_ET_INPUTS_H
#define SL_CHAKRA_ET_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"

/* A list as JSON, "[...]". A list that is NULL or too long is left out. */
struct sl_et_inputs_list {
    const char *data;
    size_t size;
};

#define SL_ET_INPUTS_LIST_MOST 4096u
#define SL_ET_INPUTS_MOST      (3 * (SL_ET_INPUTS_LIST_MOST + 16) + 16)

/* Writes at most SL_ET_INPUTS_MOST bytes and returns the number of bytes, which is 0 if all three
 * lists are left out. */
size_t sl_et_inputs_put(char *out, struct sl_et_inputs_list values, struct sl_et_inputs_list shapes,
                        struct sl_et_inputs_list types);

struct sl_et_inputs;

/* `details` is the table of operators' details (event/op_detail.h). Returns 0 or -ENOMEM. */
int sl_et_inputs_create(struct sl_et_inputs **out, const struct sl_intern *details);
void sl_et_inputs_destroy(struct sl_et_inputs *x); /* accepts NULL */

/* Writes an operator's inputs, for sl_chakra_options.more. `et_inputs` is a struct sl_et_inputs. */
size_t sl_et_inputs_find(void *et_inputs, const struct sl_event *op, char *out, size_t room);

#endif
