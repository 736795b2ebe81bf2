/*
 * distributed.h - stores the job's description of its ranks and process groups, which becomes the
 * object `distributedInfo` of a Kineto file.
 *
 * Threads: one thread sets the text (the Python package, under the GIL), and one reads it (the
 * writer). Neither waits for the other. Memory: three static buffers, touched as they are used.
 */
#ifndef SL_DISTRIBUTED_H
#define SL_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_DISTRIBUTED_MOST = 256 * 1024
};

/* `json` must be one JSON object on one line. Returns 0, -EINVAL if it is not, or -E2BIG. */
int sl_distributed_set(const char *json);

/* Returns the last object that was set, valid until the next call; NULL if there is none. *version
 * rises with each object; it is 0 if there is none. */
const char *sl_distributed_get(size_t *length, uint32_t *version);

#endif
