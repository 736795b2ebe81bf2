/*
 * syncline.h - calls the profiler in this process, if it is loaded.
 *
 * You need not link with any library. The functions look for libsyncline.so among the loaded
 * libraries. If the functions do not find libsyncline.so, they look again after the program has
 * loaded further libraries. Until libsyncline.so is loaded, every call returns -EAGAIN and does
 * nothing. For C99 and C++ with glibc.
 *
 *   #include <syncline/syncline.h>
 *   sl_start();  ...  sl_stop();
 *
 * Threads: any, but not a signal handler.
 *
 * Cost: calls do not block, allocate or call CUDA. A call makes a request, which the profiler's own
 * thread carries out. Only sl_hand_over() and sl_take_back() wait for that thread. The first
 * sl_start() may have to create that thread. Each function of this header calls the dynamic linker,
 * which takes the linker's lock. A call may therefore wait while another thread loads or unloads a
 * library. (The functions search for libsyncline.so only if libraries were loaded since the last
 * search.)
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
    SL_STATE_PASSIVE = 0,   /* syncline does not record this process: syncline is disabled, the
                             * process is a forked child, or there is no CUPTI */
    SL_STATE_ARMED = 1,     /* waiting for the first use of CUDA, or for the next window */
    SL_STATE_LEAD_IN = 2,   /* CUPTI records already, and the window is about to open */
    SL_STATE_RECORDING = 3, /* the window is open */
    SL_STATE_DRAINING = 4,  /* the window is over, and its last records are being written */
};

/* How much is recorded about NCCL's collectives (SYNCLINE_NCCL). */
enum sl_collectives_level {
    SL_COLLECTIVES_OFF = 0,      /* NCCL is asked for nothing */
    SL_COLLECTIVES_CALLS = 1,    /* NCCL's calls, and what each of its kernels does */
    SL_COLLECTIVES_CHANNELS = 2, /* also the channels of each kernel */
    SL_COLLECTIVES_NETWORK = 3,  /* also the messages of NCCL's proxy threads */
};

/* A copy of NCCL that has loaded syncline's profiler plugin. */
struct sl_status_nccl {
    int32_t version;    /* such as 22809; 0 if it is not known */
    int32_t level;      /* enum sl_collectives_level: what windows record of this copy */
    uint32_t mask;      /* the events that this copy sends now, a set of NCCL's ncclProfile*
                         * bits; 0 outside windows */
    int32_t is_foreign; /* 1: the mask was not set by syncline. NCCL's RAS client can set it (2.31
                         * and later). Events that the level does not have are ignored. */
};

/* Set `size` to sizeof(struct sl_status) before the call. A newer library fills only the fields
 * that lie within `size`. */
struct sl_status {
    size_t size;
    int32_t state;              /* enum sl_state */
    uint32_t window;            /* number of the current or last window, from 1 */
    uint64_t windows_completed; /* number of windows whose file is complete on disk */
    uint64_t records;           /* CUPTI records decoded */
    uint64_t events_written;    /* number of events written to files */
    uint64_t dropped;           /* lost records and events: the sum of the counters dropped_* and
                                 * undelivered_at_exit */
    uint64_t memory_bytes;      /* bytes of host memory for events and CUPTI buffers */
    char last_file[1024];       /* path of the last complete trace; "" if there is none */
    char reason[256];           /* why the profiler is passive; "" if the profiler is not passive */
    int32_t collectives;        /* enum sl_collectives_level: the level asked for */
    uint32_t nccl_count;        /* number of entries of `nccl` */
    struct sl_status_nccl nccl[8];
};

#ifdef SL_BUILDING_LIBRARY

/* The exported functions of the library. Programs in Python (ctypes) and other languages call these
 * functions. */
int sl_start(void);
int sl_stop(void);
int sl_status(struct sl_status *status);
int sl_dump(void);
int sl_collectives(int level);
int sl_hand_over(void);
int sl_take_back(void);
int sl_step(void);
int sl_range_push(const char *name);
int sl_range_pop(void);
int sl_mark(const char *name);

#else

/* Declares struct dl_phdr_info and dl_iterate_phdr() under other names, because <link.h> declares
 * them only with _GNU_SOURCE. */
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
    static unsigned long long looked; /* number of libraries that the linker had loaded at the last
                                       * search */
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

/*
 * Opens a window, with SYNCLINE_WINDOW=demand, or between other windows. The window opens after the
 * time of SYNCLINE_LEAD_IN, so that syncline knows which work is pending when the window opens.
 *
 * Returns 0; -EALREADY if a window is open or opening; -EBUSY if the last window is still draining
 * (the new window opens afterwards); -ENODEV if the profiler is passive; -EAGAIN if the profiler is
 * not loaded.
 */
static inline int sl_start(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_start");
    return fn ? fn() : -EAGAIN;
}

/*
 * Closes the window. Its file is complete some time later (see sl_status()). If the window's
 * lead-in is not over, the window's file has what was recorded so far, and says that the lead-in
 * was short; it has no events if recording was still being turned on. If syncline had not yet acted
 * on sl_start() (which takes milliseconds), or if the last window is still draining, the requested
 * window is cancelled and leaves no file.
 *
 * Returns 0; -EALREADY if no window is open; -ENODEV and -EAGAIN as for sl_start().
 */
static inline int sl_stop(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_stop");
    return fn ? fn() : -EAGAIN;
}

/*
 * Ends the window now, and begins the next window as soon as the file is complete. Nothing is
 * recorded between the two windows, for some 20 ms, or longer while a long kernel runs. An
 * sl_stop() in that time cancels the next window.
 *
 * Returns 0; -EALREADY if no window is open; -ENODEV and -EAGAIN as for sl_start().
 */
static inline int sl_dump(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_dump");
    return fn ? fn() : -EAGAIN;
}

/*
 * Sets what windows record about NCCL's collectives, in place of SYNCLINE_NCCL. `level` is an
 * enum sl_collectives_level. A window that is open changes at once. This call opens no window.
 * NCCL looks for a profiler plugin when it creates its first communicator. If the level was `off`
 * until then, NCCL has not loaded syncline's plugin, and later levels record nothing; sl_status()
 * then lists no copy of NCCL.
 *
 * Returns 0; -EINVAL if there is no such level; -ENODEV and -EAGAIN as for sl_start().
 */
static inline int sl_collectives(int level)
{
    int (*fn)(int) = __extension__(int (*)(int)) sl_find_("sl_collectives");
    return fn ? fn(level) : -EAGAIN;
}

/*
 * sl_hand_over() lets another profiler in this process use CUPTI, which serves only one profiler at
 * a time. Call sl_hand_over() before the other profiler's first CUPTI call, and sl_take_back()
 * after its last CUPTI call. syncline notices profilers that are linked with CUPTI, such as
 * PyTorch's, even without these calls. Without sl_take_back(), syncline takes CUPTI back some 20 ms
 * after the last CUPTI call of the other profiler.
 *
 * Returns 0; -ENOTSUP with SYNCLINE_HANDOVER=0; -EBUSY if the other profiler still records
 * (syncline takes CUPTI back when that profiler has ended); -ETIMEDOUT if syncline's thread did not
 * answer; -ENODEV and -EAGAIN as for sl_start().
 */
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

/*
 * Ends a step of the job, which is `ProfilerStep#N` in the trace, and begins the next step. From
 * the first call on, PyTorch's optimizers and DataLoaders no longer define steps.
 *
 * Returns 0, or -ENODEV and -EAGAIN as for sl_start().
 */
static inline int sl_step(void)
{
    int (*fn)(void) = __extension__(int (*)(void)) sl_find_("sl_step");
    return fn ? fn() : -EAGAIN;
}

/*
 * sl_range_push() begins a range of the calling thread, and sl_range_pop() ends the thread's last
 * range. Ranges may nest. The name is UTF-8 and is copied. A pop without a push does nothing.
 *
 * Returns 0; -EINVAL if `name` is NULL; -ENODEV and -EAGAIN as for sl_start().
 */
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

/* Puts a mark with this name at the current time on the track of the calling thread. Returns the
 * same values as sl_range_push(). */
static inline int sl_mark(const char *name)
{
    int (*fn)(const char *) = __extension__(int (*)(const char *)) sl_find_("sl_mark");
    return fn ? fn(name) : -EAGAIN;
}

/* Fills *status. Returns 0; -EINVAL if status is NULL or its size is too small; -EAGAIN if the
 * profiler is not loaded (*status is then unchanged). */
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
