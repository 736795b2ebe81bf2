/*
 * correlation.h - keeps a small state for each correlation id, in bounded memory.
 *
 * Correlation ids count up, so the state of consecutive ids is stored together, in pages. A page is
 * *waiting* while a call or an operation of the page waits for its counterpart; otherwise the page
 * is *done*. When memory is used up, the table evicts the page that has been done longest. If no
 * page is done, the table evicts the page that has waited longest.
 *
 * Threads: one owner. Memory: a region that the owner passes to sl_corr_init().
 */
#ifndef SL_CORRELATION_H
#define SL_CORRELATION_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* Number of ids in a page. Pages are small, because calls that are not recorded use up ids,
     * too, and because one waiting id keeps its whole page in memory. */
    SL_CORR_PAGE_IDS = 16
};

/* A slot of zeros means that nothing is known about the id. The owner of the table defines the
 * meaning of the fields. */
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
    uint64_t number; /* number of the page: correlation id / SL_CORR_PAGE_IDS */
    struct sl_corr_page *chain;
    struct sl_corr_page *older, *newer; /* neighbours in the list of waiting pages, or of done
                                         * pages */
    uint32_t waiting;
    struct sl_corr_slot slot[SL_CORR_PAGE_IDS];
};

struct sl_corr_list {
    struct sl_corr_page *oldest, *newest;
};

struct sl_corr_table {
    struct sl_corr_page **bucket;
    uint64_t bucket_mask;
    struct sl_corr_page *page; /* the array of all pages */
    size_t pages, used;
    struct sl_corr_list waiting, done;
    void (*forget)(void *user, struct sl_corr_page *page); /* called before a page is reused */
    void *user;
};

/* The caller guarantees that `memory` is zeroed, and continues to own it. Returns 0, or -EINVAL if
 * `bytes` is too small. */
int sl_corr_init(struct sl_corr_table *t, void *memory, size_t bytes,
                 void (*forget)(void *user, struct sl_corr_page *page), void *user);

/* Returns the slot of an id and its page. If the id has no slot, a page is created for the id, if
 * necessary by evicting an old page. */
struct sl_corr_slot *sl_corr_get(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* Like sl_corr_get(), but returns NULL if the id has no slot. */
struct sl_corr_slot *sl_corr_find(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* sl_corr_wait(): call when an id of this page begins to wait. sl_corr_wait_over(): call when an id
 * of this page no longer waits. */
void sl_corr_wait(struct sl_corr_table *t, struct sl_corr_page *page);
void sl_corr_wait_over(struct sl_corr_table *t, struct sl_corr_page *page);

#endif
