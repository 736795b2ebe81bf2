/*
 * syncline.h - talk to the profiler inside this process, if there is one.
 *
 * No linking is needed: the functions here look for libsyncline.so among the libraries that are
 * already loaded, and again whenever others were loaded, until found. Without it, and until it is
 * loaded, every call returns -EAGAIN and does nothing. C99 and C++, glibc.
 *
 *   #include <syncline/syncline.h>
 *   sl_start();  ...  sl_stop();
 *
 * Threads: any, but not a signal handler. None of these calls blocks, allocates or calls CUDA; they
 * leave a request for the profiler's own thread. (The first sl_start() may have to make that
 * thread.) sl_hand_over() and sl_take_back() alone wait for that thread. The dynamic linker is
 * asked in each call for the function, and without the library whether anything was loaded: it has
 * a lock, which a thread that loads or unloads a library holds. Looking for the library, which
 * comes after such a load alone, reads the linker's cache.
 */
#ifndef SYNCLINE_H
#define SYNCLINE_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYNCLINE_VERSION "0.1.0"
#define SYNCLINE_SONAME  "libsyncline.so.0"

enum sl_state {
    SL_STATE_PASSIVE =
        0,              /* loaded, and not recording in this process (disabled, a fork, no CUPTI) */
    SL_STATE_ARMED = 1, /* waiting: for CUDA's first use, or between windows */
    SL_STATE_LEAD_IN = 2, /* CUPTI on, window about to open */
    SL_STATE_RECORDING = 3,
    SL_STATE_DRAINING = 4, /* window over, its last records on their way to the file */
};

/* Set `size` to sizeof(struct sl_status) before the call; a newer library fills what fits. */
struct sl_status {
    size_t size;
    int32_t state;              /* enum sl_state */
    uint32_t window;            /* number of the current or last window, from 1 */
    uint64_t windows_completed; /* files that are complete on disk */
    uint64_t records;           /* CUPTI records decoded */
    uint64_t events_written;
    uint64_t dropped;      /* records and events lost: dropped_* and undelivered_at_exit of files */
    uint64_t memory_bytes; /* host memory held for events and CUPTI's buffers */
    char last_file[1024];  /* last complete trace; "" if none */
    char reason[256];      /* why passive; "" otherwise */
};

#ifdef SL_BUILDING_LIBRARY

/* The exports themselves; also what ctypes and other languages call. */
int sl_start(void);
int sl_stop(void);
int sl_status(struct sl_status *status);
int sl_dump(void);
int sl_hand_over(void);
int sl_take_back(void);
int sl_step(void);
int sl_range_push(const char *name);
int sl_range_pop(void);
int sl_mark(const char *name);

#else

/* struct dl_phdr_info and dl_iterate_phdr() by names of ours: <link.h> has them for _GNU_SOURCE
 * alone. */
struct sl_object_ {
    uintptr_t at;
    const char *name;
    const void *headers;
    uint16_t count;
    unsigned long long loads, unloads;
};
extern int sl_each_object_(int (*)(struct sl_object_ *, size_t, void *),
                           void *) __asm__("dl_iterate_phdr");

static inline int sl_take_loads_(struct sl_object_ *object, size_t size, void *loads)
{
    if (size >= sizeof(*object))
        *(unsigned long long *)loads = object->loads;
    return 1;
}

static inline void *sl_find_(const char *symbol)
{
    static void *library;
    static unsigned long long looked; /* when so many objects had been loaded */
    void *handle = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
    unsigned long long loads = 0;

    if (!handle) {
        sl_each_object_(sl_take_loads_, &loads);
        if (loads && loads == __atomic_load_n(&looked, __ATOMIC_RELAXED))
            return NULL;
        handle = dlopen(SYNCLINE_SONAME, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (!handle) {
            __atomic_store_n(&looked, loads, __ATOMIC_RELAXED);
            return NULL;
        }
        __atomic_store_n(&library, handle, __ATOMIC_RELEASE);
    }
    return dlsym(handle, symbol);
}

/* Opens a window (SYNCLINE_WINDOW=demand, or a pause of others), SYNCLINE_LEAD_IN later, so that it
 * is known what the GPU is busy with. 0; -EALREADY already open or opening; -EAGAIN no library;
 * -ENODEV passive; -EBUSY the last window is still draining: the request is kept. */
static inline int sl_start(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_start");
    return fn ? fn() : -EAGAIN;
}

/* Closes the window; its file is complete some time later (sl_status). One that was asked for and
 * has not opened yet never does, and leaves no file. 0; -EALREADY none open; -EAGAIN; -ENODEV. */
static inline int sl_stop(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_stop");
    return fn ? fn() : -EAGAIN;
}

/* The window ends here and the next one begins, as soon as the file is complete: what happens in
 * between (some 20 ms, more while a long kernel runs) is in neither, and an sl_stop() meanwhile
 * takes the next one back. 0; -EALREADY none is open; -EAGAIN; -ENODEV. */
static inline int sl_dump(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_dump");
    return fn ? fn() : -EAGAIN;
}

/* For another profiler in this process, which needs CUPTI for itself: before its first call of
 * CUPTI, and after its last. PyTorch's profiler and others that are linked with CUPTI are seen
 * without this, but get it back some 20 ms late. 0; -ENOTSUP SYNCLINE_HANDOVER=0; -EBUSY it still
 * records: what has CUPTI is watched as ever; -ETIMEDOUT; -EAGAIN; -ENODEV. */
static inline int sl_hand_over(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_hand_over");
    return fn ? fn() : -EAGAIN;
}

static inline int sl_take_back(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_take_back");
    return fn ? fn() : -EAGAIN;
}

/* A step of the job ends, and the next one begins: a row `ProfilerStep#N` of the trace. From the
 * first call on, no step is taken from PyTorch's optimizers and DataLoaders. 0; -EAGAIN; -ENODEV.
 */
static inline int sl_step(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_step");
    return fn ? fn() : -EAGAIN;
}

/* A range of the calling thread, inside those that it has open; its end. The name is UTF-8, and
 * copied. A pop without a push does nothing. 0; -EINVAL: no name; -EAGAIN; -ENODEV. */
static inline int sl_range_push(const char *name)
{
    int (*fn)(const char *) = __extension__(int (*)(const char *)) sl_find_("sl_range_push");
    return fn ? fn(name) : -EAGAIN;
}

static inline int sl_range_pop(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_range_pop");
    return fn ? fn() : -EAGAIN;
}

/* A moment of the calling thread, with a name. Returns as sl_range_push(). */
static inline int sl_mark(const char *name)
{
    int (*fn)(const char *) = __extension__(int (*)(const char *)) sl_find_("sl_mark");
    return fn ? fn(name) : -EAGAIN;
}

/* 0; -EAGAIN (status untouched); -EINVAL when status is NULL or its size too small. */
static inline int sl_status(struct sl_status *status)
{
    int (*fn)(struct sl_status *) =
        __extension__(int (*)(struct sl_status *)) sl_find_("sl_status");
    return fn ? fn(status) : -EAGAIN;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
