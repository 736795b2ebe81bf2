/*
 * ipc.c - memory and events of other processes: the simulation has none, and says so. PyTorch
 * resolves the names when it is loaded.
 *
 * Application threads.
 */
#include "runtime/call.h"

RUNTIME(cudaIpcGetMemHandle, v4010, (void *handle, void *pointer), SIM_E_NOT_SUPPORTED)
RUNTIME(cudaIpcOpenMemHandle, v4010,
        (void **out, struct cudaIpcMemHandle_st handle, unsigned flags), SIM_E_NOT_SUPPORTED)
RUNTIME(cudaIpcCloseMemHandle, v4010, (void *pointer), SIM_E_NOT_SUPPORTED)
RUNTIME(cudaIpcGetEventHandle, v4010, (void *handle, struct sim_event *event), SIM_E_NOT_SUPPORTED)
RUNTIME(cudaIpcOpenEventHandle, v4010,
        (struct sim_event * *out, struct cudaIpcEventHandle_st handle), SIM_E_NOT_SUPPORTED)
