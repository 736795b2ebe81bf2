/*
 * load.c - makes NCCL load our profiler plugin.
 *
 * Threads, memory: see load.h.
 */
#include "collect/nccl/load.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/getenv_answer.h"
#include "base/import_slot.h"
#include "base/loader.h"
#include "base/log.h"
#include "collect/nccl/plugin.h"

#define VARIABLE  "NCCL_PROFILER_PLUGIN"
#define FILE_NAME "libnccl-profiler.so"
#define FUNCTION  "ncclCommInitRank"
#define NCCL_MOST 254 /* NCCL cuts a longer path */
#define INSTEAD   "NVTX ranges describe its collectives"

enum {
    UNDECIDED,
    OURS,
    THEIRS
};

static struct {
    char path[PATH_MAX]; /* of this library; "": not known */
    uint64_t generation;
    const char *refused; /* why NCCL will not load our plugin; NULL: it will */
    int is_done;         /* 1: the reason was logged */
    _Atomic int decision;
} load;

/* Returns whether a loaded object other than this one is a profiler plugin. */
static int has_plugin(void *library)
{
    static const char *const tables[] = {"ncclProfiler_v7", "ncclProfiler_v6", "ncclProfiler_v5",
                                         "ncclProfiler_v4", "ncclProfiler_v3", "ncclProfiler_v2",
                                         "ncclProfiler_v1"};
    const void *found = NULL;
    Dl_info theirs, self;

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !found; i++)
        found = sl_loader_symbol(library, tables[i]);
    return found && sl_loader_find(found, &theirs) &&
           sl_loader_find((void *)(uintptr_t)has_plugin, &self) &&
           theirs.dli_fbase != self.dli_fbase;
}

struct net {
    char path[8][PATH_MAX];
    unsigned count;
};

static int note_net(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *name = strrchr(info->dlpi_name, '/');
    struct net *net = user;

    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, "libnccl-net", 11) == 0 && net->count < 8)
        snprintf(net->path[net->count++], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

/* NCCL loads its network plugin before it looks for a profiler plugin. */
static int has_net_plugin(void)
{
    static struct net net;

    net.count = 0;
    sl_loader_look(note_net, &net);
    for (unsigned i = 0; i < net.count; i++) {
        void *library = sl_loader_open(net.path[i], RTLD_LAZY | RTLD_NOLOAD);
        int has = library && has_plugin(library);

        if (library)
            sl_loader_close(library);
        if (has)
            return 1;
    }
    return 0;
}

/* Without our answer, NCCL would load this file in the same way next. */
static int has_default_plugin(void)
{
    void *library = sl_loader_open(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    int has = library && has_plugin(library);

    if (library)
        sl_loader_close(library);
    return has;
}

/* Called inside NCCL's getenv(). NCCL asks while it holds a lock of its own, so one thread at a
 * time is here for each copy of NCCL. */
static const char *answer(void)
{
    int undecided = UNDECIDED, decision;

    if (atomic_load(&load.decision) == UNDECIDED) {
        decision = has_default_plugin() || has_net_plugin() ? THEIRS : OURS;
        if (atomic_compare_exchange_strong(&load.decision, &undecided, decision) &&
            decision == THEIRS)
            sl_log(SL_LOG_INFO, "NCCL has another profiler plugin (" FILE_NAME
                                " or the network plugin): syncline does not use NCCL's profiler "
                                "events; " INSTEAD);
    }
    return atomic_load(&load.decision) == OURS ? load.path : NULL;
}

/* Returns why NCCL will not load our plugin, or NULL. */
static const char *refuse(void)
{
    const char *users = getenv(VARIABLE);
    char named[PATH_MAX];
    Dl_info self;

    if (!sl_loader_find((void *)(uintptr_t)refuse, &self) || !self.dli_fname ||
        !realpath(self.dli_fname, load.path))
        return "the path of libsyncline.so is not known";
    if (users && *users && (!realpath(users, named) || strcmp(named, load.path) != 0))
        return VARIABLE " is set";
    if (strlen(load.path) > NCCL_MOST)
        return "the path of libsyncline.so is longer than NCCL's limit of 254 bytes";
    return NULL;
}

/* Returns whether an object with NCCL is loaded. */
static int is_loaded(void)
{
    struct sl_import import = {.name = "getenv", .exporting = FUNCTION};

    sl_import_redirect(&import, 1);
    return import.slots > 0;
}

void sl_nccl_load_offer(void)
{
    uint64_t generation = sl_import_generation();
    const char *why;

    if (load.is_done || generation == load.generation)
        return;
    load.generation = generation;
    if (!*load.path) {
        why = refuse();
        if (!why && sl_getenv_answer(VARIABLE, answer) != 0)
            why = "too many variables are answered";
        load.refused = why;
    }
    if (!load.refused) {
        sl_getenv_answer_where(FUNCTION);
    } else if (is_loaded()) {
        load.is_done = 1;
        sl_log(SL_LOG_INFO, "NCCL does not load syncline's profiler plugin, because %s; " INSTEAD,
               load.refused);
    }
}
