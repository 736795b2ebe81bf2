/*
 * correlation.h - a little state for each correlation id, in bounded memory.
 *
 * Correlation ids count up, so state is kept in pages of consecutive ids. A page in which
 * somebody still waits for his other half is *waiting*, any other is *done*. When memory is used
 * up, the page that has been done longest is forgotten, and only when there is none the one that
 * has waited longest.
 *
 * Threads: one owner. Memory: a region given by the owner.
 */
#ifndef SL_CORRELATION_H
#define SL_CORRELATION_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* Few: a job's calls that are not recorded use up ids too, and one id that waits keeps its page
     * whole. */
    SL_CORR_PAGE_IDS = 16
};

/* All zero: nothing known of this id. What the fields mean is the owner's. */
struct sl_corr_slot {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t place;
    uint32_t mark;
    uint32_t extra;
    uint16_t device;
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
    void (*forget)(void *user, struct sl_corr_page *page); /* before a page is used again */
    void *user;
};

/* `memory` is zeroed and stays the caller's. 0, or -EINVAL when it holds too few pages. */
int sl_corr_init(struct sl_corr_table *t, void *memory, size_t bytes,
                 void (*forget)(void *user, struct sl_corr_page *page), void *user);

/* The slot of an id and its page; made, at the cost of an old page, when there is none. */
struct sl_corr_slot *sl_corr_get(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* The same, or NULL when there is none. */
struct sl_corr_slot *sl_corr_find(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* Somebody of this page begins, or ends, to wait. */
void sl_corr_wait(struct sl_corr_table *t, struct sl_corr_page *page);
void sl_corr_wait_over(struct sl_corr_table *t, struct sl_corr_page *page);

#endif
