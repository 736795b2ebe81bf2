/*
 * code_cache.h - remembers the code that a thread ran recently, and the lines of its places.
 *
 * Nearly all code comes again. A few comparisons then recognise it, instead of a hash of everything
 * that identifies a place (collect/python/frames.c). An address alone proves nothing, because
 * CPython reuses the memory of freed code.
 *
 * Threads: the thread that runs the frames. Memory: the caller's.
 */
#ifndef SL_PYTHON_CODE_CACHE_H
#define SL_PYTHON_CODE_CACHE_H

#include <stdint.h>

enum {
    SL_PYTHON_CODE_CACHE_LIBRARY = 128, /* powers of two */
    SL_PYTHON_CODE_CACHE_CODES = 8,
    SL_PYTHON_CODE_CACHE_LINES = 16,
    SL_PYTHON_CODE_CACHE_TABLE = 512, /* bytes */
};

/* One per thread, or used by one thread after the other; initially all zeros. */
struct sl_python_code_cache {
    /* Code in library files. Many of its frames may lie between an operator and the user's code. */
    struct {
        const void *code;
        uint64_t file; /* hash of the file's path; hashes below are of their texts too */
    } library[SL_PYTHON_CODE_CACHE_LIBRARY];
    struct sl_python_code_cache_code {
        const void *code;
        uint64_t file, name;
        uint64_t table_bytes;
        uint32_t version;
        int first_line;
        struct {
            uint32_t offset, line; /* line 0: none */
        } place[SL_PYTHON_CODE_CACHE_LINES];
        uint8_t table[SL_PYTHON_CODE_CACHE_TABLE];
    } code[SL_PYTHON_CODE_CACHE_CODES];
};

struct sl_python_layout;
struct sl_python_place;

/* The line of the innermost frame outside of libraries. 0: the place, or a frame on the way, is not
 * cached. */
uint32_t sl_python_code_cache_find(const struct sl_python_code_cache *seen,
                                   const struct sl_python_layout *l, const void *frame);

/* Caches a place in user code, which has this line. */
void sl_python_code_cache_put(struct sl_python_code_cache *seen, const struct sl_python_layout *l,
                              const struct sl_python_place *p, uint32_t line);

/* Caches a place in a library. */
void sl_python_code_cache_put_library(struct sl_python_code_cache *seen,
                                      const struct sl_python_layout *l,
                                      const struct sl_python_place *p);

#endif
