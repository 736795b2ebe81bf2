/*
 * code_cache.h - the code that a thread has run lately, and which lines its places are.
 *
 * What comes again, as nearly all does, is known again by a few comparisons instead of by a hash of
 * all that tells one place in the code from another (collect/python/frames.c). Nothing is taken on
 * trust: the memory of code that was freed is used again.
 *
 * Threads: the one whose frames these are. Memory: the caller's.
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

/* One for each thread, or one after the other; of zeros at first. */
struct sl_python_code_cache {
    /* Code in files of libraries; many of its frames may lie between an operator and the user's. */
    struct {
        const void *code;
        uint64_t file; /* hash of its text, as are the following */
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

/* The line of the innermost frame that is no library's; 0: one of the frames on the way to it, or
 * its place, was not seen lately. */
uint32_t sl_python_code_cache_find(const struct sl_python_code_cache *seen,
                                   const struct sl_python_layout *l, const void *frame);

/* A place of the user's, which has this line. */
void sl_python_code_cache_put(struct sl_python_code_cache *seen, const struct sl_python_layout *l,
                              const struct sl_python_place *p, uint32_t line);

/* A place that is in a library. */
void sl_python_code_cache_put_library(struct sl_python_code_cache *seen,
                                      const struct sl_python_layout *l,
                                      const struct sl_python_place *p);

#endif
