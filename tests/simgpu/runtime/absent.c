/*
 * absent.c - functions that PyTorch resolves when it is loaded, but calls only for features that
 * the simulation lacks: graph nodes that allocate memory, conditional graph nodes, libraries loaded
 * from files. A call is reported on stderr.
 *
 * Application threads.
 */
#include <stdio.h>

#include "runtime/call.h"

#define ABSENT(name)                                                                               \
    int sim_rt_##name(void) __asm__(#name);                                                        \
    int sim_rt_##name(void)                                                                        \
    {                                                                                              \
        fprintf(stderr, "simgpu: %s is not simulated\n", #name);                                   \
        return SIM_E_NOT_SUPPORTED;                                                                \
    }

ABSENT(cudaDeviceGetGraphMemAttribute)
ABSENT(cudaDeviceSetGraphMemAttribute)
ABSENT(cudaGraphAddNode)
ABSENT(cudaGraphConditionalHandleCreate)
ABSENT(cudaGraphRetainUserObject)
ABSENT(cudaKernelSetAttributeForDevice)
ABSENT(cudaLibraryGetManaged)
ABSENT(cudaLibraryGetUnifiedFunction)
ABSENT(cudaLibraryLoadFromFile)
ABSENT(cudaStreamBeginCaptureToGraph)
ABSENT(cudaUserObjectCreate)
ABSENT(cudaUserObjectRelease)
