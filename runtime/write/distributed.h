/*
 * distributed.h - stores the job's description of its ranks and process groups, which becomes the
 * object `distributedInfo` of a Kineto file.
 *
 * Threads: one thread sets the text (a thread of the Python package that holds the GIL), and the
 * writer thread reads the text. Neither thread waits for the other. Memory: three static buffers,
 * whose pages are touched only when they are used.
 */
#ifndef SL_DISTRIBUTED_H
#define SL_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_DISTRIBUTED_MOST = 256 * 1024
};

/* `json` must be one JSON object on one line. Returns 0, -EINVAL if `json` is not such an object,
 * or -E2BIG if it is too long. */
int sl_distributed_set(const char *json);

/* Returns the last object that was set, or NULL if none was set. The object is valid until the next
 * call of this function. *version increases with each object, and is 0 if none was set. */
const char *sl_distributed_get(size_t *length, uint32_t *version);

/* Any thread. Returns 1, and the rank and the number of ranks of the last object, or returns 0 if
 * no object with both was set. */
int sl_distributed_rank(int *rank, int *world_size);

#endif
