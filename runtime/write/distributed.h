/*
 * distributed.h - what the job itself says of its ranks and process groups: the object
 * `distributedInfo` of a Kineto file.
 *
 * Threads: one sets (the Python package, under the GIL), one gets (the writer); neither waits for
 * the other. Memory: three texts, static, touched as they are used.
 */
#ifndef SL_DISTRIBUTED_H
#define SL_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_DISTRIBUTED_MOST = 256 * 1024
};

/* `json`: a whole object, on one line. 0; -EINVAL: it is none; -E2BIG. */
int sl_distributed_set(const char *json);

/* The last one, valid until the next call; NULL: none. `version` rises with each that was set; 0:
 * none. */
const char *sl_distributed_get(size_t *length, uint32_t *version);

#endif
