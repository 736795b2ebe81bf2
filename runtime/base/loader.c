/*
 * loader.c - makes sure that our calls of the dynamic linker never overlap with a fork().
 *
 * Threads: any. Calls of the linker and forks each have a counter. A call increments its counter
 * before it reads the counter of forks, and a fork the other way round. So at least one of the two
 * threads sees that it must wait. Memory: static, and one word per thread.
 */
#include "base/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"

static _Atomic uint32_t looks, forks; /* number of calls of the linker, and of forks, in progress */
static int has_told;

/* Nesting depth of our calls of the linker in this thread. Calls also nest if another library's
 * fork handler makes a call of ours while the forking thread is inside one. */
static _Thread_local unsigned depth;

/* Waits until the counter is 0. Returns 0 or -ETIMEDOUT. */
static int wait_for_none(_Atomic uint32_t *count)
{
    uint64_t now = sl_clock_monotonic(), end = now + SL_LOADER_PATIENCE_NS;
    uint32_t left;

    while ((left = atomic_load(count)) > 0) {
        if (now >= end)
            return -ETIMEDOUT;
        sl_futex_wait(count, left, end - now);
        now = sl_clock_monotonic();
    }
    return 0;
}

static void drop(_Atomic uint32_t *count)
{
    if (atomic_fetch_sub(count, 1) == 1)
        sl_futex_wake(count);
}

void sl_loader_enter(void)
{
    int is_patient = 1;

    if (depth++ > 0)
        return;
    for (;;) {
        atomic_fetch_add(&looks, 1);
        if (!is_patient || atomic_load(&forks) == 0)
            return;
        drop(&looks);
        is_patient = wait_for_none(&forks) == 0;
    }
}

void sl_loader_leave(void)
{
    if (--depth == 0)
        drop(&looks);
}

int sl_loader_look(sl_loader_visit_fn visit, void *user)
{
    int result;

    sl_loader_enter();
    result = dl_iterate_phdr(visit, user);
    sl_loader_leave();
    return result;
}

void *sl_loader_open(const char *file, int flags)
{
    void *library;

    sl_loader_enter();
    library = dlopen(file, flags);
    sl_loader_leave();
    return library;
}

void *sl_loader_symbol(void *library, const char *name)
{
    void *found;

    sl_loader_enter();
    found = dlsym(library, name);
    sl_loader_leave();
    return found;
}

void sl_loader_close(void *library)
{
    sl_loader_enter();
    dlclose(library);
    sl_loader_leave();
}

int sl_loader_find(const void *address, Dl_info *out)
{
    int found;

    sl_loader_enter();
    found = dladdr(address, out);
    sl_loader_leave();
    return found;
}

const char *sl_loader_file(void *library)
{
    struct link_map *map;
    int err;

    sl_loader_enter();
    err = dlinfo(library, RTLD_DI_LINKMAP, &map);
    sl_loader_leave();
    return err ? NULL : map->l_name;
}

void sl_loader_before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    if (depth++ == 0 && wait_for_none(&looks) != 0)
        sl_log_once(&has_told, SL_LOG_WARN,
                    "fork() ran while syncline was inspecting the loaded libraries: the child may "
                    "hang in dlopen(); if it does, start such processes with spawn");
}

void sl_loader_after_fork(void)
{
    depth--;
    drop(&forks);
}

/* In the child, no other thread exists, so the counters are set without waiting. */
void sl_loader_fork_child(void)
{
    depth = 0;
    atomic_store(&looks, 0);
    atomic_store(&forks, 0);
}
