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

static void name_track(struct sl_nccl_rows *r, enum sl_nccl_track track)
{
    static const char *const names[] = {[SL_NCCL_TRACK_CALLS] = "NCCL"};
    struct sl_event ev = {.kind = SL_EV_META_THREAD, .thread = FIRST_TRACK + track};

    if (r->is_named >> track & 1)
        return;
    r->is_named |= 1u << track;
    ev.name = sl_nccl_rows_intern(r, names[track], strlen(names[track]));
    if (r->sink)
        r->sink(r->user, &ev);
}

/* Returns the pattern of the member with the collective's number. */
static uint32_t number_text(struct sl_nccl_rows *r)
{
    static const char member[] = "\"NCCL number\":0";
    char pattern[sizeof(member)];
    uint32_t numbers[SL_PATTERN_NUMBERS];

    if (!r->number)
        r->number = sl_nccl_rows_intern(
            r, pattern, sl_pattern_make(pattern, member, sizeof(member) - 1, numbers));
    return r->number;
}

void sl_nccl_rows_add(struct sl_nccl_rows *r, enum sl_nccl_track track, uint64_t start_ns,
                      uint64_t end_ns, uint32_t name, uint32_t args, uint64_t number)
{
    struct sl_range_look look = {.name = name, .more = args};
    uint32_t value[SL_PATTERN_NUMBERS] = {(uint32_t)number, 0};

    if (!r->ranges || !name)
        return;
    name_track(r, track);
    if (number <= UINT32_MAX) {
        look.payload = number_text(r);
        look.payload_numbers = sl_pattern_pack(value);
    }
    sl_ranges_past(r->ranges, FIRST_TRACK + track, start_ns, end_ns, &look);
}
