/*
 * text_cache.h - caches text by key, under a hard cap.
 *
 * A training job writes the same few thousand kinds of lines for weeks. The constant part of a line
 * is made once and kept here. When the cap is reached, all texts are dropped, and each text is made
 * again when it is needed. So the cache needs no bookkeeping on the hot path, and takes only
 * milliseconds to rebuild.
 *
 * Threads: one owner. Memory: an arena that belongs to the cache.
 */
#ifndef SL_TEXT_CACHE_H
#define SL_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    SL_TEXT_BUCKETS = 16384
};

enum {
    SL_ROW_FIELDS = 8,
    SL_ROW_TAIL = 200
};

/* Position and content of the last row that began with a text. write/kineto/match.c compares the
 * next such row with this row. */
struct sl_row_marks {
    uint64_t at;    /* position of the row in the file's text */
    uint32_t frame; /* 0: none */
    /* `tail_length`: length of the part of the row after the text. `fields`: number of fields in
     * that part. */
    uint16_t tail_length, fields;
    uint16_t field[SL_ROW_FIELDS][2]; /* start and end of each number in the tail */
    char tail[SL_ROW_TAIL];
};

struct sl_text {
    struct sl_text *next;
    uint64_t key[2];
    /* number of the last file in which this text was used; the owner of the cache sets it */
    uint32_t file;
    uint32_t length;
    struct sl_row_marks row;
    char text[];
};

struct sl_text_cache {
    struct sl_text **bucket;
    struct sl_arena arena;
    size_t cap_bytes;
};

/* Returns 0 or -ENOMEM. */
int sl_text_cache_init(struct sl_text_cache *c, size_t cap_bytes);
void sl_text_cache_destroy(struct sl_text_cache *c);

/* Drops all text. */
void sl_text_cache_clear(struct sl_text_cache *c);

/* Adds a copy of `text`, with `file` 0. Results of earlier calls are not valid any more after this
 * call. Returns NULL if the text is too long for the cache. */
struct sl_text *sl_text_cache_add(struct sl_text_cache *c, uint64_t key0, uint64_t key1,
                                  const char *text, size_t length);

static inline size_t sl_text_bucket(uint64_t key0, uint64_t key1)
{
    uint64_t h = (key0 ^ key1 * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

    return (h >> 40) % SL_TEXT_BUCKETS;
}

static inline struct sl_text *sl_text_cache_find(const struct sl_text_cache *c, uint64_t key0,
                                                 uint64_t key1)
{
    struct sl_text *t = c->bucket[sl_text_bucket(key0, key1)];

    while (t && (t->key[0] != key0 || t->key[1] != key1))
        t = t->next;
    return t;
}

#endif
