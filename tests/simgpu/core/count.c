/*
 * count.c - the element counts that kernels of CUB and Thrust write for PyTorch. No other kernel
 * result is simulated. A count is always 0.
 *
 * Some PyTorch operations (nonzero, masked_select, unique, and printing) read the size of their
 * result from memory that a kernel of CUB or Thrust should have written. Without the write, PyTorch
 * could read a random size and allocate terabytes. On a real GPU, too, a selection begins with a
 * kernel that writes 0 as the count. A reduction writes the count only as its result.
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

/* Patterns of mangled kernel names, and the index of the parameter with the count's address. This
 * parameter is d_num_selected_out, after the tile states and the number of tiles, or d_out, after
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
    /* The argument may be an iterator of Thrust instead of a pointer. The bits of an iterator are
     * not the address of an allocation. */
    size_t room = sim_memory_room(count);

    if (!room) {
        return;
    }
    work->launch.count = count;
    work->launch.count_bytes = room < COUNT_BYTES ? (uint32_t)room : COUNT_BYTES;
}
