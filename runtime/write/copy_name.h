/*
 * copy_name.h - returns the names that Kineto traces use for kinds of copies and of memory.
 *
 * Pure functions; any thread.
 */
#ifndef SL_COPY_NAME_H
#define SL_COPY_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "event/shape.h"

#define SL_COPY_NAME_MOST 64

const char *sl_copy_name_kind(uint32_t kind);   /* CUpti_ActivityMemcpyKind: "HtoD" */
const char *sl_copy_name_memory(uint32_t kind); /* CUpti_ActivityMemoryKind: "Pageable" */

/* Writes the name of a copy, a memset or a whole graph (enum sl_event_kind), with a NUL: "Memcpy
 * HtoD (Pageable -> Device)". Returns the length of the name. */
size_t sl_copy_name_put(char out[SL_COPY_NAME_MOST], uint32_t kind, const struct sl_shape *s);

#endif
