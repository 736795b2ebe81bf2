/*
 * frames.c - finds the line of the user's Python code that the calling thread is running.
 *
 * Threads, memory: see frames.h. Results are kept in a table, whose key is a hash of everything
 * that identifies a place in the code. The address of a code object is not enough, because CPython
 * reuses the memory of a freed object. So the hash also covers the object's file, its name, and its
 * version number (from 3.12 on) or its whole line table. An entry is one word, with 40 bits of the
 * hash and the result, so that no lock is needed.
 *
 * When Python ends, it frees the states of threads that still run. We read no frames at that time,
 * because Py_IsInitialized() returns 0 long before Python frees the states.
 */
#include "collect/python/frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/stats.h"
#include "base/text_table.h"
#include "collect/python/code_cache.h"
#include "collect/python/layout.h"
#include "collect/python/memory.h"
#include "collect/python/text.h"

enum {
    KEPT = 16384,        /* number of entries of 8 bytes, 128 KiB in all; a power of two */
    WAYS = 4,            /* number of entries that a hash may use */
    TABLE_MAX = 1 << 24, /* largest line table in bytes; a longer table is damaged */
    LONG_TABLE = 512,    /* line tables of at least this many bytes are summed several words at a
                          * time; a multiple of 64 */
    TEXT_BITS = 24,
    LINES = 16384, /* maximum number of texts, so that the table has room for NVTX names too */
};

/* Results other than texts. */
enum {
    UNKNOWN,
    OURS = (1 << TEXT_BITS) - 3, /* the place is a frame of user code */
    LIBRARY,
    NO_ROOM, /* the table of texts is full */
};

static struct {
    struct sl_python_layout layout;
    unsigned depth;
    _Atomic int is_ready;
    _Atomic unsigned lines; /* number of texts requested so far; may exceed LINES */
    _Atomic uint64_t kept[KEPT];
} python;

/* ---- frames ---- */

static const void *innermost_frame(const struct sl_python_layout *l)
{
    const void *thread = l->is_initialized() ? l->this_thread() : NULL;
    const void *at = thread ? sl_python_pointer_at(thread, l->thread_frame) : NULL;

    return at && l->cframe_frame != SL_PYTHON_NOWHERE ? sl_python_pointer_at(at, l->cframe_frame)
                                                      : at;
}

/* Reads the frame's fields. Returns 0, or -ENOENT if the frame runs no Python code (yet). */
static int look_at(const struct sl_python_layout *l, const void *frame, struct sl_python_place *out)
{
    const void *code = sl_python_code_of(l, frame);

    if (!code)
        return -ENOENT;
    out->code = code;
    out->file = sl_python_pointer_at(code, l->code_file);
    out->name = sl_python_pointer_at(code, l->code_name);
    out->table = sl_python_pointer_at(code, l->code_table);
    out->first_line = sl_python_int_at(code, l->code_line);
    out->offset = sl_python_offset_in(l, frame, code);
    if (!sl_python_is_a(out->file, l->str_type) || !sl_python_is_a(out->name, l->str_type) ||
        !sl_python_is_a(out->table, l->bytes_type))
        return -ENOENT;
    out->table_bytes = sl_python_word_at(out->table, SL_PYTHON_BYTES_LENGTH);
    /* Code of Python's own helpers has no line table (in 3.9, neither has code of a single line). A
     * frame before its first instruction is not complete. */
    if ((!out->table_bytes && l->table != SL_PYTHON_LNOTAB) || out->table_bytes > TABLE_MAX ||
        (int64_t)out->offset < 0)
        return -ENOENT;
    return 0;
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    return hash ^ hash >> 32;
}

/* Returns a checksum made of two sums over the words. The second sum depends on the order of the
 * words. The function adds several words at a time, so that the long table of a long script takes
 * little time. */
static uint64_t sum_of_long(const char *data, size_t length, uint64_t sum)
{
    typedef uint64_t words __attribute__((vector_size(64)));
    words first = {0}, second = {0}, word;

    for (; length >= sizeof(word); data += sizeof(word), length -= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        first += word;
        second += first;
    }
    for (unsigned i = 0; i < sizeof(word) / sizeof(uint64_t); i++)
        sum += (second[i] ^ first[i] << 32) * ((2 * i + 1) * 0x9e3779b97f4a7c15u);
    return sum;
}

/* Returns a checksum of the bytes. Most tables are short and are summed word by word. The last word
 * may overlap the word before it. */
static uint64_t sum_of(const char *data, size_t length)
{
    uint64_t first = length, second = 0, word = 0;

    if (length >= LONG_TABLE) {
        first = sum_of_long(data, length, first);
        data += length / 64 * 64 - sizeof(word);
        length = length % 64 + sizeof(word);
    }
    if (length < sizeof(word)) {
        memcpy(&word, data, length);
        return mix(first, word);
    }
    for (; length > sizeof(word); data += sizeof(word), length -= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        first += word;
        second += first;
    }
    memcpy(&word, data + length - sizeof(word), sizeof(word));
    return mix(mix(first, second), word);
}

/* A str that was used as a dictionary key stores a hash of its characters, and this function uses
 * that hash. Nearly all file and function names were dictionary keys. */
static uint64_t hash_of_text(const struct sl_python_layout *l, const void *text)
{
    uint64_t hash = sl_python_word_at(text, SL_PYTHON_STR_HASH);
    struct sl_python_chars chars;

    if (hash + 1)
        return hash;
    sl_python_chars_of(l, text, &chars);
    return sum_of(chars.data, chars.length * chars.kind);
}

static uint64_t hash_of_file(const struct sl_python_layout *l, const struct sl_python_place *p)
{
    return mix(mix(0x5f1e, (uintptr_t)p->code), hash_of_text(l, p->file));
}

static uint64_t hash_of_place(const struct sl_python_layout *l, const struct sl_python_place *p,
                              uint64_t file)
{
    uint64_t hash = mix(file, hash_of_text(l, p->name));
    uint32_t version = sl_python_version_of(l, p->code);

    hash = mix(hash, (uint64_t)p->first_line << 32 ^ p->offset);
    if (version)
        return mix(hash, (uint64_t)version << 32 | p->table_bytes);
    return mix(hash, sum_of((const char *)p->table + SL_PYTHON_BYTES_DATA, p->table_bytes));
}

/* ---- earlier results ---- */

static _Atomic uint64_t *ways_of(uint64_t hash)
{
    return &python.kept[hash % (KEPT / WAYS) * WAYS];
}

static uint32_t find_kept(uint64_t hash)
{
    const _Atomic uint64_t *way = ways_of(hash);

    for (unsigned i = 0; i < WAYS; i++) {
        /* Acquire pairs with the release in keep(), so that the text with this number is
         * visible. */
        uint64_t entry = atomic_load_explicit(&way[i], memory_order_acquire);

        if (entry >> TEXT_BITS == hash >> TEXT_BITS && entry)
            return (uint32_t)entry & ((1u << TEXT_BITS) - 1);
    }
    return UNKNOWN;
}

static uint32_t keep(uint64_t hash, uint32_t what)
{
    _Atomic uint64_t *way = ways_of(hash);
    uint64_t entry = hash >> TEXT_BITS << TEXT_BITS | what, none = 0;

    for (unsigned i = 0; i < WAYS; i++, none = 0)
        if (atomic_compare_exchange_strong_explicit(&way[i], &none, entry, memory_order_release,
                                                    memory_order_relaxed))
            return what;
    /* The entry to replace is chosen by bits of the hash that do not select the set of entries. */
    atomic_store_explicit(&way[(hash >> 20) % WAYS], entry, memory_order_release);
    return what;
}

/* ---- lines ---- */

static int is_library(const struct sl_python_layout *l, const struct sl_python_place *p,
                      uint64_t file)
{
    uint32_t what = find_kept(file);

    if (what == UNKNOWN)
        what = keep(file, sl_python_is_library(l, p->file) ? LIBRARY : OURS);
    return what == LIBRARY;
}

static int line_of(const struct sl_python_layout *l, const struct sl_python_place *p)
{
    return sl_python_line_find(l->table, (const uint8_t *)p->table + SL_PYTHON_BYTES_DATA,
                               p->table_bytes, p->first_line, p->offset);
}

/* The limit counts texts, not code objects, because eval() compiles a new code object for the same
 * line each time. */
static uint32_t new_line(const char *text, size_t length)
{
    if (atomic_fetch_add_explicit(&python.lines, 1, memory_order_relaxed) < LINES)
        return sl_text_table_put(text, length);
    atomic_store_explicit(&python.lines, LINES, memory_order_relaxed);
    sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return 0;
}

static uint32_t find_text(const struct sl_python_layout *l, uint64_t hash,
                          const struct sl_python_place *p, unsigned places)
{
    char text[SL_PYTHON_TEXT_MAX];
    size_t length = 0;
    uint32_t line = find_kept(hash);

    if (line)
        return line == NO_ROOM ? 0 : line;
    for (unsigned i = 0; i < places; i++)
        length = sl_python_text_add(l, text, length, SL_PYTHON_TEXT_MAX / places, p[i].file,
                                    p[i].name, line_of(l, &p[i]));
    line = sl_text_table_find(text, length);
    if (!line)
        line = new_line(text, length);
    keep(hash, line ? line : NO_ROOM);
    return line;
}

/* `seen` may be NULL. */
static uint32_t find_line(const struct sl_python_layout *l, struct sl_python_code_cache *seen,
                          const void *frame)
{
    struct sl_python_place place[SL_SOURCE_DEPTH_MAX], here;
    uint64_t hash = 0, file;
    unsigned places = 0;
    uint32_t line;

    for (unsigned i = 0; frame && i < SL_PYTHON_WALK_MAX && places < python.depth;
         i++, frame = sl_python_pointer_at(frame, l->frame_back)) {
        if (look_at(l, frame, &here))
            continue;
        file = hash_of_file(l, &here);
        if (!is_library(l, &here, file)) {
            place[places++] = here;
            hash = mix(hash, hash_of_place(l, &here, file));
            continue;
        }
        if (seen)
            sl_python_code_cache_put_library(seen, l, &here);
    }
    if (!places)
        return 0;
    line = find_text(l, hash, place, places);
    if (seen)
        sl_python_code_cache_put(seen, l, place, line);
    return line;
}

uint32_t sl_python_line(const void *frame, struct sl_python_code_cache *seen)
{
    const struct sl_python_layout *l = &python.layout;
    uint32_t line = 0;

    /* If a text has several frames, the innermost place alone does not determine the text, so the
     * cache is not used. */
    if (python.depth > 1)
        seen = NULL;
    if (seen)
        line = sl_python_code_cache_find(seen, l, frame);
    return line ? line : find_line(l, seen, frame);
}

const void *sl_python_frame(void)
{
    if (!atomic_load_explicit(&python.is_ready, memory_order_acquire))
        return NULL;
    return innermost_frame(&python.layout);
}

/* ---- functions ---- */

/* Returns the position, from 1 on, of the text with which the str ends, or 0. If is_whole is set,
 * the str must be that text. */
static unsigned find_end(const struct sl_python_layout *l, const void *str, const char *const *ends,
                         int is_whole)
{
    struct sl_python_chars chars;

    if (!sl_python_is_a(str, l->str_type))
        return 0;
    sl_python_chars_of(l, str, &chars);
    for (unsigned i = 0; chars.kind == 1 && ends[i]; i++) {
        size_t length = strlen(ends[i]);

        if (is_whole ? chars.length == length : chars.length >= length)
            if (memcmp(chars.data + chars.length - length, ends[i], length) == 0)
                return i + 1;
    }
    return 0;
}

unsigned sl_python_function(const void *frame, const char *const *files,
                            const char *const *functions)
{
    const struct sl_python_layout *l = &python.layout;
    unsigned found = 0;

    for (unsigned i = 0; frame && i < SL_PYTHON_WALK_MAX;
         i++, frame = sl_python_pointer_at(frame, l->frame_back)) {
        const void *code = sl_python_code_of(l, frame);
        unsigned here;

        if (!code)
            continue;
        if (!find_end(l, sl_python_pointer_at(code, l->code_file), files, 0))
            break;
        here = find_end(l, sl_python_pointer_at(code, l->code_name), functions, 1);
        found = here ? here : found;
    }
    return found;
}

/* ---- life ---- */

int sl_python_lines_init(unsigned depth)
{
    int err;

    if (!depth)
        return 0;
    err = sl_python_layout_find(&python.layout);
    if (err)
        return err;
    python.depth = depth < SL_SOURCE_DEPTH_MAX ? depth : SL_SOURCE_DEPTH_MAX;
    /* Release pairs with the acquire in sl_python_line(). */
    atomic_store_explicit(&python.is_ready, 1, memory_order_release);
    return 0;
}

void sl_python_lines_stop(void)
{
    atomic_store_explicit(&python.is_ready, 0, memory_order_relaxed);
}
