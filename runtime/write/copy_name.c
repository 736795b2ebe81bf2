/*
 * copy_name.c - returns the names that Kineto traces use for kinds of copies and of memory.
 *
 * Pure functions; any thread.
 */
#include "write/copy_name.h"

#include <stdio.h>

#include "event/event.h"

const char *sl_copy_name_kind(uint32_t kind)
{
    static const char *const names[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};

    return names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0];
}

const char *sl_copy_name_memory(uint32_t kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};

    return names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0];
}

size_t sl_copy_name_put(char out[SL_COPY_NAME_MOST], uint32_t kind, const struct sl_shape *s)
{
    int n;

    if (kind == SL_EV_MEMCPY)
        n = snprintf(out, SL_COPY_NAME_MOST, "Memcpy %s (%s -> %s)",
                     sl_copy_name_kind(s->copy_kind), sl_copy_name_memory(s->src_memory),
                     sl_copy_name_memory(s->dst_memory));
    else if (kind == SL_EV_MEMSET)
        n = snprintf(out, SL_COPY_NAME_MOST, "Memset (%s)", sl_copy_name_memory(s->dst_memory));
    else
        n = snprintf(out, SL_COPY_NAME_MOST, "CUDA Graph");
    return (size_t)n;
}
