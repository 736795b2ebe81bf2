/*
 * et_nodes.h - what PyTorch's ExecutionTraceObserver wrote about each operator.
 *
 * Its file is JSON: {"schema": "1.1.1-chakra.0.0.4", "nodes": [...]}, one node an operator, known
 * by the id of its record function, which torch.profiler's rows have too. Inputs, outputs and
 * attributes become fields of Chakra's Node, made once and kept.
 *
 * Threads: main; reading has a helper thread. Memory: at most 256 MiB; nodes past that are left out
 * and counted.
 */
#ifndef SL_ET_NODES_H
#define SL_ET_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "read/json_event.h"

struct sl_et_nodes;

/* Reads the file. 0, or a negative errno with one line for a person in `why`. A file that ends too
 * early is used as far as it goes: then `why` is not empty either. */
int sl_et_nodes_read(struct sl_et_nodes **out, const char *path, char *why, size_t why_size);
void sl_et_nodes_destroy(struct sl_et_nodes *n); /* NULL is fine */

/* Fields 8 to 10 of the node with this record function, if it has the operator's name, too: ids
 * begin anew in each process. NULL: there is none. */
const char *sl_et_nodes_find(struct sl_et_nodes *n, uint64_t record_function, struct sl_text name,
                             size_t *size);

struct sl_et_nodes_counts {
    uint64_t nodes;   /* with a record function */
    uint64_t no_room; /* left out */
    uint64_t invalid; /* not JSON, or too long */
    uint64_t twice;   /* whose record function one before had: the last one counts */
    uint64_t cut;     /* texts, lists and attributes left out: too long, or too many for a node */
    uint64_t wanted;  /* nodes looked for, by record function */
    uint64_t found;
    uint64_t misnamed; /* looked for, and of another name */
};
void sl_et_nodes_get_counts(const struct sl_et_nodes *n, struct sl_et_nodes_counts *out);

#endif
