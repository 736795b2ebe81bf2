/*
 * correlation.h - a small state for each correlation id, in bounded memory.
 *
 * Correlation ids count up, so state is kept in pages of consecutive ids. A page is *waiting* while
 * a call or an operation in it waits for its counterpart; otherwise the page is *done*. When memory
 * is used up, the page that has been done longest is evicted; if none is done, the page that has
 * waited longest.
 *
 * Threads: one owner. Memory: a region given by the owner.
 */
#ifndef SL_CORRELATION_H
#define SL_CORRELATION_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* Small: calls that are not recorded use up ids too, and a waiting id keeps its whole page. */
    SL_CORR_PAGE_IDS = 16
};

/* All zero: nothing is known of this id. The owner defines what the fields mean. */
struct sl_corr_slot {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t place;
    uint32_t mark;
    uint32_t extra;
    uint8_t device;
    uint16_t state;
};

struct sl_corr_page {
    uint64_t number; /* correlation / SL_CORR_PAGE_IDS */
    struct sl_corr_page *chain;
    struct sl_corr_page *older, *newer; /* in the list of waiting or of done pages */
    uint32_t waiting;
    struct sl_corr_slot slot[SL_CORR_PAGE_IDS];
};

struct sl_corr_list {
    struct sl_corr_page *oldest, *newest;
};

struct sl_corr_table {
    struct sl_corr_page **bucket;
    uint64_t bucket_mask;
    struct sl_corr_page *page; /* all of them */
    size_t pages, used;
    struct sl_corr_list waiting, done;
    void (*forget)(void *user, struct sl_corr_page *page); /* called before a page is reused */
    void *user;
};

/* `memory` is zeroed and stays the caller's. 0; -EINVAL: room for too few pages. */
int sl_corr_init(struct sl_corr_table *t, void *memory, size_t bytes,
                 void (*forget)(void *user, struct sl_corr_page *page), void *user);

/* Returns the slot of an id and its page. Makes them if needed, by evicting an old page. */
struct sl_corr_slot *sl_corr_get(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* The same without making them; NULL: there are none. */
struct sl_corr_slot *sl_corr_find(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* One id of this page begins, or stops, to wait. */
void sl_corr_wait(struct sl_corr_table *t, struct sl_corr_page *page);
void sl_corr_wait_over(struct sl_corr_table *t, struct sl_corr_page *page);

#endif
