/*
 * distributed.h - the ranks and process groups as the job describes them: the object
 * `distributedInfo` of a Kineto file.
 *
 * Threads: one thread sets (the Python package, under the GIL), one gets (the writer). Neither
 * waits for the other. Memory: three static texts, touched as they are used.
 */
#ifndef SL_DISTRIBUTED_H
#define SL_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_DISTRIBUTED_MOST = 256 * 1024
};

/* `json`: a whole object, on one line. Returns 0; -EINVAL: not such an object; -E2BIG. */
int sl_distributed_set(const char *json);

/* Returns the last object set, valid until the next call; NULL: none. `version` rises with each
 * object set; 0: none. */
const char *sl_distributed_get(size_t *length, uint32_t *version);

#endif
