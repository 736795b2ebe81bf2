/*
 * cuda.c - turns CUDA handles into CUPTI ids, for streams and contexts that the program names.
 *
 * Threads, memory: see cuda.h. CUPTI is queried inside the call that gives the name, because the
 * handle may belong to another object later.
 */
#include "collect/nvtx/cuda.h"

#include <errno.h>

#include "base/loader.h"

static struct {
    int (*get_context_id)(void *context, uint32_t *id);
    int (*get_device_id)(void *context, uint32_t *id);
    int (*get_stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
    int (*get_current)(void **context);
} cuda;

static int context_ids(void *context, uint32_t *id, uint32_t *device)
{
    return cuda.get_context_id(context, id) || cuda.get_device_id(context, device) ? -ENOENT : 0;
}

/* CUPTI finds a stream only in the current context, so no other context is tried. */
static int stream_ids(void *stream, uint32_t *id, uint32_t *context)
{
    void *current = NULL;

    if (cuda.get_current(&current) || !current)
        return -ENOENT;
    return cuda.get_context_id(current, context) || cuda.get_stream_id(current, stream, 0, id)
               ? -ENOENT
               : 0;
}

const struct sl_nvtx_ids *sl_nvtx_cuda_ids(void *cupti)
{
    static const struct sl_nvtx_ids ids = {context_ids, stream_ids};
    void *driver = sl_loader_open("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    if (!cupti || !driver)
        return NULL;
    *(void **)&cuda.get_context_id = sl_loader_symbol(cupti, "cuptiGetContextId");
    *(void **)&cuda.get_device_id = sl_loader_symbol(cupti, "cuptiGetDeviceId");
    *(void **)&cuda.get_stream_id = sl_loader_symbol(cupti, "cuptiGetStreamIdEx");
    *(void **)&cuda.get_current = sl_loader_symbol(driver, "cuCtxGetCurrent");
    sl_loader_close(driver); /* the process still holds the library */
    return cuda.get_context_id && cuda.get_device_id && cuda.get_stream_id && cuda.get_current
               ? &ids
               : NULL;
}
