/*
 * count.c - the counts that kernels write: the only kernel result that is simulated, always as 0.
 *
 * For some tensors (nonzero, masked_select, unique, and printing) PyTorch reads the size from
 * memory that a kernel of CUB or Thrust should have written. Random content of that memory could
 * ask for terabytes. Selections begin with a kernel that writes 0 there, also on a real GPU; a
 * reduction writes only its result.
 *
 * Any thread; no state.
 */
#include <fnmatch.h>
#include <string.h>

#include "core/count.h"
#include "core/memory.h"

enum {
    COUNT_BYTES = 8 /* a long, or an int with unused bytes after it */
};

/* The parameter d_num_selected_out follows the tile states and the number of tiles; d_out follows
 * d_in. */
static const struct {
    const char *glob;
    int parameter;
} writers[] = {
    {"*23DeviceCompactInitKernelI*", 2},      {"*8__unique9InitAgentI*", 2},
    {"*15__unique_by_key9InitAgentI*", 2},    {"*15__reduce_by_key9InitAgentI*", 2},
    {"*28DeviceReduceSingleTileKernelI*", 1},
};

int sim_count_parameter(const char *kernel)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        if (fnmatch(writers[i].glob, kernel, 0) == 0) {
            return writers[i].parameter;
        }
    }
    return -1;
}

void sim_count_find(struct sim_work *work, void **params)
{
    int parameter = work->launch.kernel->count_parameter;
    char *count;

    work->launch.count = NULL;
    if (parameter < 0 || !params) {
        return;
    }
    memcpy(&count, params[parameter], sizeof count);
    /* The argument may be no pointer but an iterator of Thrust. Its bits are then not the address
     * of an allocation. */
    size_t room = sim_memory_room(count);

    if (!room) {
        return;
    }
    work->launch.count = count;
    work->launch.count_bytes = room < COUNT_BYTES ? (uint32_t)room : COUNT_BYTES;
}
