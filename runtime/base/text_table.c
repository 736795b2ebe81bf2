/*
 * text_table.c - stores each text once, in one table for the process, and gives it a number.
 *
 * Threads, memory: see text_table.h. A thread that adds a text reserves an entry, fills it, and
 * then publishes the entry's number in the index with release order.
 */
#include "base/text_table.h"

#include <stdatomic.h>
#include <string.h>

#include "base/stats.h"

enum {
    TEXTS = 65536,
    INDEX = 2 * TEXTS, /* number of index slots; a power of two */
    BYTES = 4 << 20,
};

struct text {
    uint32_t offset, length;
};

static struct {
    struct text entry[TEXTS];
    _Atomic uint32_t index[INDEX]; /* hash index with numbers of texts; 0: free slot */
    char bytes[BYTES];
    _Atomic uint32_t texts, bytes_used;
} table;

static uint32_t lose(void)
{
    sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return 0;
}

uint32_t sl_text_table_take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count)
{
    uint32_t at = atomic_load_explicit(used, memory_order_relaxed);

    do {
        if (wanted > count - at)
            return count;
    } while (!atomic_compare_exchange_weak_explicit(used, &at, at + wanted, memory_order_relaxed,
                                                    memory_order_relaxed));
    return at;
}

static uint32_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static int is_text(uint32_t number, const char *text, size_t length)
{
    const struct text *s = &table.entry[number - 1];

    return s->length == length && memcmp(table.bytes + s->offset, text, length) == 0;
}

/* Copies a text that is not in the index yet. Returns its number, 0 if there is no room. */
static uint32_t copy_text(const char *text, size_t length)
{
    uint32_t place = sl_text_table_take_place(&table.texts, 1, TEXTS), offset;

    if (place == TEXTS)
        return lose();
    offset = sl_text_table_take_place(&table.bytes_used, (uint32_t)length + 1, BYTES);
    if (offset == BYTES)
        return lose();
    memcpy(table.bytes + offset, text, length); /* static memory is zero, so the text already ends
                                                 * in NUL */
    table.entry[place] = (struct text){offset, (uint32_t)length};
    return place + 1;
}

uint32_t sl_text_table_find(const char *text, size_t length)
{
    uint32_t there;

    for (uint32_t at = hash_of(text, length);; at++) {
        /* Acquire pairs with the release in sl_text_table_put(). */
        there = atomic_load_explicit(&table.index[at % INDEX], memory_order_acquire);
        if (!there || is_text(there, text, length))
            return there;
    }
}

uint32_t sl_text_table_put(const char *text, size_t length)
{
    uint32_t at, mine = 0, there;

    if (length > SL_TEXT_MAX)
        length = SL_TEXT_MAX;
    for (at = hash_of(text, length);; at++) {
        _Atomic uint32_t *slot = &table.index[at % INDEX];

        /* Acquire pairs with the release below, so that a text is visible with its number. */
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
        /* Another thread took the slot. If that thread added the same text, our copy stays
         * unused. */
        if (is_text(there, text, length))
            return there;
    }
}

const char *sl_text_table_get(uint32_t number, size_t *length)
{
    if (number == 0 || number > atomic_load_explicit(&table.texts, memory_order_relaxed))
        return NULL;
    if (length)
        *length = table.entry[number - 1].length;
    return table.bytes + table.entry[number - 1].offset;
}
