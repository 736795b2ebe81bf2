/*
 * id_flags.c - a paged map of ids to four bits, and a cache of recent ones.
 *
 * Threads, memory: see id_flags.h.
 */
#include "check/id_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_IDS    8192u
#define PAGE_BYTES  (PAGE_IDS / 2)
#define RECENT_IDS  65536u
#define HASH_FACTOR 0x9e3779b97f4a7c15ull

struct page {
    uint64_t number; /* id / PAGE_IDS */
    uint8_t *bits;   /* NULL: free slot */
};

struct recent {
    uint64_t id;
    uint64_t at; /* place of the id's first row */
    int64_t first_ns, second_ns;
};

struct sl_id_flags {
    struct page *page; /* open addressing */
    size_t slots;      /* power of two, at least twice `pages_max` */
    size_t pages, pages_max;
    struct page *last;     /* the page used last, because ids come in runs */
    struct recent *recent; /* indexed by the id's low bits */
    uint64_t unchecked;
};

int sl_id_flags_create(struct sl_id_flags **out, size_t cap_bytes)
{
    struct sl_id_flags *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->pages_max = cap_bytes / PAGE_BYTES;
    p->slots = 16;
    while (p->slots < 2 * p->pages_max)
        p->slots *= 2;
    p->page = calloc(p->slots, sizeof(*p->page));
    if (!p->page)
        goto fail_page;
    p->recent = calloc(RECENT_IDS, sizeof(*p->recent));
    if (!p->recent)
        goto fail_recent;
    *out = p;
    return 0;

fail_recent:
    free(p->page);
fail_page:
    free(p);
    return -ENOMEM;
}

void sl_id_flags_destroy(struct sl_id_flags *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->slots; i++)
        free(p->page[i].bits);
    free(p->page);
    free(p->recent);
    free(p);
}

/* Finds the slot of a page, or the free slot for it. */
static struct page *find_page(const struct sl_id_flags *p, uint64_t number)
{
    size_t i = (size_t)((number * HASH_FACTOR) >> 32) & (p->slots - 1);

    while (p->page[i].bits && p->page[i].number != number)
        i = (i + 1) & (p->slots - 1);
    return &p->page[i];
}

static unsigned get_bits(const struct page *page, uint64_t id)
{
    unsigned index = (unsigned)(id % PAGE_IDS);

    return (page->bits[index / 2] >> (index % 2 * 4)) & 15u;
}

static struct recent *find_recent(const struct sl_id_flags *p, uint64_t id)
{
    return &p->recent[id % RECENT_IDS];
}

int sl_id_flags_add(struct sl_id_flags *p, uint64_t id, unsigned flags, int64_t start_ns,
                    uint64_t at)
{
    uint64_t number = id / PAGE_IDS;
    struct page *page = p->last;
    struct recent *recent = find_recent(p, id);
    unsigned before, index = (unsigned)(id % PAGE_IDS);

    if (!page || page->number != number) {
        page = find_page(p, number);
        if (!page->bits) {
            if (p->pages == p->pages_max || !(page->bits = calloc(1, PAGE_BYTES))) {
                p->unchecked++;
                return -ENOSPC;
            }
            page->number = number;
            p->pages++;
        }
        p->last = page;
    }
    before = get_bits(page, id);
    if ((flags & SL_PAIR_FIRST) && (before & SL_PAIR_FIRST))
        flags |= SL_PAIR_TWICE;
    page->bits[index / 2] |= (uint8_t)(flags << (index % 2 * 4));
    if (recent->id != id || before == 0)
        *recent = (struct recent){id, at, SL_PAIR_NO_TIME, SL_PAIR_NO_TIME};
    if ((flags & SL_PAIR_FIRST) && recent->first_ns == SL_PAIR_NO_TIME)
        recent->first_ns = start_ns;
    if ((flags & SL_PAIR_SECOND) &&
        (recent->second_ns == SL_PAIR_NO_TIME || start_ns < recent->second_ns))
        recent->second_ns = start_ns;
    return (int)before;
}

unsigned sl_id_flags_flags(const struct sl_id_flags *p, uint64_t id)
{
    const struct page *page = find_page(p, id / PAGE_IDS);

    return page->bits ? get_bits(page, id) : 0;
}

int64_t sl_id_flags_first_ns(const struct sl_id_flags *p, uint64_t id)
{
    const struct recent *recent = find_recent(p, id);

    return recent->id == id ? recent->first_ns : SL_PAIR_NO_TIME;
}

int64_t sl_id_flags_second_ns(const struct sl_id_flags *p, uint64_t id)
{
    const struct recent *recent = find_recent(p, id);

    return recent->id == id ? recent->second_ns : SL_PAIR_NO_TIME;
}

uint64_t sl_id_flags_count(const struct sl_id_flags *p, unsigned flags, uint64_t *id, uint64_t *at)
{
    uint64_t count = 0, lowest = UINT64_MAX;

    for (size_t i = 0; i < p->slots; i++) {
        const struct page *page = &p->page[i];

        for (uint64_t k = 0; page->bits && k < PAGE_IDS; k++) {
            uint64_t this_id = page->number * PAGE_IDS + k;

            if ((get_bits(page, this_id) & (SL_PAIR_FIRST | SL_PAIR_SECOND)) != flags)
                continue;
            count++;
            if (this_id < lowest)
                lowest = this_id;
        }
    }
    if (count) {
        const struct recent *recent = find_recent(p, lowest);

        *id = lowest;
        *at = recent->id == lowest ? recent->at : UINT64_MAX;
    }
    return count;
}

uint64_t sl_id_flags_unchecked(const struct sl_id_flags *p)
{
    return p->unchecked;
}
