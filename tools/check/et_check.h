/*
 * et_check.h - checks that Chakra readers accept a trace.
 *
 * docs/chakra.md states the rules. A problem is an error if it makes ASTRA-sim abort or silently
 * drop nodes.
 *
 * Threads: one owner. Memory: three bits for each slot of et_ids.h, at most 192 MiB, plus the
 * memory that et_ids.h and et_order.h state. Nodes beyond these limits are counted as not checked.
 */
#ifndef SL_CHECK_ET_CHECK_H
#define SL_CHECK_ET_CHECK_H

#include "check/et_ids.h"
#include "check/et_order.h"
#include "check/finding.h"
#include "read/et_file.h"

struct sl_et_check {
    uint64_t nodes, deps, ctrl_deps; /* `deps` includes `ctrl_deps` */
    uint64_t of_type[SL_ET_TYPES];
    uint64_t cpu_nodes, wait_nodes, gap_nodes;
    uint64_t cpu_ns, gpu_ns; /* sums of the durations that are valid */
    struct sl_findings findings;
    struct sl_et_ids ids;
    uint64_t *seen, *wanted; /* bit sets of the ids that have a node, and of the ids that nodes
                                depend on; one bit per slot */
    struct sl_et_order order;
};

/* 0 or -ENOMEM. */
int sl_et_check_create(struct sl_et_check **out);
void sl_et_check_destroy(struct sl_et_check *c); /* NULL is fine */

void sl_et_check_node(struct sl_et_check *c, const struct sl_et_node *n);

/* Call after the last node. */
void sl_et_check_end(struct sl_et_check *c, const struct sl_et *et);

extern const char *const sl_et_type_name[SL_ET_TYPES]; /* "COMP" */

/* Print the result as text (print_text.c), or as one JSON object on one line (print_json.c). */
void sl_check_print_et_text(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);
void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);

#endif
