/*
 * memory_limit.h - how much memory syncline may take in this process.
 *
 * A process that exceeds its limit is killed, or its next allocation fails. So syncline takes at
 * most an eighth of the memory that the process could still take under the narrowest of these
 * limits:
 *   - the memory cgroup of the process, and each cgroup above it (v2 `memory.max`, v1
 *     `limit_in_bytes`). Memory counts as used if the kernel cannot reclaim it: `anon`, `shmem`,
 *     `kernel` and `slab_unreclaimable` of `memory.stat`. `memory.current` is not used, because the
 *     page cache fills every container that reads data. The ranks of one machine share a cgroup, so
 *     each rank gets its part.
 *   - RLIMIT_AS and RLIMIT_DATA, which are limits of this process alone.
 *
 * Threads: any. Reads some small files and stores nothing. errno is preserved.
 */
#ifndef SL_MEMORY_LIMIT_H
#define SL_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "control/config.h"

/* syncline takes at most one part in this many of the memory that is left. */
#define SL_MEMORY_PART 8

struct sl_memory_limit {
    uint64_t share_bytes; /* bytes that syncline may take; UINT64_MAX: there is no limit */
    uint64_t limit_bytes; /* the narrowest limit, and how much of it is used without syncline */
    uint64_t used_bytes;
    const char *source; /* static text that names the limit, such as "the memory limit of its
                         * container or cgroup"; NULL: there is no limit */
};

/* The memory that syncline has in this process, and about as much in each other rank. It does not
 * count as used. Limits on the address space count mapped memory, cgroups only what was touched. */
struct sl_memory_own {
    uint64_t mapped_bytes, touched_bytes;
};

/* `root` is "" (tests: a folder with proc/ and the mounted cgroups); `local_ranks`: how many ranks
 * share the machine, at least 1. `own` is NULL before syncline has mapped memory. A limit whose
 * files cannot be read is ignored. */
void sl_memory_limit_read(struct sl_memory_limit *out, const char *root, int local_ranks,
                          const struct sl_memory_own *own);

/* Lowers the memory options so that together they fit in `share_bytes`. Each option keeps at least
 * its minimum. Returns 0 if the options fitted already, 1 if some options were lowered, or -ENOMEM
 * (with nothing changed) if even the minima do not fit. Writes the sum of the minima to
 * *need_bytes. */
int sl_memory_limit_apply(struct sl_config *config, uint64_t share_bytes, uint64_t *need_bytes);

/* Returns the sum of the memory options. */
uint64_t sl_memory_limit_total(const struct sl_config *config);

#endif
