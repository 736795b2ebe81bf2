/*
 * names.c - what NVTX is told once: registered strings, domains, names of things.
 *
 * Threads, memory: see names.h. Whoever adds takes a place first and fills it, then publishes
 * it by a store that releases: in the index of strings, in the table of domains, in the name's own
 * flag.
 */
#include "collect/nvtx/names.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/pages.h"
#include "base/stats.h"
#include "collect/lane/lane.h"

enum {
    STRINGS = 65536,
    INDEX = 2 * STRINGS, /* a power of two */
    TEXT_BYTES = 4 << 20,
    NAMES = 16384,
};

struct string {
    uint32_t offset, length;
};

struct name {
    struct sl_nvtx_name name;
    _Atomic uint32_t is_there;
};

static struct {
    struct string *string;
    _Atomic uint32_t *index; /* numbers of strings; 0 = free */
    char *text;
    struct name *name;
    _Atomic uint32_t strings, text_used, names;
    _Atomic uint32_t domain[SL_LANE_DOMAINS]; /* string; 0 = free */
    _Atomic int is_ready;
} table;

static int is_ready(void)
{
    return atomic_load_explicit(&table.is_ready, memory_order_acquire);
}

int sl_nvtx_names_init(void)
{
    if (is_ready())
        return -EALREADY;
    table.string = sl_pages_map(STRINGS * sizeof(*table.string));
    table.index = sl_pages_map(INDEX * sizeof(*table.index));
    table.text = sl_pages_map(TEXT_BYTES);
    table.name = sl_pages_map(NAMES * sizeof(*table.name));
    if (!table.string || !table.index || !table.text || !table.name)
        goto fail;
    /* Release pairs with the acquire in is_ready(). */
    atomic_store_explicit(&table.is_ready, 1, memory_order_release);
    return 0;

fail:
    sl_pages_unmap(table.string, STRINGS * sizeof(*table.string));
    sl_pages_unmap(table.index, INDEX * sizeof(*table.index));
    sl_pages_unmap(table.text, TEXT_BYTES);
    sl_pages_unmap(table.name, NAMES * sizeof(*table.name));
    return -ENOMEM;
}

static uint32_t lose(void)
{
    sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return 0;
}

/* One of `count` places; `count`: there is none. */
static uint32_t take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count)
{
    uint32_t at = atomic_load_explicit(used, memory_order_relaxed);

    do {
        if (wanted > count - at)
            return count;
    } while (!atomic_compare_exchange_weak_explicit(used, &at, at + wanted, memory_order_relaxed,
                                                    memory_order_relaxed));
    return at;
}

/* ---- strings ---- */

static uint32_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static int is_text(uint32_t string, const char *text, size_t length)
{
    const struct string *s = &table.string[string - 1];

    return s->length == length && memcmp(table.text + s->offset, text, length) == 0;
}

/* Not in the index yet. 0: no room. */
static uint32_t copy_text(const char *text, size_t length)
{
    uint32_t place = take_place(&table.strings, 1, STRINGS), offset;

    if (place == STRINGS)
        return lose();
    offset = take_place(&table.text_used, (uint32_t)length + 1, TEXT_BYTES);
    if (offset == TEXT_BYTES)
        return lose();
    memcpy(table.text + offset, text, length); /* the NUL is there */
    table.string[place] = (struct string){offset, (uint32_t)length};
    return place + 1;
}

uint32_t sl_nvtx_string_known(const char *text, size_t length)
{
    uint32_t there;

    if (!is_ready())
        return 0;
    for (uint32_t at = hash_of(text, length);; at++) {
        /* Acquire as in sl_nvtx_string(). */
        there = atomic_load_explicit(&table.index[at % INDEX], memory_order_acquire);
        if (!there || is_text(there, text, length))
            return there;
    }
}

uint32_t sl_nvtx_string(const char *text, size_t length)
{
    uint32_t at, mine = 0, there;

    if (!is_ready())
        return lose();
    if (length > SL_LANE_TEXT_MAX)
        length = SL_LANE_TEXT_MAX;
    for (at = hash_of(text, length);; at++) {
        _Atomic uint32_t *slot = &table.index[at % INDEX];

        /* Acquire pairs with the release below: the text behind the number. */
        there = atomic_load_explicit(slot, memory_order_acquire);
        if (there) {
            if (is_text(there, text, length))
                return there;
            continue;
        }
        if (!mine)
            mine = copy_text(text, length);
        if (!mine)
            return 0;
        if (atomic_compare_exchange_strong_explicit(slot, &there, mine, memory_order_acq_rel,
                                                    memory_order_acquire))
            return mine;
        /* Another thread was faster: perhaps with the same text, then ours is left unused. */
        if (is_text(there, text, length))
            return there;
    }
}

const char *sl_nvtx_string_get(uint32_t string, size_t *length)
{
    if (!is_ready() || string == 0 ||
        string > atomic_load_explicit(&table.strings, memory_order_relaxed))
        return NULL;
    if (length)
        *length = table.string[string - 1].length;
    return table.text + table.string[string - 1].offset;
}

/* ---- domains ---- */

unsigned sl_nvtx_domain(const char *name, size_t length)
{
    uint32_t string = sl_nvtx_string(name, length);

    for (unsigned i = 1; string && i < SL_LANE_DOMAINS - 1; i++) {
        uint32_t there = 0;

        /* Both orders pair with each other: the string that the number stands for. */
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

uint32_t sl_nvtx_name(const struct sl_nvtx_name *name)
{
    uint32_t place = is_ready() ? take_place(&table.names, 1, NAMES) : NAMES;

    if (place == NAMES)
        return lose();
    table.name[place].name = *name;
    /* Release pairs with the acquire in sl_nvtx_name_get(). */
    atomic_store_explicit(&table.name[place].is_there, 1, memory_order_release);
    return place + 1;
}

int sl_nvtx_name_get(uint32_t number, struct sl_nvtx_name *out)
{
    if (!is_ready() || number == 0 || number > NAMES ||
        !atomic_load_explicit(&table.name[number - 1].is_there, memory_order_acquire))
        return -ENOENT;
    *out = table.name[number - 1].name;
    return 0;
}
