/*
 * id_flags.h - two rows that belong together by an id: call and GPU operation, start and end of a
 * flow arrow.
 *
 * Four bits are kept for every id of the file, in pages of 8192 ids that are made when an id of
 * theirs is first seen: ids of a trace are dense, so 10^8 of them take 50 MB at most. What does not
 * fit is counted, not guessed. Times and places are kept for the most recent 65536 ids.
 *
 * Threads: one owner. Memory: `cap_bytes` for pages, and 2.5 MiB.
 */
#ifndef SL_CHECK_ID_FLAGS_H
#define SL_CHECK_ID_FLAGS_H

#include <stddef.h>
#include <stdint.h>

enum sl_pair_flag {
    SL_PAIR_FIRST = 1 << 0,  /* call, or start of an arrow */
    SL_PAIR_SECOND = 1 << 1, /* GPU operation, or end of an arrow */
    SL_PAIR_TWICE = 1 << 2,  /* FIRST came more than once */
    SL_PAIR_MARK = 1 << 3    /* the owner's: a call that records an event */
};

#define SL_PAIR_NO_TIME INT64_MIN

struct sl_id_flags;

/* 0 or -ENOMEM. */
int sl_id_flags_create(struct sl_id_flags **out, size_t cap_bytes);
void sl_id_flags_destroy(struct sl_id_flags *p); /* NULL is fine */

/* Adds flags to an id, with the row's time and its place in the text. Returns the flags that it had
 * before. -ENOSPC: no page for it. */
int sl_id_flags_add(struct sl_id_flags *p, uint64_t id, unsigned flags, int64_t start_ns,
                    uint64_t at);

/* Flags of an id, 0 if never seen. */
unsigned sl_id_flags_flags(const struct sl_id_flags *p, uint64_t id);

/* Start of the first or the (earliest) second row, or SL_PAIR_NO_TIME when forgotten. */
int64_t sl_id_flags_first_ns(const struct sl_id_flags *p, uint64_t id);
int64_t sl_id_flags_second_ns(const struct sl_id_flags *p, uint64_t id);

/* Number of ids that have exactly `flags` of FIRST and SECOND; one of them in *id (the lowest) with
 * its place, UINT64_MAX when forgotten. */
uint64_t sl_id_flags_count(const struct sl_id_flags *p, unsigned flags, uint64_t *id, uint64_t *at);

uint64_t sl_id_flags_unchecked(const struct sl_id_flags *p); /* rows that found no page */

#endif
