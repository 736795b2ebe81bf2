/*
 * stream_flags.c - stores the CUPTI flags of all streams ever created, in two bits each.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the pages of flags, which are in
 * a pool of the engine's store (base/store.h).
 */
#include "sync/stream_flags.h"

enum {
    SHARE = 16,
    PAGE_IDS = 1024,
    PAGES_LEAST = 16,
    SLOTS_USUAL = 4 /* number of map slots that are reserved for one key */
};

struct sl_flags_page {
    struct sl_flags_page *newer;
    uint64_t number;
    uint8_t bits[PAGE_IDS / 4];
};

void sl_flags_init(struct sl_flags *f, struct sl_store *store)
{
    const size_t each = sizeof(struct sl_flags_page) + SLOTS_USUAL * sizeof(struct sl_map_slot);

    *f = (struct sl_flags){.most = store->cap_bytes / SHARE / each};
    if (f->most < PAGES_LEAST)
        f->most = PAGES_LEAST;
    sl_pool_init(&f->pool, store, sizeof(struct sl_flags_page));
    sl_map_init(&f->by_number, store);
}

void sl_flags_free(struct sl_flags *f)
{
    sl_pool_free(&f->pool);
    sl_map_free(&f->by_number);
}

static uint64_t number_of(uint32_t context, uint32_t stream)
{
    return ((uint64_t)(context + 1) << 32 | stream) / PAGE_IDS;
}

static void forget_oldest(struct sl_flags *f)
{
    struct sl_flags_page *page = f->oldest;

    sl_map_drop(&f->by_number, page->number);
    if (page->number > f->forgotten)
        f->forgotten = page->number;
    f->oldest = page->newer;
    if (!f->oldest)
        f->newest = NULL;
    sl_pool_put(&f->pool, page);
    f->count--;
}

static struct sl_flags_page *make(struct sl_flags *f, uint64_t number)
{
    struct sl_flags_page *page;

    if (f->count == f->most)
        forget_oldest(f);
    page = sl_map_make(&f->by_number, &f->pool, number);
    if (!page)
        return NULL;
    page->number = number;
    *(f->newest ? &f->newest->newer : &f->oldest) = page;
    f->newest = page;
    f->count++;
    return page;
}

void sl_flags_put(struct sl_flags *f, uint32_t context, uint32_t stream, uint32_t flags)
{
    uint64_t number = number_of(context, stream);
    struct sl_flags_page *page = sl_map_get(&f->by_number, number);
    unsigned shift = stream % 4 * 2;
    uint8_t *bits;

    if (!page)
        page = make(f, number);
    if (!page)
        return;
    bits = &page->bits[stream % PAGE_IDS / 4];
    *bits = (uint8_t)((*bits & ~(3u << shift)) | flags << shift);
}

uint32_t sl_flags_get(const struct sl_flags *f, uint32_t context, uint32_t stream, int *lost)
{
    uint64_t number = number_of(context, stream);
    const struct sl_flags_page *page = sl_map_get(&f->by_number, number);

    *lost = !page && number <= f->forgotten;
    return page ? page->bits[stream % PAGE_IDS / 4] >> (stream % 4 * 2) & 3u : 0;
}
