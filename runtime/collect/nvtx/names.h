/*
 * names.h - the domains and names that programs register with NVTX. base/text_table.h holds the
 * texts.
 *
 * The handles that the application gets are indexes into these tables. Nothing is ever removed,
 * because an application may keep a handle for the life of the process. A text that is registered
 * again gets the same number.
 *
 * Threads: any thread adds and reads; nothing blocks. Memory: static tables, whose pages are
 * touched only when entries are added. A name that finds no room is counted as SL_STAT_NAMES_LOST.
 */
#ifndef SL_NVTX_NAMES_H
#define SL_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "event/named.h"

/* Returns a domain's number, counted from 1. If the table is full, all further domains share the
 * last number. 0 is the default domain, which has no name. */
unsigned sl_nvtx_domain(const char *name, size_t length);
uint32_t sl_nvtx_domain_name(unsigned domain); /* returns the number of the domain's string; 0:
                                                * none */

/* Returns the name's number, counted from 1, or 0 if there is no room. */
uint32_t sl_nvtx_name(const struct sl_named *name);

/* Returns 0, or -ENOENT if no name has that number yet. */
int sl_nvtx_name_get(uint32_t number, struct sl_named *out);

#endif
