/*
 * nvtx.c - attaches to the copies of NVTX in this process.
 *
 * Threads: see nvtx.h. Memory: static. A copy of NVTX belongs to a shared object that may be
 * unloaded. So sl_nvtx_detach() clears a slot only if it still holds our function. sl_nvtx_detach()
 * reads the slot by a system call, because the page may be unmapped.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/nvtx.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/import_slot.h"
#include "base/log.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/discover.h"
#include "collect/nvtx/getenv_hook.h"
#include "collect/nvtx/names.h"
#include "collect/nvtx/schema.h"
#include "collect/nvtx/time.h"

/* Memory limit of the lanes (collect/lane/lane.h) if a copy of NVTX attaches before the options
 * were read. */
#define EARLY_BYTES ((size_t)16 << 20)

/* Maximum number of slots that we set. Each source file that includes NVTX's header can bring a
 * copy of its own, with 47 slots that we set: PyTorch 2.11 and CUDA's libraries have 317 copies.
 * This is enough for 2,700. A page of the table takes memory only once it is used. */
#define SLOTS_MAX  (1 << 17)
#define NVTX_TABLE 64 /* number of slots of the largest module */
#define BATCH      64 /* slots that one system call reads */

/* A slot that we have set, with its address, our function, and the value that turns the slot
 * off. */
struct taken {
    /* address of the slot; NULL: the other fields are not written yet */
    void *_Atomic *_Atomic slot;
    void *function, *off;
};

static struct {
    struct taken taken[SLOTS_MAX];
    _Atomic unsigned count; /* number of slots requested so far; may exceed SLOTS_MAX */
    _Atomic unsigned copies;
    _Atomic int begun, detached;
    int is_full_said;
    uint64_t generation; /* generation of the linker's list of objects at the last search */
    const struct sl_nvtx_ids *_Atomic ids;
} nvtx;

int sl_nvtx_init(size_t bytes)
{
    int expected = 0;

    /* NVTX may attach before CUDA is initialised, or at the same time on another thread. */
    if (!atomic_compare_exchange_strong(&nvtx.begun, &expected, 1))
        return -EALREADY;
    sl_nvtx_time_init();
    return sl_lanes_init(bytes);
}

void sl_nvtx_set_ids(const struct sl_nvtx_ids *ids)
{
    atomic_store_explicit(&nvtx.ids, ids, memory_order_release);
}

const struct sl_nvtx_ids *sl_nvtx_get_ids(void)
{
    return atomic_load_explicit(&nvtx.ids, memory_order_acquire);
}

unsigned sl_nvtx_copies(void)
{
    return atomic_load_explicit(&nvtx.copies, memory_order_relaxed);
}

/* ---- slots ---- */

/* Clears the slots from `first` on, up to `most` and at most BATCH. Returns how many it has looked
 * at. The kernel stops at a slot that it cannot read; that slot is left as it is. A slot that is
 * not written yet has the address NULL and counts as one of these. */
static unsigned clear_slots(unsigned first, unsigned most)
{
    struct iovec here[BATCH], remote[BATCH];
    void *there[BATCH];
    unsigned count = most < BATCH ? most : BATCH, readable;
    ssize_t bytes;

    for (unsigned i = 0; i < count; i++) {
        /* Acquire pairs with the release in set_slot(). */
        void *_Atomic *slot =
            atomic_load_explicit(&nvtx.taken[first + i].slot, memory_order_acquire);

        here[i] = (struct iovec){&there[i], sizeof(there[i])};
        remote[i] = (struct iovec){(void *)(uintptr_t)slot, sizeof(there[i])};
    }
    bytes = process_vm_readv(getpid(), here, count, remote, count, 0);
    readable = bytes > 0 ? (unsigned)((size_t)bytes / sizeof(*there)) : 0;
    for (unsigned i = 0; i < readable; i++) {
        const struct taken *t = &nvtx.taken[first + i];

        if (there[i] == t->function)
            atomic_store_explicit((void *_Atomic *)remote[i].iov_base, t->off,
                                  memory_order_release);
    }
    return readable < count ? readable + 1 : count;
}

/* Returns 0, or -ENOSPC if our table is full. Then the slot is not set, because we could not clear
 * it later. */
static int set_slot(void *_Atomic *slot, sl_nvtx_function function, void *off)
{
    void *to = (void *)(uintptr_t)function;
    unsigned at;

    if (atomic_load_explicit(slot, memory_order_relaxed) == to)
        return 0;
    at = atomic_fetch_add_explicit(&nvtx.count, 1, memory_order_relaxed);
    if (at >= SLOTS_MAX) {
        sl_log_once(
            &nvtx.is_full_said, SL_LOG_WARN,
            "this process has too many copies of NVTX; ranges of some libraries are missing");
        return -ENOSPC;
    }
    nvtx.taken[at].function = to;
    nvtx.taken[at].off = off;
    atomic_store_explicit(&nvtx.taken[at].slot, slot, memory_order_release);
    atomic_store_explicit(slot, to, memory_order_release);
    return 0;
}

static int is_refused(void)
{
    return atomic_load(&nvtx.detached);
}

void sl_nvtx_detach(void)
{
    int saved = errno;
    unsigned count;

    /* Sequentially consistent with attach(). If a copy attaches at this moment, either we see the
     * copy's slots, or the attaching thread sees `detached`. */
    atomic_store(&nvtx.detached, 1);
    count = atomic_load(&nvtx.count);
    count = count < SLOTS_MAX ? count : SLOTS_MAX;
    for (unsigned i = 0; i < count;)
        i += clear_slots(i, count - i);
    errno = saved;
}

/* ---- the entry points of this file that NVTX calls ---- */

/* A table holds pointers to slots. An older NVTX has shorter tables. */
static int set_slots(const struct sl_nvtx_slot *s, unsigned module, NvtxFunctionTable table,
                     unsigned size)
{
    int set = 0;

    for (; s->function; s++) {
        if (s->module == module && s->id < size && s->id < NVTX_TABLE && table[s->id])
            set += set_slot((void *_Atomic *)(void *)table[s->id], s->function, NULL) == 0;
    }
    return set;
}

static int set_module(const NvtxExportTableCallbacks *callbacks, unsigned module)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (!callbacks->GetModuleFunctionTable((NvtxCallbackModule)module, &table, &size) || !table)
        return 0;
    return set_slots(sl_nvtx_slots, module, table, size) +
           set_slots(sl_nvtx_name_slots, module, table, size);
}

int sl_nvtx_attach(const void *(*get_export_table)(uint32_t id))
{
    const NvtxExportTableCallbacks *callbacks;
    const NvtxExportTableVersionInfo *version;
    int set = 0;

    if (!get_export_table || is_refused())
        return 0;
    sl_nvtx_init(EARLY_BYTES);
    callbacks = get_export_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    version = get_export_table(NVTX_ETID_VERSIONINFO);
    if (version && version->struct_size >= sizeof(*version) && version->SetInjectionNvtxVersion)
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++)
        set += set_module(callbacks, module);
    if (is_refused())
        sl_nvtx_detach();
    atomic_fetch_add_explicit(&nvtx.copies, set > 0, memory_order_relaxed);
    return set > 0;
}

/* ---- copies that found no tool ---- */

/* NVTX's states of a copy. */
enum {
    FRESH,
    STARTED,
    COMPLETE
};

/* Calls `see` for each slot of the copy until `see` returns 1. Returns 1 if `see` has returned 1,
 * otherwise 0. */
static int any_slot(const struct sl_nvtx_copy *copy, int (*see)(void **slot))
{
    void ***table;
    unsigned size;

    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++) {
        if (!copy->get_table(module, &table, &size) || !table)
            continue;
        for (unsigned id = 1; id < size; id++)
            if (table[id] && see(table[id]))
                return 1;
    }
    return 0;
}

/* Returns whether a tool has set the slot. A copy that has found no tool has NULL in all its
 * slots. */
static int is_claimed(void **slot)
{
    return *slot != NULL;
}

/* Clears a slot, so that its NVTX call costs nothing unless we set the slot afterwards. NVTX also
 * clears the slots that its tool has not set. */
static int clear(void **slot)
{
    __atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
    return 0;
}

static int set_found(const struct sl_nvtx_copy *copy)
{
    const NvtxExportTableCallbacks callbacks = {
        sizeof(callbacks),
        (int (*)(NvtxCallbackModule, NvtxFunctionTable *, unsigned *))copy->get_table};
    int set = 0;

    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++)
        set += set_module(&callbacks, module);
    return set > 0;
}

/* Initialises a fresh copy in place of NVTX, or attaches to a copy that found no tool. Threads that
 * call the copy meanwhile wait for the copy's state to change, just as they wait while NVTX
 * initialises the copy. */
static void take_copy(const struct sl_nvtx_copy *copy)
{
    unsigned fresh = FRESH, state = __atomic_load_n(copy->state, __ATOMIC_ACQUIRE);
    int set = 0;

    if (state == COMPLETE && !any_slot(copy, is_claimed)) {
        set = set_found(copy);
    } else if (state == FRESH && !sl_nvtx_getenv_hook_is_set() &&
               __atomic_compare_exchange_n(copy->state, &fresh, STARTED, 0, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED)) {
        any_slot(copy, clear);
        set = set_found(copy);
        __atomic_store_n(copy->state, COMPLETE, __ATOMIC_RELEASE);
    }
    atomic_fetch_add_explicit(&nvtx.copies, (unsigned)set, memory_order_relaxed);
    /* The object's payload extension looks for its tool later, in a search of its own. */
    sl_nvtx_getenv_hook_add_object((const void *)copy->state);
}

void sl_nvtx_attach_all(void)
{
    uint64_t generation = sl_import_generation();

    if (is_refused() || sl_nvtx_has_other_tool() || generation == nvtx.generation)
        return;
    nvtx.generation = generation;
    sl_nvtx_discover(take_copy);
    if (is_refused())
        sl_nvtx_detach();
}

/* Marks an unused slot of an extension: NVTX_EXTENSION_DISABLED. */
#define EXTENSION_OFF ((void *)1)

static void set_extension_slots(const struct sl_nvtx_slot *s, const nvtxExtModuleSegment_t *segment)
{
    for (; s->function; s++) {
        if (s->id < segment->slotCount)
            set_slot((void *_Atomic *)(void *)&segment->functionSlots[s->id], s->function,
                     EXTENSION_OFF);
    }
}

int sl_nvtx_attach_extension(void *module_info)
{
    const nvtxExtModuleInfo_t *module = module_info;

    if (!module || is_refused() || module->structSize < sizeof(*module) ||
        module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount < 1)
        return 0;
    sl_nvtx_init(EARLY_BYTES);
    set_extension_slots(sl_nvtx_payload_slots, module->segments);
    set_extension_slots(sl_nvtx_deferred_slots, module->segments);
    if (is_refused())
        sl_nvtx_detach();
    return 1;
}
