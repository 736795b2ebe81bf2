/*
 * context.c - libcuda: contexts, the thread's context stack, peer access, limits.
 *
 * Application threads.
 */
#include "driver/api.h"

static int current(struct sim_context **context)
{
    return sim_context_current(context);
}

static int create(CUcontext *out, unsigned int flags, CUdevice device)
{
    REQUIRE(out, SIM_E_VALUE);
    return sim_context_create((uint32_t)device, flags, (struct sim_context **)out);
}

DRIVER_API(cuCtxCreate_v2, (CUcontext * out, unsigned int flags, CUdevice device),
           (out, flags, device))
{
    return create(out, flags, device);
}

DRIVER_API(cuCtxCreate_v3,
           (CUcontext * out, CUexecAffinityParam *affinity, int count, unsigned int flags,
            CUdevice device),
           (out, affinity, count, flags, device))
{
    return create(out, flags, device);
}

DRIVER_API(cuCtxCreate_v4,
           (CUcontext * out, CUctxCreateParams *params, unsigned int flags, CUdevice device),
           (out, params, flags, device))
{
    return create(out, flags, device);
}

DRIVER_API(cuCtxDestroy_v2, (CUcontext context), (context))
{
    return sim_context_destroy((struct sim_context *)context);
}

DRIVER_API(cuCtxPushCurrent_v2, (CUcontext context), (context))
{
    return sim_context_push((struct sim_context *)context);
}

DRIVER_API(cuCtxPopCurrent_v2, (CUcontext * context), (context))
{
    struct sim_context *popped;

    CHECK(sim_context_pop(&popped));
    if (context) {
        *context = (CUcontext)popped;
    }
    return SIM_OK;
}

DRIVER_API(cuCtxSetCurrent, (CUcontext context), (context))
{
    REQUIRE(!context || sim_context_valid((struct sim_context *)context), SIM_E_CONTEXT);
    sim_context_set((struct sim_context *)context);
    return SIM_OK;
}

DRIVER_API(cuCtxGetCurrent, (CUcontext * context), (context))
{
    struct sim_context *found;

    REQUIRE(context, SIM_E_VALUE);
    *context = current(&found) == SIM_OK ? (CUcontext)found : NULL;
    return SIM_OK;
}

DRIVER_API(cuCtxGetDevice, (CUdevice * device), (device))
{
    struct sim_context *context;

    CHECK(current(&context));
    *device = (CUdevice)context->device;
    return SIM_OK;
}

DRIVER_API(cuCtxGetId, (CUcontext context, unsigned long long *id), (context, id))
{
    struct sim_context *found = (struct sim_context *)context;

    if (!context) {
        CHECK(current(&found));
    }
    REQUIRE(sim_context_valid(found), SIM_E_CONTEXT);
    *id = found->id;
    return SIM_OK;
}

DRIVER_API(cuCtxGetFlags, (unsigned int *flags), (flags))
{
    struct sim_context *context;

    CHECK(current(&context));
    *flags = context->flags;
    return SIM_OK;
}

DRIVER_API(cuCtxGetApiVersion, (CUcontext context, unsigned int *version), (context, version))
{
    REQUIRE(!context || sim_context_valid((struct sim_context *)context), SIM_E_CONTEXT);
    *version = 3020;
    return SIM_OK;
}

DRIVER_API(cuCtxSynchronize, (void), ())
{
    struct sim_context *context;

    CHECK(current(&context));
    return sim_context_synchronize(context);
}

DRIVER_API(cuCtxSynchronize_v2, (CUcontext context), (context))
{
    struct sim_context *found = (struct sim_context *)context;

    if (!context) {
        CHECK(current(&found));
    }
    REQUIRE(sim_context_valid(found), SIM_E_CONTEXT);
    return sim_context_synchronize(found);
}

DRIVER_API(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest))
{
    if (least) {
        *least = 0;
    }
    if (greatest) {
        *greatest = -5;
    }
    return SIM_OK;
}

DRIVER_API(cuCtxGetLimit, (size_t * value, CUlimit limit), (value, limit))
{
    REQUIRE(value && limit < CU_LIMIT_MAX, SIM_E_VALUE);
    *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : 8 << 20;
    return SIM_OK;
}

DRIVER_API(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value))
{
    return limit < CU_LIMIT_MAX ? SIM_OK : SIM_E_VALUE;
}

DRIVER_API(cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags), (peer, flags))
{
    const struct sim_context *other = (struct sim_context *)peer;
    struct sim_context *context;

    CHECK(current(&context));
    REQUIRE(flags == 0, SIM_E_VALUE);
    REQUIRE(sim_context_valid(other), SIM_E_CONTEXT);
    return sim_context_peer(context, other->device, true);
}

DRIVER_API(cuCtxDisablePeerAccess, (CUcontext peer), (peer))
{
    const struct sim_context *other = (struct sim_context *)peer;
    struct sim_context *context;

    CHECK(current(&context));
    REQUIRE(sim_context_valid(other), SIM_E_CONTEXT);
    return sim_context_peer(context, other->device, false);
}
