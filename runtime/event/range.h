/*
 * range.h - finds out which of the user's ranges were open on a thread at a given time, and the GPU
 * work in each range.
 *
 * Feed ranges in the order of each thread's calls, and before the CUDA calls that were made in
 * them. CUDA calls arrive late, when CUPTI delivers them. So an ended range stays known until
 * everything that began in it has arrived.
 *
 * For the open window, the sink gets:
 *   - SL_EV_NVTX_RANGE for each range, truncated to the window, when the range or the window ends.
 *     With `begins`, one more for each of a thread's nested ranges, when the range or the window
 *     begins.
 *   - SL_EV_NVTX_RANGE_GPU for each stream with work that was launched in the range or in a range
 *     inside it: from the start of the first to the end of the last of these operations.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`. When it is full, the ranges that ended first
 * are evicted, with the GPU work known by then. If that makes no room, the new range is dropped and
 * counted.
 */
#ifndef SL_RANGE_H
#define SL_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_ranges;

struct sl_ranges_options {
    size_t cap_bytes; /* 0: 4 MiB */
    int begins;       /* 1: ranges are also emitted when they begin */
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

/* The fields of SL_EV_NVTX_RANGE that show a range in its slice. */
struct sl_range_look {
    uint32_t name;
    uint64_t numbers;
    uint32_t more;
    uint32_t payload;
    uint64_t payload_numbers;
    uint64_t value;
    uint8_t value_type; /* enum sl_note_value */
};

struct sl_ranges_counts {
    uint64_t lost; /* ranges dropped because there was no room */
    uint64_t cut;  /* slices that show only a part of their range */
};

int sl_ranges_create(struct sl_ranges **out, const struct sl_ranges_options *opt);
void sl_ranges_destroy(struct sl_ranges *r); /* NULL is allowed */

/* Begin and end nested ranges of a thread. Each domain nests separately. */
void sl_ranges_push(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns,
                    const struct sl_range_look *look);
/* Returns the look of the range that the next pop ends, so that attributes can be added. NULL if
 * none is open. */
struct sl_range_look *sl_ranges_innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain);
void sl_ranges_pop(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns);
/* Ends the innermost range whose value has this lower half. Ranges inside it may stay open. Returns
 * 1, or 0 if there is none. */
int sl_ranges_pop_value(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint32_t value,
                        uint64_t ns);
/* Call when the thread ends. Ends all its nested ranges. */
void sl_ranges_end_thread(struct sl_ranges *r, uint32_t thread, uint64_t ns);

/* Begins a range that any thread may end. `row` is the thread id of its track. The launches of
 * `thread` count for it. `id` must differ from that of every open range. */
void sl_ranges_start(struct sl_ranges *r, uint32_t thread, uint64_t id, uint64_t ns, uint32_t row,
                     const struct sl_range_look *look);
/* Returns the look of a started range and writes its track. NULL if there is none. */
struct sl_range_look *sl_ranges_started(struct sl_ranges *r, uint64_t id, uint32_t *row);
void sl_ranges_end(struct sl_ranges *r, uint64_t id, uint64_t ns);

/* Adds a range that had already ended when it was reported. */
void sl_ranges_past(struct sl_ranges *r, uint32_t row, uint64_t start_ns, uint64_t end_ns,
                    const struct sl_range_look *look);

/* Marks a thread that works for other threads, as autograd's threads do. Its launches count for the
 * ranges of the thread for which it works. If that is not known, and exactly one thread has open
 * ranges, they count for that thread's ranges. */
void sl_ranges_worker(struct sl_ranges *r, uint32_t thread);

/* Gives a CUDA call the innermost range around it. `for_thread` is the result of sl_ops_call(); 0
 * if not known. */
void sl_ranges_call(struct sl_ranges *r, struct sl_event *call, uint32_t for_thread);
/* Takes the SL_EV_FLOW from a call to its GPU operation. */
void sl_ranges_flow(struct sl_ranges *r, const struct sl_event *flow);

/* Sets the window to [from_ns, until_ns). If that is empty, no window is open. */
void sl_ranges_window(struct sl_ranges *r, uint64_t from_ns, uint64_t until_ns);
/* The caller guarantees that all records that ended before complete_ns have arrived. */
void sl_ranges_complete(struct sl_ranges *r, uint64_t complete_ns);
/* Call when the window ends. Emits the slices of all ranges, of open ranges up to closed_ns. Open
 * ranges stay open. */
void sl_ranges_close(struct sl_ranges *r, uint64_t closed_ns);

void sl_ranges_get_counts(const struct sl_ranges *r, struct sl_ranges_counts *out);

#endif
