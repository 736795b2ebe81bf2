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
    SL_NCCL_TRACK_CALLS,    /* launches of collectives, in files without kernels */
    SL_NCCL_TRACK_NET,      /* messages of proxy threads */
    SL_NCCL_TRACK_CHANNELS, /* channels of kernels, in the time of the GPU's global timer */
    SL_NCCL_TRACKS,
    SL_NCCL_LANES = 32, /* rows that overlap are shown on several tracks of one name */
};

struct sl_nccl_rows {
    struct sl_ranges *ranges; /* receives the rows; NULL: rows are not wanted */
    struct sl_intern *names;
    size_t texts_bytes, texts_used; /* limit of interned texts, and their sum so far */
    void *user;
    void (*sink)(void *user, const struct sl_event *ev); /* receives the names of tracks */
    uint32_t is_named[SL_NCCL_TRACKS];                   /* a bit for each lane */
    uint64_t end_ns[SL_NCCL_TRACKS][SL_NCCL_LANES];      /* end of the last row of each lane */
    uint32_t number, bytes, both;                        /* texts of members with numbers */
};

/* Returns the number of a text, or 0 if there is no room. */
uint32_t sl_nccl_rows_intern(struct sl_nccl_rows *r, const char *text, size_t length);

struct sl_nccl_row {
    enum sl_nccl_track track;
    uint64_t start_ns, end_ns;
    uint32_t name;   /* number of a text */
    uint32_t args;   /* number of a text with JSON members; 0: none */
    uint64_t number; /* number of the collective; UINT64_MAX: none */
    int has_net;     /* 1: a row of the network, with the members below */
    uint64_t bytes, gpu_wait_ns, net_wait_ns;
};

void sl_nccl_rows_add(struct sl_nccl_rows *r, const struct sl_nccl_row *row);

#endif
