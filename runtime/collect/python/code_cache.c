/*
 * code_cache.c - stores the code objects that a thread ran recently, and source lines within them.
 *
 * Threads, memory: see code_cache.h.
 */
#include "collect/python/code_cache.h"

#include "collect/python/memory.h"

#define NO_HASH UINT64_MAX

/* Returns a slot for the address; `slots` is a power of two. The address is hashed, because objects
 * of one size lie at regular distances. */
static unsigned slot_of(const void *code, unsigned slots)
{
    return (unsigned)((uint64_t)(uintptr_t)code * 0x9e3779b97f4a7c15u >> 40) & (slots - 1);
}

static uint64_t kept_hash(const struct sl_python_layout *l, const void *code, size_t text)
{
    const void *str = sl_python_pointer_at(code, text);

    return sl_python_is_a(str, l->str_type) ? sl_python_word_at(str, SL_PYTHON_STR_HASH) : NO_HASH;
}

/* Returns whether the slot still describes this code object. CPython may have reused the object's
 * memory for another code object of the same name and file. The other object differs in its version
 * number or in its line table. */
static int is_same(const struct sl_python_layout *l, const struct sl_python_code_cache_code *s)
{
    const void *table = sl_python_pointer_at(s->code, l->code_table);

    if (s->name != kept_hash(l, s->code, l->code_name) ||
        s->first_line != sl_python_int_at(s->code, l->code_line) ||
        s->version != sl_python_version_of(l, s->code))
        return 0;
    return s->version ||
           (sl_python_is_a(table, l->bytes_type) &&
            sl_python_word_at(table, SL_PYTHON_BYTES_LENGTH) == s->table_bytes &&
            memcmp((const char *)table + SL_PYTHON_BYTES_DATA, s->table, s->table_bytes) == 0);
}

uint32_t sl_python_code_cache_find(const struct sl_python_code_cache *seen,
                                   const struct sl_python_layout *l, const void *frame)
{
    for (unsigned i = 0; frame && i < SL_PYTHON_WALK_MAX;
         i++, frame = sl_python_pointer_at(frame, l->frame_back)) {
        const void *code = sl_python_code_of(l, frame);
        const struct sl_python_code_cache_code *s;
        uint64_t file, offset;
        unsigned at;

        if (!code)
            continue;
        file = kept_hash(l, code, l->code_file);
        at = slot_of(code, SL_PYTHON_CODE_CACHE_LIBRARY);
        if (seen->library[at].code == code && seen->library[at].file == file)
            continue;
        s = &seen->code[slot_of(code, SL_PYTHON_CODE_CACHE_CODES)];
        offset = sl_python_offset_in(l, frame, code);
        at = offset / 2 % SL_PYTHON_CODE_CACHE_LINES;
        return s->code == code && s->file == file && s->place[at].offset == offset && is_same(l, s)
                   ? s->place[at].line
                   : 0;
    }
    return 0;
}

/* Returns the entry to use for a code object, or NULL if the code object cannot be identified
 * cheaply. */
static struct sl_python_code_cache_code *code_of(struct sl_python_code_cache *seen,
                                                 const struct sl_python_layout *l,
                                                 const struct sl_python_place *p)
{
    struct sl_python_code_cache_code *s = &seen->code[slot_of(p->code, SL_PYTHON_CODE_CACHE_CODES)];
    uint64_t file = kept_hash(l, p->code, l->code_file), name = kept_hash(l, p->code, l->code_name);
    uint32_t version = sl_python_version_of(l, p->code);

    if (s->code == p->code && s->file == file && is_same(l, s))
        return s;
    if (file == NO_HASH || name == NO_HASH ||
        (!version && p->table_bytes > SL_PYTHON_CODE_CACHE_TABLE))
        return NULL;
    *s = (struct sl_python_code_cache_code){.code = p->code,
                                            .file = file,
                                            .name = name,
                                            .table_bytes = p->table_bytes,
                                            .version = version,
                                            .first_line = p->first_line};
    if (!version)
        memcpy(s->table, (const char *)p->table + SL_PYTHON_BYTES_DATA, p->table_bytes);
    return s;
}

void sl_python_code_cache_put(struct sl_python_code_cache *seen, const struct sl_python_layout *l,
                              const struct sl_python_place *p, uint32_t line)
{
    struct sl_python_code_cache_code *s = code_of(seen, l, p);
    unsigned at = p->offset / 2 % SL_PYTHON_CODE_CACHE_LINES;

    if (!s || p->offset > UINT32_MAX)
        return;
    s->place[at].offset = (uint32_t)p->offset;
    s->place[at].line = line;
}

void sl_python_code_cache_put_library(struct sl_python_code_cache *seen,
                                      const struct sl_python_layout *l,
                                      const struct sl_python_place *p)
{
    uint64_t file = kept_hash(l, p->code, l->code_file);
    unsigned at = slot_of(p->code, SL_PYTHON_CODE_CACHE_LIBRARY);

    if (file == NO_HASH)
        return;
    seen->library[at].code = p->code;
    seen->library[at].file = file;
}
