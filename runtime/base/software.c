/*
 * software.c - stores the versions of the software in the process.
 *
 * Threads, memory: see software.h. The first thread that reserves an entry writes the entry's text
 * and then publishes the entry.
 */
#include "base/software.h"

#include <stdatomic.h>
#include <string.h>

static struct {
    char version[64];
    atomic_int is_taken, is_known;
} software[SL_SOFTWARES];

void sl_software_set(enum sl_software what, const char *version)
{
    size_t length = version ? strcspn(version, " ") : 0;

    if (length == 0 || atomic_exchange(&software[what].is_taken, 1))
        return;
    if (length >= sizeof(software[what].version))
        length = sizeof(software[what].version) - 1;
    memcpy(software[what].version, version, length);
    /* Release pairs with the acquire in sl_software_get(), so that the text is visible with the
     * flag. */
    atomic_store_explicit(&software[what].is_known, 1, memory_order_release);
}

const char *sl_software_get(enum sl_software what)
{
    return atomic_load_explicit(&software[what].is_known, memory_order_acquire)
               ? software[what].version
               : NULL;
}
