/*
 * text_cache.c - caches text by key, under a hard cap.
 *
 * Threads: one owner. Memory: the bucket heads are mapped once. The texts are in an arena, which is
 * dropped as a whole.
 */
#include "write/text_cache.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"

#define BUCKET_BYTES (SL_TEXT_BUCKETS * sizeof(struct sl_text *))

int sl_text_cache_init(struct sl_text_cache *c, size_t cap_bytes)
{
    c->bucket = sl_pages_map(BUCKET_BYTES);
    if (!c->bucket)
        return -ENOMEM;
    c->cap_bytes = cap_bytes;
    sl_arena_init(&c->arena, cap_bytes, 0);
    return 0;
}

void sl_text_cache_destroy(struct sl_text_cache *c)
{
    sl_arena_destroy(&c->arena);
    sl_pages_unmap(c->bucket, BUCKET_BYTES);
}

void sl_text_cache_clear(struct sl_text_cache *c)
{
    sl_arena_destroy(&c->arena);
    sl_arena_init(&c->arena, c->cap_bytes, 0);
    memset(c->bucket, 0, BUCKET_BYTES);
}

struct sl_text *sl_text_cache_add(struct sl_text_cache *c, uint64_t key0, uint64_t key1,
                                  const char *text, size_t length)
{
    const size_t bytes = sizeof(struct sl_text) + length;
    struct sl_text *t = sl_arena_alloc(&c->arena, bytes, _Alignof(struct sl_text));
    struct sl_text **bucket = &c->bucket[sl_text_bucket(key0, key1)];

    if (!t) {
        sl_text_cache_clear(c);
        t = sl_arena_alloc(&c->arena, bytes, _Alignof(struct sl_text));
        if (!t)
            return NULL;
    }
    t->key[0] = key0;
    t->key[1] = key1;
    t->length = (uint32_t)length;
    memcpy(t->text, text, length);
    t->next = *bucket;
    *bucket = t;
    return t;
}
