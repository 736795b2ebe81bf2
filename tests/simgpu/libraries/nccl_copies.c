/*
 * nccl_copies.c - collectives that NCCL runs on copy engines, without a kernel.
 *
 * Real NCCL does so for registered buffers if NCCL_CTA_POLICY or the communicator's configuration
 * asks for it. Here NCCL_CTA_POLICY alone decides, from 2.29 on, for AllGather, AlltoAll, Gather
 * and Scatter. There is one copy for each rank, from this rank's own input. The ranks do not wait
 * for each other, so the other ranks' data does not arrive. Application threads.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/nccl.h"

static CUresult (*copy)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);

/* As NCCL does, loads the driver's functions when they are first needed. */
static void load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    if (driver) {
        copy =
            (CUresult(*)(CUdeviceptr, CUdeviceptr, size_t, CUstream))dlsym(driver, "cuMemcpyAsync");
    }
}

bool sim_nccl_is_copied(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *policy = getenv("NCCL_CTA_POLICY");

    if (!policy || strcmp(policy, "ZERO") != 0 || sim_nccl_version() < 22900 ||
        sim_thread_self()->device != comm->device) {
        return false;
    }
    pthread_once(&once, load);
    return copy && (task->verb == NCCL_ALL_GATHER || task->verb == NCCL_ALL_TO_ALL ||
                    task->verb == NCCL_GATHER || task->verb == NCCL_SCATTER);
}

int sim_nccl_copy(struct sim_nccl_comm *comm, void *stream, const struct sim_nccl_task *task)
{
    size_t bytes = task->count * sim_nccl_size(task->type);
    uint64_t before = sim_correlation_now();
    void *handle = sim_nccl_tell_copies(comm, task, stream);
    CUresult error = CUDA_SUCCESS;

    for (int r = 0; r < comm->ranks && !error; r++) {
        size_t from = task->verb == NCCL_ALL_GATHER || task->verb == NCCL_GATHER ? 0 : bytes;

        error = copy((CUdeviceptr)task->out + (task->verb == NCCL_SCATTER ? 0 : (size_t)r * bytes),
                     (CUdeviceptr)task->in + (size_t)r * from, bytes, stream);
    }
    sim_nccl_tell_copied(comm, handle);
    sim_nccl_truth(comm, task, 1, before, sim_correlation_now());
    return error ? NCCL_CUDA_ERROR : NCCL_SUCCESS;
}
