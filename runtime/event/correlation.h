/*
 * correlation.h - keeps a small state for each correlation id, in bounded memory.
 *
 * Correlation ids count up, so state is kept in pages of consecutive ids. A page is *waiting* while
 * a call or an operation in it waits for its counterpart; otherwise the page is *done*. When memory
 * is used up, the page that has been done longest is evicted. If no page is done, the page that has
 * waited longest is.
 *
 * Threads: one owner. Memory: a region given by the owner.
 */
#ifndef SL_CORRELATION_H
#define SL_CORRELATION_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* A page is small, because calls that are not recorded use up ids too, and because one waiting
     * id keeps its whole page in memory. */
    SL_CORR_PAGE_IDS = 16
};

/* A slot of zeros means that nothing is known about the id. The owner of the table gives the fields
 * their meaning. */
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
    struct sl_corr_page *page; /* all of them */
    size_t pages, used;
    struct sl_corr_list waiting, done;
    void (*forget)(void *user, struct sl_corr_page *page); /* called before a page is reused */
    void *user;
};

/* `memory` must be zeroed and still belongs to the caller. Returns 0, or -EINVAL if it is too
 * small. */
int sl_corr_init(struct sl_corr_table *t, void *memory, size_t bytes,
                 void (*forget)(void *user, struct sl_corr_page *page), void *user);

/* Returns the slot of an id and its page. Makes them if needed, by evicting an old page. */
struct sl_corr_slot *sl_corr_get(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* The same, but returns NULL if the id has no slot. */
struct sl_corr_slot *sl_corr_find(struct sl_corr_table *t, uint64_t id, struct sl_corr_page **page);

/* Call when an id of this page begins to wait, and when it ends to wait. */
void sl_corr_wait(struct sl_corr_table *t, struct sl_corr_page *page);
void sl_corr_wait_over(struct sl_corr_table *t, struct sl_corr_page *page);

#endif
