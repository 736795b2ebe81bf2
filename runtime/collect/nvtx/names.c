/*
 * names.c - the domains and names that programs register with NVTX.
 *
 * Threads, memory: see names.h. A thread that adds a name reserves an entry, fills it, and then
 * publishes the entry with release order. Writing the number of the domain's string publishes a
 * domain; setting the entry's flag publishes any other name.
 */
#include "collect/nvtx/names.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/stats.h"
#include "base/text_table.h"
#include "collect/lane/lane.h"

enum {
    NAMES = 16384,
};

struct name {
    struct sl_named name;
    _Atomic uint32_t is_there;
};

static struct {
    struct name name[NAMES];
    _Atomic uint32_t names;
    _Atomic uint32_t domain[SL_LANE_DOMAINS]; /* number of the domain's string; 0: free entry */
} table;

static uint32_t lose(void)
{
    sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return 0;
}

/* ---- domains ---- */

unsigned sl_nvtx_domain(const char *name, size_t length)
{
    uint32_t string = sl_text_table_put(name, length);

    for (unsigned i = 1; string && i < SL_LANE_DOMAINS - 1; i++) {
        uint32_t there = 0;

        /* The release half of one thread's exchange pairs with the acquire half of another thread's
         * exchange, so that the other thread sees the string's text. */
        if (atomic_compare_exchange_strong_explicit(&table.domain[i], &there, string,
                                                    memory_order_acq_rel, memory_order_acquire) ||
            there == string)
            return i;
    }
    if (string)
        lose();
    return SL_LANE_DOMAINS - 1;
}

uint32_t sl_nvtx_domain_name(unsigned domain)
{
    return domain < SL_LANE_DOMAINS
               ? atomic_load_explicit(&table.domain[domain], memory_order_acquire)
               : 0;
}

/* ---- names ---- */

uint32_t sl_nvtx_name(const struct sl_named *name)
{
    uint32_t place = sl_text_table_take_place(&table.names, 1, NAMES);

    if (place == NAMES)
        return lose();
    table.name[place].name = *name;
    /* Release pairs with the acquire in sl_nvtx_name_get(). */
    atomic_store_explicit(&table.name[place].is_there, 1, memory_order_release);
    return place + 1;
}

int sl_nvtx_name_get(uint32_t number, struct sl_named *out)
{
    if (number == 0 || number > NAMES ||
        !atomic_load_explicit(&table.name[number - 1].is_there, memory_order_acquire))
        return -ENOENT;
    *out = table.name[number - 1].name;
    return 0;
}
