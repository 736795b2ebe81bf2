/*
 * id_flags.h - tracks pairs of rows that share an id: call and GPU operation, or start and end of a
 * flow arrow.
 *
 * Each id has four bits, in pages of 8192 ids. A page is allocated when its first id is seen. Ids
 * of a trace are dense, so 10^8 ids take at most 50 MB. Rows whose page does not fit into the
 * memory are counted as unchecked. Start times and text offsets are kept for the most recent 65536
 * ids.
 *
 * Threads: one owner. Memory: `cap_bytes` for pages, and 2.5 MiB.
 */
#ifndef SL_CHECK_ID_FLAGS_H
#define SL_CHECK_ID_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/store.h"

enum sl_pair_flag {
    SL_PAIR_FIRST = 1 << 0,  /* the id has a call, or the start of an arrow */
    SL_PAIR_SECOND = 1 << 1, /* the id has a GPU operation, or the end of an arrow */
    SL_PAIR_TWICE = 1 << 2,  /* the id has several calls or several starts */
    SL_PAIR_MARK = 1 << 3    /* the call records an event; the owner of the table sets this flag */
};

#define SL_PAIR_NO_TIME INT64_MIN

struct sl_id_times {
    uint64_t id;
    uint64_t at; /* offset of the id's first row in the text, in bytes */
    int64_t first_ns, second_ns;
};

struct sl_id_flags {
    struct sl_store store;
    struct sl_map page; /* maps 1 + id / 8192 to the flags of a page */
    size_t pages_max;
    uint64_t last_number; /* number of the page used last, kept because successive ids are often in
                             one page; 0: no page */
    uint8_t *last;
    struct sl_id_times *recent; /* indexed by the id's low bits */
    uint64_t unchecked;         /* number of rows that were not checked because their page did not
                                   fit into memory */
};

/* The caller has zeroed `p`. A zeroed `p` may be freed. Returns 0 or -ENOMEM. */
int sl_id_flags_init(struct sl_id_flags *p, size_t cap_bytes);
void sl_id_flags_free(struct sl_id_flags *p);

/* Adds flags to an id, with the row's start time and its byte in the text. Returns the id's
 * previous flags, or -ENOSPC if there is no memory for the id's page. */
int sl_id_flags_add(struct sl_id_flags *p, uint64_t id, unsigned flags, int64_t start_ns,
                    uint64_t at);

/* Returns the flags of an id, or 0 if no row had the id. */
unsigned sl_id_flags_flags(const struct sl_id_flags *p, uint64_t id);

/* Return the start time of the id's first row (a call or the start of an arrow), or of the earliest
 * second row (a GPU operation or the end of an arrow). Return SL_PAIR_NO_TIME if the start is no
 * longer known. */
int64_t sl_id_flags_first_ns(const struct sl_id_flags *p, uint64_t id);
int64_t sl_id_flags_second_ns(const struct sl_id_flags *p, uint64_t id);

/* Returns the number of ids that have exactly the flags `flags` out of FIRST and SECOND. *id is the
 * lowest such id. *at is the text offset of the first row of this id, or UINT64_MAX if the offset
 * is no longer known. */
uint64_t sl_id_flags_count(const struct sl_id_flags *p, unsigned flags, uint64_t *id, uint64_t *at);

#endif
