/*
 * correlation.c - keeps a small state for each correlation id, in bounded memory.
 *
 * Threads: one owner. Memory: the region that the owner passes to sl_corr_init(). It is divided
 * once into buckets and pages.
 */
#include "event/correlation.h"

#include <errno.h>
#include <string.h>

/* With fewer pages, the page that is being filled would be evicted. */
#define PAGES_MIN 4

static void list_append(struct sl_corr_list *list, struct sl_corr_page *page)
{
    page->older = list->newest;
    page->newer = NULL;
    if (list->newest)
        list->newest->newer = page;
    else
        list->oldest = page;
    list->newest = page;
}

static void list_remove(struct sl_corr_list *list, struct sl_corr_page *page)
{
    if (page->older)
        page->older->newer = page->newer;
    else
        list->oldest = page->newer;
    if (page->newer)
        page->newer->older = page->older;
    else
        list->newest = page->older;
}

int sl_corr_init(struct sl_corr_table *t, void *memory, size_t bytes,
                 void (*forget)(void *user, struct sl_corr_page *page), void *user)
{
    size_t buckets = 1, bucket_bytes;

    while (buckets * (sizeof(struct sl_corr_page) + 2 * sizeof(void *)) < bytes)
        buckets *= 2;
    bucket_bytes = buckets * sizeof(void *);
    if (bytes < bucket_bytes + PAGES_MIN * sizeof(struct sl_corr_page))
        return -EINVAL;
    memset(t, 0, sizeof(*t));
    t->bucket = memory;
    t->bucket_mask = buckets - 1;
    t->page = (struct sl_corr_page *)((char *)memory + bucket_bytes);
    t->pages = (bytes - bucket_bytes) / sizeof(struct sl_corr_page);
    t->forget = forget;
    t->user = user;
    return 0;
}

static void unchain(struct sl_corr_table *t, struct sl_corr_page *page)
{
    struct sl_corr_page **at = &t->bucket[page->number & t->bucket_mask];

    while (*at != page)
        at = &(*at)->chain;
    *at = page->chain;
}

/* Evicts a page, with the state of all its ids, in the order that correlation.h describes. */
static struct sl_corr_page *oldest_page(struct sl_corr_table *t)
{
    struct sl_corr_page *page = t->done.oldest;

    if (page) {
        list_remove(&t->done, page);
    } else {
        page = t->waiting.oldest;
        list_remove(&t->waiting, page);
    }
    t->forget(t->user, page);
    unchain(t, page);
    return page;
}

static struct sl_corr_page *take_page(struct sl_corr_table *t)
{
    struct sl_corr_page *page = t->used < t->pages ? &t->page[t->used++] : oldest_page(t);

    /* A new page is zero already, but we write zeros nevertheless, because the first access to the
     * page must not be a read. After a read the kernel maps its shared zero page. A later write
     * then makes the kernel replace this mapping, and for that the kernel interrupts every
     * processor that runs the job. */
    memset(page->slot, 0, sizeof(page->slot));
    return page;
}

struct sl_corr_slot *sl_corr_find(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page)
{
    uint64_t number = id / SL_CORR_PAGE_IDS;
    struct sl_corr_page *at = t->bucket[number & t->bucket_mask];

    while (at && at->number != number)
        at = at->chain;
    if (!at)
        return NULL;
    *page = at;
    return &at->slot[id % SL_CORR_PAGE_IDS];
}

struct sl_corr_slot *sl_corr_get(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page)
{
    struct sl_corr_slot *slot = sl_corr_find(t, id, page);
    struct sl_corr_page *made;

    if (slot)
        return slot;
    made = take_page(t);
    made->number = id / SL_CORR_PAGE_IDS;
    made->waiting = 0;
    made->chain = t->bucket[made->number & t->bucket_mask];
    t->bucket[made->number & t->bucket_mask] = made;
    list_append(&t->done, made);
    *page = made;
    return &made->slot[id % SL_CORR_PAGE_IDS];
}

void sl_corr_wait(struct sl_corr_table *t, struct sl_corr_page *page)
{
    if (page->waiting++ == 0) {
        list_remove(&t->done, page);
        list_append(&t->waiting, page);
    }
}

void sl_corr_wait_over(struct sl_corr_table *t, struct sl_corr_page *page)
{
    if (--page->waiting == 0) {
        list_remove(&t->waiting, page);
        list_append(&t->done, page);
    }
}
