/*
 * discover.c - finds copies of NVTX in the process to which we are not attached.
 *
 * Threads: see discover.h. Memory: none. The search covers only the writable data of each object's
 * file, which is a few megabytes in a process with PyTorch.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "collect/nvtx/discover.h"

#include <stddef.h>

#include "base/loader.h"

/* The beginning of nvtxGlobals_t in every NVTX 3. */
struct globals {
    unsigned state, pad;
    NvtxExportTableCallbacks callbacks;
    NvtxExportTableVersionInfo version;
    uintptr_t function[NVTX_CBID_CORE_SIZE - 1];
};

#define SEGMENTS 8

struct object {
    uintptr_t code[SEGMENTS][2];
    unsigned codes;
    uintptr_t relro[2]; /* this segment is read-only after relocation, so it contains no state */
};

static int is_code(const struct object *o, uintptr_t address)
{
    for (unsigned i = 0; i < o->codes; i++)
        if (address >= o->code[i][0] && address < o->code[i][1])
            return 1;
    return 0;
}

/* Recognises NVTX's state by its fields. The sizes of both tables and the version are constants,
 * and the other fields point to functions of the object. Other threads may be writing these words
 * meanwhile. */
__attribute__((no_sanitize("address", "thread"))) static int is_globals(
    const struct object *o, const volatile struct globals *g)
{
    if (g->callbacks.struct_size != sizeof(g->callbacks) ||
        g->version.struct_size != sizeof(g->version) || g->version.version != NVTX_VERSION ||
        g->version.reserved0 != 0 || g->state > 2)
        return 0;
    return is_code(o, (uintptr_t)g->callbacks.GetModuleFunctionTable) &&
           is_code(o, (uintptr_t)g->version.SetInjectionNvtxVersion);
}

struct visit {
    void (*found)(const struct sl_nvtx_copy *copy);
};

static void look_through(const struct visit *v, const struct object *o, uintptr_t from,
                         uintptr_t to)
{
    from = (from + 7) & ~(uintptr_t)7;
    for (; from + sizeof(struct globals) <= to; from += sizeof(uintptr_t)) {
        struct globals *g = (struct globals *)from;

        if (from >= o->relro[0] && from < o->relro[1]) {
            from = o->relro[1] - sizeof(uintptr_t);
        } else if (is_globals(o, g)) {
            const struct sl_nvtx_copy copy = {
                &g->state,
                (int (*)(unsigned, void ****, unsigned *))g->callbacks.GetModuleFunctionTable};

            v->found(&copy);
        }
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    const struct visit *v = user;
    struct object o = {.codes = 0};

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && p->p_flags & PF_X && o.codes < SEGMENTS) {
            o.code[o.codes][0] = from;
            o.code[o.codes++][1] = from + p->p_memsz;
        } else if (p->p_type == PT_GNU_RELRO) {
            o.relro[0] = from & ~(uintptr_t)7;
            o.relro[1] = (from + p->p_memsz) & ~(uintptr_t)7;
        }
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && p->p_flags & PF_W)
            look_through(v, &o, from, from + p->p_filesz);
    }
    return 0;
}

void sl_nvtx_discover(void (*found)(const struct sl_nvtx_copy *copy))
{
    struct visit v = {found};

    sl_loader_look(visit, &v);
}
