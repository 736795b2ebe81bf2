/*
 * copy_name.h - returns the names that Kineto traces use for kinds of copies and of memory.
 *
 * Pure functions; any thread.
 */
#ifndef SL_COPY_NAME_H
#define SL_COPY_NAME_H

#include <stdint.h>

const char *sl_copy_name_kind(uint32_t kind);   /* CUpti_ActivityMemcpyKind: "HtoD" */
const char *sl_copy_name_memory(uint32_t kind); /* CUpti_ActivityMemoryKind: "Pageable" */

#endif
