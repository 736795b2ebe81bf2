/*
 * cufft.c - the stand-in for cuFFT's extensible plans, which PyTorch uses. A transform launches one
 * kernel.
 *
 * Application threads. Plans are small numbers, as in cuFFT.
 */
#include <pthread.h>

#include "core/fork.h"
#include "libraries/library.h"

enum {
    SUCCESS = 0,
    INVALID_PLAN = 1,
    EXECUTION_FAILED = 6,
    MAX_PLANS = 4096
};

struct plan {
    bool used;
    void *stream;
    double elements;
};

SIM_MUTEX(lock);
static struct plan plans[MAX_PLANS];

LIBRARY(int, cufftCreate, (int *out))
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < MAX_PLANS && plans[i].used) {
        i++;
    }
    if (i < MAX_PLANS) {
        plans[i] = (struct plan){.used = true};
        *out = i;
    }
    pthread_mutex_unlock(&lock);
    return i < MAX_PLANS ? SUCCESS : INVALID_PLAN;
}

LIBRARY(int, cufftDestroy, (int plan))
{
    pthread_mutex_lock(&lock);
    plans[plan].used = false;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

LIBRARY(int, cufftSetStream, (int plan, void *stream))
{
    plans[plan].stream = stream;
    return SUCCESS;
}

LIBRARY(int, cufftSetAutoAllocation, (int plan, int automatic))
{
    return SUCCESS;
}

LIBRARY(int, cufftSetWorkArea, (int plan, void *area))
{
    return SUCCESS;
}

LIBRARY(int, cufftXtMakePlanMany,
        (int plan, int rank, const long long *n, const long long *in_embed, long long in_stride,
         long long in_distance, int in_type, const long long *out_embed, long long out_stride,
         long long out_distance, int out_type, long long batch, size_t *workspace, int type))
{
    plans[plan].elements = (double)batch;
    for (int i = 0; i < rank; i++) {
        plans[plan].elements *= (double)n[i];
    }
    *workspace = 0;
    return SUCCESS;
}

LIBRARY(int, cufftXtExec, (int plan, void *in, void *out, int direction))
{
    const struct plan *p = &plans[plan];
    uint32_t blocks = (uint32_t)(p->elements / 1024) + 1;
    const struct sim_library_kernel kernel = {
        .name =
            "_Z10vector_fftILj128EL9padding_t0EL9twiddle_t0EL20loadstore_modifier_t2EL8layout_t0"
            "E5point7complexIfEEv17kernel_argumentsIT5_E",
        .grid = {blocks, 1, 1},
        .block = {128, 1, 1},
        .cost_ns = sim_library_cost(16 * p->elements, 0, 1),
    };

    return sim_library_launch(p->stream, &kernel) ? EXECUTION_FAILED : SUCCESS;
}
