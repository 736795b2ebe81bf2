/*
 * import_slot.c - redirects the slots in which loaded objects store the addresses of imported
 * functions.
 *
 * Threads: any thread, but only one at a time. Memory: none; nothing is stored between two calls,
 * because objects may be unloaded.
 *
 * Facts of the System V ABI used here:
 *   - PT_DYNAMIC names the tables of an object.
 *   - Imported functions are undefined symbols. In a symbol table with a GNU hash, all undefined
 *     symbols come before the hashed symbols.
 *   - DT_JMPREL has a relocation for each slot that calls go through; DT_RELA has a relocation for
 *     each function whose address the object takes.
 *   - Until its first call, a slot holds an address in the object itself (a stub that calls the
 *     linker); after the first call, the slot holds the function's address.
 *   - A slot that the linker has not relocated yet holds an offset. The linker would overwrite a
 *     value that we write to such a slot, or even add to that value.
 */
#include "base/import_slot.h"

#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/loader.h"

#if defined(__x86_64__)
#define SLOT_CALLED  R_X86_64_JUMP_SLOT
#define SLOT_ADDRESS R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define SLOT_CALLED  R_AARCH64_JUMP_SLOT
#define SLOT_ADDRESS R_AARCH64_GLOB_DAT
#endif

#define MAX_IMPORTS 16

struct object {
    uintptr_t base, begin, end; /* the object's load address; start and end of its mapped memory */
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu_hash;
    const ElfW(Rela) * calls, *others;
    size_t call_count, other_count;
};

struct visit {
    struct sl_import *imports;
    size_t count;
    /* symbol number of each import in the current object; 0: not imported */
    uint32_t symbol[MAX_IMPORTS];
};

/* ---- writing to a slot ---- */

/* Returns the PROT_* bits of the private mapping around an address, or -1 if there is no mapping,
 * or if the mapping is shared. */
static int protection_of(uintptr_t address)
{
    char text[4096];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), found = -1;
    size_t used = 0;
    ssize_t got;

    if (fd < 0)
        return -1;
    while (found < 0 && (got = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
        char *line = text, *end;

        used += (size_t)got;
        text[used] = '\0';
        /* a line of /proc/self/maps: 7f0000000000-7f0000001000 rw-p ... */
        for (; found < 0 && (end = strchr(line, '\n')); line = end + 1) {
            char *at;
            uintptr_t begin = strtoull(line, &at, 16), limit = strtoull(at + 1, &at, 16);

            if (address < begin || address >= limit)
                continue;
            found = at[4] != 'p'
                        ? 0
                        : (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
                              (at[3] == 'x' ? PROT_EXEC : 0);
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
        if (used == sizeof(text) - 1)
            used = 0; /* drop the incomplete line, which has a path of 4 KiB */
    }
    close(fd);
    return found > 0 ? found : -1;
}

/* Stores an address in a slot. If the linker has made the page read-only (RELRO), the page is made
 * writable during the store. */
static int write_slot(void **slot, void *value)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot & ~(page_bytes - 1));
    int protection = protection_of((uintptr_t)slot);

    if (protection < 0 || protection & PROT_EXEC)
        return -1;
    if (!(protection & PROT_WRITE) && mprotect(page, page_bytes, protection | PROT_WRITE) != 0)
        return -1;
    /* Release order, so that a thread that calls through the slot sees all data that the
     * replacement needs. */
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (!(protection & PROT_WRITE))
        mprotect(page, page_bytes, protection);
    return 0;
}

/* ---- searching an object ---- */

/* In most objects the linker replaces the offsets in the dynamic table by absolute addresses. */
static const void *absolute(const struct object *o, ElfW(Addr) value)
{
    return (const void *)(value < o->base ? value + o->base : value);
}

static void read_dynamic(struct object *o, const ElfW(Dyn) * d)
{
    for (; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_STRTAB:
            o->strings = absolute(o, d->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            o->symbols = absolute(o, d->d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            o->gnu_hash = absolute(o, d->d_un.d_ptr);
            break;
        case DT_JMPREL:
            o->calls = absolute(o, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            o->call_count = d->d_un.d_val / sizeof(*o->calls);
            break;
        case DT_RELA:
            o->others = absolute(o, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            o->other_count = d->d_un.d_val / sizeof(*o->others);
            break;
        default:
            break;
        }
    }
}

static int read_object(struct object *o, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;

    *o = (struct object){.base = info->dlpi_addr, .begin = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)from;
        if (p->p_type != PT_LOAD)
            continue;
        o->begin = from < o->begin ? from : o->begin;
        o->end = from + p->p_memsz > o->end ? from + p->p_memsz : o->end;
    }
    if (!dynamic)
        return -1;
    read_dynamic(o, dynamic);
    return o->strings && o->symbols && o->gnu_hash ? 0 : -1;
}

/* Returns whether the object defines and exports a function. The layout of the hash table: number
 * of buckets, first hashed symbol, words of the Bloom filter, its shift, the filter, the buckets,
 * and a hash for each hashed symbol, whose lowest bit marks the end of a bucket. */
static int exports(const struct object *o, const char *name)
{
    uint32_t hash = 5381, buckets = o->gnu_hash[0], first = o->gnu_hash[1];
    const uint32_t *bucket = o->gnu_hash + 4 + 2 * (size_t)o->gnu_hash[2];
    const uint32_t *hashes = bucket + buckets;
    uint32_t at;

    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    at = buckets ? bucket[hash % buckets] : 0;
    if (at < first || at == 0)
        return 0;
    for (;; at++) {
        uint32_t there = hashes[at - first];

        if ((there | 1) == (hash | 1) && o->symbols[at].st_shndx != SHN_UNDEF &&
            strcmp(o->strings + o->symbols[at].st_name, name) == 0)
            return 1;
        if (there & 1)
            return 0;
    }
}

static int is_within(const struct sl_import *import, const struct object *o)
{
    uintptr_t address = (uintptr_t)import->within;

    return (!address || (address >= o->begin && address < o->end)) &&
           (!import->exporting || exports(o, import->exporting));
}

static int is_meant(const struct visit *v, const struct object *o)
{
    for (size_t k = 0; k < v->count; k++)
        if (is_within(&v->imports[k], o))
            return 1;
    return 0;
}

/* Returns how many symbols to search. Imported symbols come before the hashed symbols, with two
 * exceptions. A program that exports nothing has an empty hash table, which does not say where the
 * imports end. A symbol that is both imported and exported may be hashed. In these cases the
 * relocations for calls show the highest symbol number. */
static uint32_t count_symbols(const struct object *o)
{
    uint32_t count = o->gnu_hash[1];

    for (size_t i = 0; o->calls && i < o->call_count; i++)
        if (ELF64_R_SYM(o->calls[i].r_info) >= count)
            count = (uint32_t)ELF64_R_SYM(o->calls[i].r_info) + 1;
    return count;
}

/* Finds the symbol numbers of the imports. Returns how many of the functions the object imports. */
static unsigned find_symbols(struct visit *v, const struct object *o)
{
    uint32_t count;
    unsigned found = 0;

    memset(v->symbol, 0, sizeof(v->symbol));
    if (!is_meant(v, o))
        return 0;
    count = count_symbols(o);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = o->strings + o->symbols[i].st_name;

        if (o->symbols[i].st_shndx != SHN_UNDEF)
            continue;
        for (size_t k = 0; k < v->count; k++) {
            if (strcmp(name, v->imports[k].name) != 0 || !is_within(&v->imports[k], o))
                continue;
            found += !v->symbol[k];
            v->symbol[k] = i;
        }
    }
    return found;
}

static void take_slot(const struct object *o, struct sl_import *import, void **slot)
{
    void *held = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    uintptr_t address = (uintptr_t)held;
    int is_stub = address >= o->begin && address < o->end;
    int is_offset = o->base && address < o->end - o->base;

    if ((uintptr_t)slot < o->begin || (uintptr_t)slot >= o->end || is_offset)
        return;
    import->slots++;
    if (held == import->instead) {
        import->redirected++;
        return;
    }
    if (!is_stub && import->function && held != import->function)
        return;
    if (import->instead && write_slot(slot, import->instead) == 0)
        import->redirected++;
}

/* Redirects the slots to which the relocations `r` refer. Returns how many of the relocations are
 * for the wanted functions. */
static unsigned take_relocations(struct visit *v, const struct object *o, const ElfW(Rela) * r,
                                 size_t count)
{
    unsigned found = 0;

    for (; r && count > 0; r++, count--) {
        if (ELF64_R_TYPE(r->r_info) != SLOT_CALLED && ELF64_R_TYPE(r->r_info) != SLOT_ADDRESS)
            continue;
        for (size_t k = 0; k < v->count; k++) {
            if (!v->symbol[k] || v->symbol[k] != ELF64_R_SYM(r->r_info))
                continue;
            take_slot(o, &v->imports[k], (void **)(o->base + r->r_offset));
            found++;
        }
    }
    return found;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    struct visit *v = user;
    struct object o;
    unsigned wanted;

    (void)size;
    if (info->dlpi_addr == 0 && info->dlpi_name && *info->dlpi_name)
        return 0;
    wanted = read_object(&o, info) == 0 ? find_symbols(v, &o) : 0;
    /* DT_JMPREL has the relocations of the slots for calls. DT_RELA may have half a million
     * entries, so DT_RELA is searched only if DT_JMPREL lacks a wanted function. */
    if (wanted && take_relocations(v, &o, o.calls, o.call_count) < wanted)
        take_relocations(v, &o, o.others, o.other_count);
    return 0;
}

void sl_import_redirect(struct sl_import *imports, size_t count)
{
    struct visit v = {.imports = imports, .count = count < MAX_IMPORTS ? count : MAX_IMPORTS};

    for (size_t i = 0; i < count; i++)
        imports[i].slots = imports[i].redirected = 0;
    sl_loader_look(visit, &v);
}

static int note_generation(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    *(uint64_t *)user = info->dlpi_adds;
    return 1;
}

uint64_t sl_import_generation(void)
{
    uint64_t generation = 0;

    sl_loader_look(note_generation, &generation);
    return generation;
}
