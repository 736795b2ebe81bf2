/*
 * copy_name.c - returns the names that Kineto traces use for kinds of copies and of memory.
 *
 * Pure functions; any thread.
 */
#include "write/copy_name.h"

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
