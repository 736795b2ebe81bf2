/*
 * ids.c - maps CUDA handles to CUPTI ids, for the CUPTI stand-in.
 *
 * Any thread.
 */
#include "core/sim.h"

int sim_context_id(const void *context, uint32_t *id, uint32_t *device)
{
    const struct sim_thread *self = sim_thread_self();
    const struct sim_context *found = context;

    if (!found && self->depth) {
        found = self->stack[self->depth - 1];
    }
    if (!sim_context_valid(found)) {
        return -1;
    }
    *id = found->id;
    *device = found->device;
    return 0;
}

int sim_stream_id(const void *context, const void *stream, int per_thread, uint32_t *id)
{
    struct sim_thread *self = sim_thread_self();
    struct sim_call frame = {.domain = SIM_DRIVER, .per_thread = per_thread != 0};
    struct sim_call *outer = self->call;
    struct sim_stream *found;

    if (context && !sim_context_valid(context)) {
        return -1;
    }
    self->call = &frame;
    int error = sim_stream_resolve((void *)(uintptr_t)stream, &found);

    self->call = outer;
    if (error) {
        return -1;
    }
    *id = found->id;
    return 0;
}
