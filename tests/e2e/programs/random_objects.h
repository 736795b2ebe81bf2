/*
 * random_objects.h - the contexts, streams, events, memory and modules of random_waits.c, which
 * steps name by their slot. Also the steps that create and destroy these objects.
 *
 * A step does nothing if its object does not exist, or if it would create an object that already
 * exists. A slot either belongs to one thread, or is filled before the threads first meet and is
 * never emptied. Any thread may enter any context.
 */
#ifndef RANDOM_OBJECTS_H
#define RANDOM_OBJECTS_H

#include <pthread.h>
#include <stdlib.h>

#include "random_runtime.h"
#include "spin_kernel.h"

enum {
    SLOTS = 64,
    CONTEXTS = 8,
    PRIMARY = 4,
    BYTES = 1 << 20
};

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("work_spin_ns");

struct context {
    CUcontext handle;
    int device;
    CUfunction kernel;
    CUdeviceptr memory;
    void *pinned, *pageable;
};

struct slot {
    void *object;
    int context;
};

static struct context contexts[CONTEXTS];
static struct slot streams[SLOTS], events[SLOTS], memory[SLOTS], graphs[SLOTS], modules[SLOTS];
static _Thread_local int current = -1; /* context; -1: none */

/* ---- slots of objects ---- */

static int in(int slot)
{
    return slot >= 0 && slot < SLOTS;
}

/* Returns whether the stream exists, in any context. */
static int has_stream(int s)
{
    return current >= 0 && (s == 0 || s == 1 || (in(s) && streams[s].object));
}

/* Returns whether the thread may enqueue on the stream. It may do so only on streams of its current
 * context. */
static int may_enqueue(int s)
{
    return has_stream(s) && (s < 2 || streams[s].context == current);
}

static CUstream stream(int s)
{
    return s == 0 ? NULL : s == 1 ? CU_STREAM_PER_THREAD : streams[s].object;
}

static int has(const struct slot *slots, int i)
{
    return current >= 0 && in(i) && slots[i].object;
}

/* ---- contexts ---- */

static pthread_mutex_t entering = PTHREAD_MUTEX_INITIALIZER; /* two threads may try to create the
                                                              * same context */

static void prepare(struct context *context)
{
    CUmodule module;

    if (context->kernel)
        return;
    /* If a call breaks the context, all later calls in this context fail, including this call. */
    if (cu.ModuleLoadData(&module, ptx) != CUDA_SUCCESS)
        return;
    CHECK(cu.ModuleGetFunction(&context->kernel, module, "work_spin_ns"));
    CHECK(cu.MemAlloc(&context->memory, BYTES));
    CHECK(cu.MemAllocHost(&context->pinned, BYTES));
    if (!context->pageable)
        context->pageable = calloc(1, BYTES);
}

static void enter(int c)
{
    cu.CtxSetCurrent(contexts[c].handle);
    current = c;
    pthread_mutex_lock(&entering);
    prepare(&contexts[c]);
    pthread_mutex_unlock(&entering);
}

static int device_count; /* read once, because a call that breaks a context breaks this one, too */

/* Context c < PRIMARY is the primary context of device c. On a machine with fewer devices it is one
 * more context of a device. */
static int is_primary(int c)
{
    return c < PRIMARY && c < device_count;
}

static int is_there(int c)
{
    int there;

    pthread_mutex_lock(&entering);
    if (c < PRIMARY && !contexts[c].handle) {
        contexts[c].device = c % device_count;
        if (is_primary(c))
            cu.DevicePrimaryCtxRetain(&contexts[c].handle, c);
        else
            more.CtxCreate(&contexts[c].handle, 0, contexts[c].device);
    }
    there = contexts[c].handle != NULL;
    pthread_mutex_unlock(&entering);
    return there;
}

static void use(const int *arg)
{
    int c = arg[0];

    if (c >= 0 && c < CONTEXTS && is_there(c))
        enter(c);
}

static void context(const int *arg)
{
    int c = arg[0];

    if (c < PRIMARY || c >= CONTEXTS || contexts[c].handle ||
        more.CtxCreate(&contexts[c].handle, 0, arg[1] % device_count))
        return;
    contexts[c].device = arg[1] % device_count;
    enter(c);
}

static void forget(struct slot *slots, int c)
{
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].context == c)
            slots[i].object = NULL;
}

static void reset(const int *arg)
{
    int c = arg[0];

    if (c < 0 || c >= CONTEXTS || !contexts[c].handle)
        return;
    enter(c);
    if (!is_primary(c))
        more.CtxDestroy(contexts[c].handle);
    else if (arg[1])
        rt.cudaDeviceReset();
    else
        more.DevicePrimaryCtxReset(contexts[c].device);
    forget(streams, c);
    forget(events, c);
    forget(memory, c);
    forget(graphs, c);
    forget(modules, c);
    contexts[c] = (struct context){.pageable = contexts[c].pageable};
    current = -1;
}

/* ---- steps that create and destroy objects ---- */

static void new_stream(const int *arg)
{
    int s = arg[0];

    if (s < 2 || !in(s) || streams[s].object || current < 0)
        return;
    streams[s].context = current;
    cu.StreamCreate((CUstream *)&streams[s].object, arg[1] ? CU_STREAM_NON_BLOCKING : 0);
}

static void drop_stream(const int *arg)
{
    if (arg[0] < 2 || !has(streams, arg[0]))
        return;
    cu.StreamDestroy(streams[arg[0]].object);
    streams[arg[0]].object = NULL;
}

static void new_event(const int *arg)
{
    if (!in(arg[0]) || events[arg[0]].object || current < 0)
        return;
    events[arg[0]].context = current;
    cu.EventCreate((CUevent *)&events[arg[0]].object, CU_EVENT_DISABLE_TIMING);
}

static void drop_event(const int *arg)
{
    if (!has(events, arg[0]))
        return;
    cu.EventDestroy(events[arg[0]].object);
    events[arg[0]].object = NULL;
}

static void alloc(const int *arg)
{
    struct slot *m = &memory[arg[0]];

    if (!in(arg[0]) || m->object || current < 0)
        return;
    m->context = arg[1] ? -2 : current; /* -2: pinned memory belongs to no context */
    if (arg[2])
        (arg[1] ? rt.cudaMallocHost : rt.cudaMalloc)(&m->object, 4096);
    else if (arg[1])
        cu.MemAllocHost(&m->object, 4096);
    else
        cu.MemAlloc((CUdeviceptr *)&m->object, 4096);
}

static void free_waiting(const int *arg)
{
    if (!has(memory, arg[0]))
        return;
    struct slot m = memory[arg[0]];

    memory[arg[0]].object = NULL;
    if (arg[1])
        (m.context == -2 ? rt.cudaFreeHost : rt.cudaFree)(m.object);
    else if (m.context == -2)
        cu.MemFreeHost(m.object);
    else
        cu.MemFree((CUdeviceptr)m.object);
}

static void alloc_async(const int *arg)
{
    if (!in(arg[0]) || memory[arg[0]].object || !may_enqueue(arg[1]))
        return;
    memory[arg[0]].context = current;
    cu.MemAllocAsync((CUdeviceptr *)&memory[arg[0]].object, 4096, stream(arg[1]));
}

static void free_async(const int *arg)
{
    if (!has(memory, arg[0]) || memory[arg[0]].context != current || !may_enqueue(arg[1]))
        return;
    cu.MemFreeAsync((CUdeviceptr)memory[arg[0]].object, stream(arg[1]));
    memory[arg[0]].object = NULL;
}

/* How each module was loaded. A module is unloaded in the same way. */
static int kind_of_module[SLOTS];

static void load_module(const int *arg)
{
    struct slot *u = &modules[arg[0]];

    if (!in(arg[0]) || u->object || current < 0)
        return;
    u->context = current;
    kind_of_module[arg[0]] = arg[1];
    if (arg[1] == 0)
        cu.ModuleLoadData((CUmodule *)&u->object, ptx);
    else if (arg[1] == 1)
        more.LibraryLoadData(&u->object, ptx, NULL, NULL, 0, NULL, NULL, 0);
    else
        rt.cudaLibraryLoadData(&u->object, ptx, NULL, NULL, 0, NULL, NULL, 0);
}

static void unload_module(const int *arg)
{
    if (!has(modules, arg[0]) || modules[arg[0]].context != current)
        return;
    void *module = modules[arg[0]].object;

    modules[arg[0]].object = NULL;
    if (kind_of_module[arg[0]] == 0)
        cu.ModuleUnload(module);
    else if (kind_of_module[arg[0]] == 1)
        more.LibraryUnload(module);
    else
        rt.cudaLibraryUnload(module);
}

#endif
