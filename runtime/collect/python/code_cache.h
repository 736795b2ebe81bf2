/*
 * code_cache.h - stores the code objects that a thread ran recently, and source lines within them.
 *
 * A thread runs nearly all its code repeatedly. A few comparisons then recognise a code object,
 * which is cheaper than the hash over everything that identifies a place in the code
 * (collect/python/frames.c). The address alone does not identify a code object, because CPython
 * reuses the memory of freed code objects.
 *
 * Threads: the thread that runs the frames. Memory: the caller's.
 */
#ifndef SL_PYTHON_CODE_CACHE_H
#define SL_PYTHON_CODE_CACHE_H

#include <stdint.h>

enum {
    SL_PYTHON_CODE_CACHE_LIBRARY = 128, /* the first three constants are numbers of slots */
    SL_PYTHON_CODE_CACHE_CODES = 8,
    SL_PYTHON_CODE_CACHE_LINES = 16,
    SL_PYTHON_CODE_CACHE_TABLE = 512, /* longest line table that is cached, in bytes */
};

/* Each cache is used by one thread at a time. A new cache is all zeros. */
struct sl_python_code_cache {
    /* Code objects in library files. Many frames of such code may lie between an operator and the
     * user's code. */
    struct {
        const void *code;
        uint64_t file; /* hash of the characters of the file's path, like the other hashes below */
    } library[SL_PYTHON_CODE_CACHE_LIBRARY];
    struct sl_python_code_cache_code {
        const void *code;
        uint64_t file, name;
        uint64_t table_bytes;
        uint32_t version;
        int first_line;
        struct {
            uint32_t offset, line; /* offset of the instruction, and its line; line 0: none */
        } place[SL_PYTHON_CODE_CACHE_LINES];
        uint8_t table[SL_PYTHON_CODE_CACHE_TABLE];
    } code[SL_PYTHON_CODE_CACHE_CODES];
};

struct sl_python_layout;
struct sl_python_place;

/* Returns the line of the innermost frame outside of libraries. Returns 0 if the place of this
 * frame, or of a frame that it has called, is not cached. */
uint32_t sl_python_code_cache_find(const struct sl_python_code_cache *seen,
                                   const struct sl_python_layout *l, const void *frame);

/* Caches the line of a place in user code. */
void sl_python_code_cache_put(struct sl_python_code_cache *seen, const struct sl_python_layout *l,
                              const struct sl_python_place *p, uint32_t line);

/* Caches that a place is in library code. */
void sl_python_code_cache_put_library(struct sl_python_code_cache *seen,
                                      const struct sl_python_layout *l,
                                      const struct sl_python_place *p);

#endif
