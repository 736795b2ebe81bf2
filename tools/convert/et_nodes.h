/*
 * et_nodes.h - reads the operators that PyTorch's ExecutionTraceObserver wrote.
 *
 * The observer's file is JSON: {"schema": "1.1.1-chakra.0.0.4", "nodes": [...]}, with one node per
 * operator. A node's key is the id of its record function, which rows of torch.profiler also have.
 * Inputs, outputs and attributes are encoded once as fields of a Chakra Node and kept.
 *
 * Threads: main; helper threads read the file. Memory: at most 256 MiB; nodes beyond that are left
 * out and counted.
 */
#ifndef SL_ET_NODES_H
#define SL_ET_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "read/json_event.h"

struct sl_et_nodes;

/* Reads the file. Returns 0, or a negative errno with a one-line message in `why`. If the file is
 * truncated, the complete nodes are used; the function returns 0 and puts a message in `why`. */
int sl_et_nodes_read(struct sl_et_nodes **out, const char *path, char *why, size_t why_size);
void sl_et_nodes_destroy(struct sl_et_nodes *n); /* NULL is fine */

/* Returns the encoded fields 8 to 10 (inputs, outputs, attributes) of the node with this record
 * function and operator name, or NULL if there is no such node. The name is compared because ids
 * restart in each process. */
const char *sl_et_nodes_find(struct sl_et_nodes *n, uint64_t record_function, struct sl_text name,
                             size_t *size);

struct sl_et_nodes_counts {
    uint64_t nodes;   /* nodes with a record function */
    uint64_t no_room; /* nodes left out for lack of memory */
    uint64_t invalid; /* nodes that are not JSON or are too long */
    uint64_t twice;   /* nodes whose record function an earlier node has too; the last such node is
                         used */
    uint64_t cut;     /* texts, lists and attributes left out because they are too long or too many
                         in one node */
    uint64_t wanted;  /* lookups by record function */
    uint64_t found;
    uint64_t misnamed; /* lookups that found a node with a different operator name */
    int64_t pid;       /* the process that wrote the file; 0: unknown */
};
void sl_et_nodes_get_counts(const struct sl_et_nodes *n, struct sl_et_nodes_counts *out);

#endif
