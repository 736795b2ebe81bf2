/*
 * ipc.c - memory and events of other processes. The simulation does not support them, and reports
 * this once on stderr. PyTorch resolves these functions when it is loaded.
 *
 * Application threads.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "runtime/call.h"

static int refuse(const char *name)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said)) {
        fprintf(stderr, "simgpu: %s is not simulated: a GPU's memory belongs to one process\n",
                name);
    }
    return SIM_E_NOT_SUPPORTED;
}

RUNTIME(cudaIpcGetMemHandle, v4010, (void *handle, void *pointer), refuse("cudaIpcGetMemHandle"))
RUNTIME(cudaIpcOpenMemHandle, v4010,
        (void **out, struct cudaIpcMemHandle_st handle, unsigned flags),
        refuse("cudaIpcOpenMemHandle"))
RUNTIME(cudaIpcCloseMemHandle, v4010, (void *pointer), refuse("cudaIpcCloseMemHandle"))
RUNTIME(cudaIpcGetEventHandle, v4010, (void *handle, struct sim_event *event),
        refuse("cudaIpcGetEventHandle"))
RUNTIME(cudaIpcOpenEventHandle, v4010,
        (struct sim_event * *out, struct cudaIpcEventHandle_st handle),
        refuse("cudaIpcOpenEventHandle"))
