/*
 * id_flags.c - a paged map of ids to four bits, and a cache of the times of recent ids.
 *
 * Threads, memory: see id_flags.h.
 */
#include "check/id_flags.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_IDS   8192u
#define PAGE_BYTES (PAGE_IDS / 2)
#define RECENT_IDS 65536u

int sl_id_flags_init(struct sl_id_flags *p, size_t cap_bytes)
{
    p->pages_max = cap_bytes / PAGE_BYTES;
    p->store.cap_bytes = SIZE_MAX; /* only the number of pages limits the memory */
    sl_map_init(&p->page, &p->store);
    p->recent = calloc(RECENT_IDS, sizeof(*p->recent));
    return p->recent ? 0 : -ENOMEM;
}

void sl_id_flags_free(struct sl_id_flags *p)
{
    for (size_t i = 0; i < p->page.slots; i++)
        free((void *)(uintptr_t)p->page.slot[i].value);
    sl_map_free(&p->page);
    free(p->recent);
}

static uint64_t number_of(uint64_t id)
{
    return id / PAGE_IDS + 1;
}

static unsigned get_bits(const uint8_t *page, uint64_t id)
{
    unsigned index = (unsigned)(id % PAGE_IDS);

    return (page[index / 2] >> (index % 2 * 4)) & 15u;
}

/* Returns the page (the flags of 8192 ids) with this number, and allocates the page if it is
 * missing. Returns NULL if there is no memory. */
static uint8_t *get_page(struct sl_id_flags *p, uint64_t number)
{
    uint8_t *page = sl_map_get(&p->page, number);
    uint64_t *place;

    if (page || p->page.used == p->pages_max)
        return page;
    page = calloc(1, PAGE_BYTES);
    place = page ? sl_map_put(&p->page, number) : NULL;
    if (!place) {
        free(page);
        return NULL;
    }
    *place = (uintptr_t)page;
    return page;
}

static struct sl_id_times *find_recent(const struct sl_id_flags *p, uint64_t id)
{
    return &p->recent[id % RECENT_IDS];
}

int sl_id_flags_add(struct sl_id_flags *p, uint64_t id, unsigned flags, int64_t start_ns,
                    uint64_t at)
{
    uint64_t number = number_of(id);
    uint8_t *page = number == p->last_number ? p->last : get_page(p, number);
    struct sl_id_times *recent = find_recent(p, id);
    unsigned before, index = (unsigned)(id % PAGE_IDS);

    if (!page) {
        p->unchecked++;
        return -ENOSPC;
    }
    p->last_number = number;
    p->last = page;
    before = get_bits(page, id);
    if ((flags & SL_PAIR_FIRST) && (before & SL_PAIR_FIRST))
        flags |= SL_PAIR_TWICE;
    page[index / 2] |= (uint8_t)(flags << (index % 2 * 4));
    if (recent->id != id || before == 0)
        *recent = (struct sl_id_times){id, at, SL_PAIR_NO_TIME, SL_PAIR_NO_TIME};
    if ((flags & SL_PAIR_FIRST) && recent->first_ns == SL_PAIR_NO_TIME)
        recent->first_ns = start_ns;
    if ((flags & SL_PAIR_SECOND) &&
        (recent->second_ns == SL_PAIR_NO_TIME || start_ns < recent->second_ns))
        recent->second_ns = start_ns;
    return (int)before;
}

unsigned sl_id_flags_flags(const struct sl_id_flags *p, uint64_t id)
{
    const uint8_t *page = sl_map_get(&p->page, number_of(id));

    return page ? get_bits(page, id) : 0;
}

int64_t sl_id_flags_first_ns(const struct sl_id_flags *p, uint64_t id)
{
    const struct sl_id_times *recent = find_recent(p, id);

    return recent->id == id ? recent->first_ns : SL_PAIR_NO_TIME;
}

int64_t sl_id_flags_second_ns(const struct sl_id_flags *p, uint64_t id)
{
    const struct sl_id_times *recent = find_recent(p, id);

    return recent->id == id ? recent->second_ns : SL_PAIR_NO_TIME;
}

uint64_t sl_id_flags_count(const struct sl_id_flags *p, unsigned flags, uint64_t *id, uint64_t *at)
{
    uint64_t count = 0, lowest = UINT64_MAX;

    for (size_t i = 0; i < p->page.slots; i++) {
        const struct sl_map_slot *slot = &p->page.slot[i];
        const uint8_t *page = (const uint8_t *)(uintptr_t)slot->value;

        for (uint64_t k = 0; page && k < PAGE_IDS; k++) {
            uint64_t this_id = (slot->key - 1) * PAGE_IDS + k;

            if ((get_bits(page, this_id) & (SL_PAIR_FIRST | SL_PAIR_SECOND)) != flags)
                continue;
            count++;
            if (this_id < lowest)
                lowest = this_id;
        }
    }
    if (count) {
        const struct sl_id_times *recent = find_recent(p, lowest);

        *id = lowest;
        *at = recent->id == lowest ? recent->at : UINT64_MAX;
    }
    return count;
}
