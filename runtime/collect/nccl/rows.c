/*
 * rows.c - rows on tracks of NCCL, for facts that are neither a call nor a kernel.
 *
 * Threads, memory: see rows.h.
 */
#include "collect/nccl/rows.h"

#include <string.h>

#include "event/pattern.h"

/* NVTX's tracks begin at SL_ROW_FIRST. */
#define FIRST_TRACK (SL_ROW_FIRST + 0x10000)

uint32_t sl_nccl_rows_intern(struct sl_nccl_rows *r, const char *text, size_t length)
{
    uint32_t id = sl_intern_find(r->names, text, length);

    if (!id && r->texts_used + length <= r->texts_bytes) {
        id = sl_intern_put(r->names, text, length);
        r->texts_used += id ? length : 0;
    }
    return id;
}

static uint32_t track_of(enum sl_nccl_track track, uint32_t lane)
{
    return FIRST_TRACK + (uint32_t)track * SL_NCCL_LANES + lane;
}

/* Returns the first lane whose last row has ended; the last lane if there is none. */
static uint32_t lane_of(struct sl_nccl_rows *r, const struct sl_nccl_row *row)
{
    uint32_t lane = 0;

    while (lane < SL_NCCL_LANES - 1 && r->end_ns[row->track][lane] > row->start_ns)
        lane++;
    if (r->end_ns[row->track][lane] < row->end_ns)
        r->end_ns[row->track][lane] = row->end_ns;
    return lane;
}

static void name_track(struct sl_nccl_rows *r, enum sl_nccl_track track, uint32_t lane)
{
    static const char *const names[] = {[SL_NCCL_TRACK_CALLS] = "NCCL",
                                        [SL_NCCL_TRACK_NET] = "NCCL net",
                                        [SL_NCCL_TRACK_CHANNELS] = "NCCL channels"};
    struct sl_event ev = {.kind = SL_EV_META_THREAD, .thread = track_of(track, lane)};

    if (r->is_named[track] >> lane & 1)
        return;
    r->is_named[track] |= 1u << lane;
    ev.name = sl_nccl_rows_intern(r, names[track], strlen(names[track]));
    if (r->sink)
        r->sink(r->user, &ev);
}

/* Returns the number of a pattern, which has a 0 for each number. */
static uint32_t pattern_of(struct sl_nccl_rows *r, uint32_t *known, const char *members)
{
    char pattern[64];
    uint32_t numbers[SL_PATTERN_NUMBERS];

    if (!*known)
        *known = sl_nccl_rows_intern(r, pattern,
                                     sl_pattern_make(pattern, members, strlen(members), numbers));
    return *known;
}

static uint32_t in_us(uint64_t ns)
{
    return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* Chooses the members that vary from row to row, and their numbers. */
static void put_numbers(struct sl_nccl_rows *r, const struct sl_nccl_row *row,
                        struct sl_range_look *look)
{
    uint32_t bytes = row->bytes < UINT32_MAX ? (uint32_t)row->bytes : UINT32_MAX;
    int has_number = row->number <= UINT32_MAX;
    uint32_t value[SL_PATTERN_NUMBERS] = {row->has_net ? bytes : (uint32_t)row->number,
                                          (uint32_t)row->number};

    if (row->has_net && has_number)
        look->payload = pattern_of(r, &r->both, "\"bytes\":0,\"NCCL number\":0");
    else if (row->has_net)
        look->payload = pattern_of(r, &r->bytes, "\"bytes\":0");
    else if (has_number)
        look->payload = pattern_of(r, &r->number, "\"NCCL number\":0");
    look->payload_numbers = sl_pattern_pack(value);
}

void sl_nccl_rows_add(struct sl_nccl_rows *r, const struct sl_nccl_row *row)
{
    struct sl_range_look look = {.name = row->name, .more = row->args};
    uint32_t lane;

    if (!r->ranges || !row->name)
        return;
    lane = lane_of(r, row);
    name_track(r, row->track, lane);
    put_numbers(r, row, &look);
    if (row->has_net) {
        look.value_type = SL_NOTE_NCCL_WAITS;
        look.value = in_us(row->gpu_wait_ns) | (uint64_t)in_us(row->net_wait_ns) << 32;
    }
    sl_ranges_past(r->ranges, track_of(row->track, lane), row->start_ns, row->end_ns, &look);
}
