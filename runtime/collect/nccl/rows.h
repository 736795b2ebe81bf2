/*
 * rows.h - rows on tracks of NCCL, for facts that are neither a call nor a kernel.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_ROWS_H
#define SL_NCCL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"
#include "event/range.h"

enum sl_nccl_track {
    SL_NCCL_TRACK_CALLS, /* launches of collectives, in files without kernels */
    SL_NCCL_TRACKS,
};

struct sl_nccl_rows {
    struct sl_ranges *ranges; /* receives the rows; NULL: rows are not wanted */
    struct sl_intern *names;
    size_t texts_bytes, texts_used; /* limit of interned texts, and their sum so far */
    void *user;
    void (*sink)(void *user, const struct sl_event *ev); /* receives the names of tracks */
    uint32_t is_named;                                   /* a bit for each track */
    uint32_t number;                                     /* text of the member with a number */
};

/* Returns the number of a text, or 0 if there is no room. */
uint32_t sl_nccl_rows_intern(struct sl_nccl_rows *r, const char *text, size_t length);

/* Adds a row. `args` is the number of a text with JSON members. `number` is the collective's number
 * (UINT64_MAX: none). */
void sl_nccl_rows_add(struct sl_nccl_rows *r, enum sl_nccl_track track, uint64_t start_ns,
                      uint64_t end_ns, uint32_t name, uint32_t args, uint64_t number);

#endif
