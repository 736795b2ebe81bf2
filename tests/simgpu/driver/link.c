/*
 * link.c - libcuda: the linker and tensor maps. PyTorch resolves these functions when it is loaded.
 *
 * Application threads. Nothing is linked: an image is loaded unchanged (module.c). Kernels that
 * read through tensor maps do nothing.
 */
#include <string.h>

#include "driver/api.h"

/* CUDA defines the signatures; the simulation ignores some parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

DRIVER_API(cuLinkCreate_v2,
           (unsigned count, CUjit_option *options, void **values, CUlinkState *out),
           (count, options, values, out))
{
    return SIM_E_NOT_SUPPORTED;
}

DRIVER_API(cuLinkAddData_v2,
           (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
            unsigned count, CUjit_option *options, void **values),
           (state, type, data, size, name, count, options, values))
{
    return SIM_E_NOT_SUPPORTED;
}

DRIVER_API(cuLinkComplete, (CUlinkState state, void **cubin, size_t *size), (state, cubin, size))
{
    return SIM_E_NOT_SUPPORTED;
}

DRIVER_API(cuTensorMapEncodeTiled,
           (CUtensorMap * out, CUtensorMapDataType type, cuuint32_t rank, void *address,
            const cuuint64_t *dimension, const cuuint64_t *stride, const cuuint32_t *box,
            const cuuint32_t *element_stride, CUtensorMapInterleave interleave,
            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
            CUtensorMapFloatOOBfill fill),
           (out, type, rank, address, dimension, stride, box, element_stride, interleave, swizzle,
            promotion, fill))
{
    REQUIRE(out, SIM_E_VALUE);
    memset(out, 0, sizeof *out);
    return SIM_OK;
}
