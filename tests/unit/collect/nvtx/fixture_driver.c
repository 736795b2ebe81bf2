/* fixture_driver.c - a library with the CUDA driver's soname, which also has the needed functions
 * of CUPTI. collect.nvtx.cuda_test uses this library. Each function returns, as the id, the handle
 * plus some thousands. */
#include "unit/collect/nvtx/fixture_driver.h"

#include <stdint.h>

struct fixture_driver fixture_driver;

int cuCtxGetCurrent(void **context);
int cuptiGetContextId(void *context, uint32_t *id);
int cuptiGetDeviceId(void *context, uint32_t *id);
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);

int cuCtxGetCurrent(void **context)
{
    *context = fixture_driver.current;
    return fixture_driver.no_current;
}

int cuptiGetContextId(void *context, uint32_t *id)
{
    *id = 1000 + (uint32_t)(uintptr_t)context;
    return fixture_driver.no_context;
}

int cuptiGetDeviceId(void *context, uint32_t *id)
{
    *id = 2000 + (uint32_t)(uintptr_t)context;
    return fixture_driver.no_device;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    *id = 3000 + (uint32_t)(uintptr_t)stream;
    return fixture_driver.no_stream || per_thread || context != fixture_driver.current;
}
