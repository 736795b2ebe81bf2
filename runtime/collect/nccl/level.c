/*
 * level.c - which events the copies of NCCL in this process are asked for.
 *
 * Threads, memory: see level.h. There is no lock, because a signal handler or a forked child may be
 * here. After each change, a thread writes the masks, and writes them again if another change came
 * meanwhile. So the masks fit the last change.
 */
#include "collect/nccl/level.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/loader.h"
#include "base/log.h"

#define VERSION_2_31 23100
#define SHM_LEAST    (1ull << 30) /* bytes; with Docker's default of 64 MiB jobs crashed */

/* NCCL sends the groups around calls and around tasks whenever it sends what is in them. */
#define GROUPS (SL_NCCL_GROUP | SL_NCCL_GROUP_API)
#define CALLS                                                                                      \
    (SL_NCCL_COLL_API | SL_NCCL_P2P_API | SL_NCCL_KERNEL_LAUNCH | SL_NCCL_COLL | SL_NCCL_P2P |     \
     SL_NCCL_CE_COLL)
#define NETWORK (SL_NCCL_PROXY_OP | SL_NCCL_PROXY_STEP)

struct copy {
    int *_Atomic mask; /* NULL: the entry is free */
    _Atomic int known; /* types of events that this copy can send */
    _Atomic int version;
    _Atomic int
        refused;       /* types of events that this copy is not asked for, because they can hurt */
    _Atomic int wrote; /* the last value that we wrote into the mask */
    _Atomic int is_foreign;
};

_Atomic int sl_nccl_types_taken;

static struct {
    _Atomic int is_open, is_stopped, level;
    _Atomic uint32_t changes, writers; /* number of changes; number of threads that write masks */
    struct copy copy[SL_NCCL_COPIES];
} levels;

static int types_of(enum sl_nccl_level level)
{
    static const int types[] = {[SL_NCCL_OFF] = 0,
                                [SL_NCCL_CALLS] = CALLS,
                                [SL_NCCL_CHANNELS] = CALLS | SL_NCCL_KERNEL_CH,
                                [SL_NCCL_NETWORK] = CALLS | SL_NCCL_KERNEL_CH | NETWORK};

    return types[level];
}

enum sl_nccl_level sl_nccl_level_get(void)
{
    return (enum sl_nccl_level)atomic_load(&levels.level);
}

/* Returns the types of events that windows ask this copy for. */
static int asked_of(const struct copy *copy)
{
    return types_of(sl_nccl_level_get()) & atomic_load(&copy->known) & ~atomic_load(&copy->refused);
}

static void write_masks(void)
{
    int is_on = atomic_load(&levels.is_open) && !atomic_load(&levels.is_stopped);
    int types = is_on ? types_of(sl_nccl_level_get()) : 0;

    atomic_store(&sl_nccl_types_taken, types ? types | GROUPS : 0);
    for (unsigned i = 0; i < SL_NCCL_COPIES; i++) {
        struct copy *copy = &levels.copy[i];
        int *mask = atomic_load(&copy->mask);
        int bits = is_on ? asked_of(copy) : 0;

        if (!mask)
            continue;
        atomic_store(&copy->is_foreign, 0);
        atomic_store(&copy->wrote, bits);
        __atomic_store_n(mask, bits, __ATOMIC_RELAXED); /* NCCL reads without synchronisation */
    }
}

/* Call after a change of the state. */
static void apply(void)
{
    uint32_t change = atomic_fetch_add(&levels.changes, 1) + 1, last;

    atomic_fetch_add(&levels.writers, 1);
    do {
        last = change;
        write_masks();
        change = atomic_load(&levels.changes);
    } while (change != last);
    atomic_fetch_sub(&levels.writers, 1);
}

/* ---- events that can hurt ---- */

static int has_shared_memory(void)
{
    struct statvfs fs;

    return statvfs("/dev/shm", &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= SHM_LEAST;
}

/* Decides whether a copy may be asked for the events of channels. Each line is logged once. */
static void judge(struct copy *copy)
{
    static int said_refused, said_slow, said_risk;
    int version = atomic_load(&copy->version);

    if (!atomic_load(&copy->mask) || !(types_of(sl_nccl_level_get()) & SL_NCCL_KERNEL_CH))
        return;
    if (version >= VERSION_2_31) {
        sl_log_once(
            &said_slow, SL_LOG_WARN,
            "SYNCLINE_NCCL records the channels of kernels: NCCL %d.%d.%d can be 4 to 13 %% "
            "slower with it (collectives of 128 KB to 4 MB); `calls` does not cost that",
            version / 10000, version / 100 % 100, version % 100);
        atomic_store(&copy->refused, 0);
    } else if (has_shared_memory()) {
        sl_log_once(&said_risk, SL_LOG_WARN,
                    "SYNCLINE_NCCL records the channels of kernels: NCCL before 2.31 crashes with "
                    "it if /dev/shm becomes full; `calls` has not this risk");
        atomic_store(&copy->refused, 0);
    } else {
        sl_log_once(&said_refused, SL_LOG_WARN,
                    "SYNCLINE_NCCL does not record the channels of kernels: NCCL before 2.31 can "
                    "crash with it, because /dev/shm has less than 1 GiB free; enlarge /dev/shm "
                    "(docker run --shm-size=2g), or use NCCL 2.31");
        atomic_store(&copy->refused, SL_NCCL_KERNEL_CH);
    }
}

static void judge_all(void)
{
    int saved = errno;

    for (unsigned i = 0; i < SL_NCCL_COPIES; i++)
        judge(&levels.copy[i]);
    errno = saved;
}

/* ---- changes ---- */

void sl_nccl_level_set(enum sl_nccl_level level)
{
    atomic_store(&levels.level, (int)level);
    judge_all();
    apply();
}

void sl_nccl_level_enable(int on)
{
    if (on)
        judge_all();
    atomic_store(&levels.is_open, on);
    apply();
}

int sl_nccl_level_is_on(void)
{
    return atomic_load_explicit(&levels.level, memory_order_relaxed) != SL_NCCL_OFF &&
           !atomic_load_explicit(&levels.is_stopped, memory_order_relaxed);
}

void sl_nccl_level_stop(void)
{
    atomic_store(&levels.is_stopped, 1);
    apply();
}

/* ---- copies ---- */

/* Returns the version of the copy of NCCL that has this mask, such as 22809; 0 if it is not known.
 * The copy stays loaded from then on, because we write its mask at any time. */
static int version_of(const int *mask)
{
    int (*get)(int *version);
    int version = 0;
    Dl_info holder, owner;
    void *library;

    if (!sl_loader_find(mask, &holder) || !holder.dli_fname)
        return 0;
    library = sl_loader_open(holder.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!library)
        library = sl_loader_open(NULL, RTLD_LAZY);
    if (!library)
        return 0;
    get = __extension__(int (*)(int *)) sl_loader_symbol(library, "ncclGetVersion");
    if (get && sl_loader_find(__extension__(void *) get, &owner) &&
        owner.dli_fbase == holder.dli_fbase && get(&version) != 0)
        version = 0;
    sl_loader_close(library);
    return version;
}

/* Returns the entry of the copy, a free entry, or NULL if there are too many copies. */
static struct copy *copy_of(int *mask)
{
    for (unsigned i = 0; i < SL_NCCL_COPIES; i++) {
        int *there = atomic_load(&levels.copy[i].mask);

        if (there == mask || !there)
            return &levels.copy[i];
    }
    return NULL;
}

int sl_nccl_level_take(int *mask, int known, int least)
{
    static int said;
    struct copy *copy = copy_of(mask);
    int *none = NULL;
    int version;

    if (copy && atomic_load(&copy->mask) != mask) {
        version = version_of(mask);
        if (version < least) {
            sl_log_once(&said, SL_LOG_WARN,
                        "this NCCL (version %d) is not 2.31 or later but asks for plugin version "
                        "7: its profiler events are not recorded; NVTX ranges describe its "
                        "collectives",
                        version);
            return -ENOTSUP;
        }
        /* Another thread may have taken the entry for another copy. Then the next call for this
         * copy tries again; until then its mask stays 0. */
        atomic_store(&copy->known, known);
        atomic_store(&copy->version, version);
        atomic_compare_exchange_strong(&copy->mask, &none, mask);
        sl_log(SL_LOG_DEBUG, "NCCL %d has loaded syncline's profiler plugin", version);
    }
    judge_all();
    apply();
    return 0;
}

static enum sl_nccl_level level_of(int types)
{
    enum sl_nccl_level level = SL_NCCL_OFF;

    if (types & CALLS)
        level = SL_NCCL_CALLS;
    if (types & SL_NCCL_KERNEL_CH)
        level = SL_NCCL_CHANNELS;
    if (types & NETWORK)
        level = SL_NCCL_NETWORK;
    return level;
}

unsigned sl_nccl_level_copies(struct sl_nccl_copy out[SL_NCCL_COPIES])
{
    unsigned count = 0;

    for (unsigned i = 0; i < SL_NCCL_COPIES; i++) {
        const struct copy *copy = &levels.copy[i];
        int *mask = atomic_load(&copy->mask);

        if (!mask)
            continue;
        out[count++] = (struct sl_nccl_copy){.version = atomic_load(&copy->version),
                                             .level = level_of(asked_of(copy)),
                                             .mask = __atomic_load_n(mask, __ATOMIC_RELAXED),
                                             .is_foreign = atomic_load(&copy->is_foreign)};
    }
    return count;
}

/* Returns 1 if nobody wrote masks since `change` changes had been made. */
static int is_calm(uint32_t change)
{
    return !atomic_load(&levels.writers) && atomic_load(&levels.changes) == change;
}

void sl_nccl_level_watch(void)
{
    static int said;
    uint32_t change = atomic_load(&levels.changes);

    for (unsigned i = 0; i < SL_NCCL_COPIES; i++) {
        struct copy *copy = &levels.copy[i];
        int *mask = atomic_load(&copy->mask);
        int now = mask && is_calm(change) ? __atomic_load_n(mask, __ATOMIC_RELAXED) : 0;

        if (!mask || now == atomic_load(&copy->wrote) || !is_calm(change))
            continue;
        atomic_store(&copy->is_foreign, 1);
        sl_log_once(&said, SL_LOG_INFO,
                    "NCCL's profiler mask was set to %d by something else than syncline, such as "
                    "NCCL's RAS client: syncline ignores events that its level does not have, and "
                    "sets the mask again when a window opens or closes",
                    (unsigned)now);
    }
}
