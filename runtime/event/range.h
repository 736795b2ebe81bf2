/*
 * range.h - finds out which of the user's ranges were open on a thread at a given time, and the GPU
 * work in each range.
 *
 * The caller passes a thread's ranges in the order in which they began and ended. A range must be
 * passed before the CUDA calls that were made in it. The records of CUDA calls arrive late, when
 * CUPTI delivers them. So an ended range is kept until all calls that began in the range have
 * arrived.
 *
 * For the open window, the sink gets:
 *   - SL_EV_NVTX_RANGE for each range, truncated to the window, when the range or the window ends.
 *     If `begins` is set, the sink also gets an SL_EV_NVTX_RANGE when a nested range of a thread,
 *     or the window, begins.
 *   - SL_EV_NVTX_RANGE_GPU for each range and each stream with work that was launched in the range
 *     or in a range inside it. The event lasts from the start of the first to the end of the last
 *     of these GPU operations.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`. When the memory is full, the ranges that ended
 * first are evicted; their GPU work seen so far is emitted. If the eviction makes no room, the new
 * range is dropped and counted.
 */
#ifndef SL_RANGE_H
#define SL_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_ranges;

struct sl_ranges_options {
    size_t cap_bytes; /* maximum memory in bytes; 0 means 4 MiB */
    int begins;       /* 1: ranges are also emitted when they begin */
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

/* The name and the attributes of a range, as fields of the range's SL_EV_NVTX_RANGE. */
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

/* The functions below begin and end nested ranges of a thread. The ranges of each NVTX domain nest
 * separately. */
void sl_ranges_push(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns,
                    const struct sl_range_look *look);
/* Returns the struct sl_range_look of the range that the next pop will end, so that the caller can
 * add attributes. Returns NULL if no range is open. */
struct sl_range_look *sl_ranges_innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain);
void sl_ranges_pop(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns);
/* Ends the innermost range whose `value` has this lower half. Ranges inside the ended range may
 * stay open. Returns 1, or 0 if there is no such range. */
int sl_ranges_pop_value(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint32_t value,
                        uint64_t ns);
/* Call when the thread ends. Ends all its nested ranges. */
void sl_ranges_end_thread(struct sl_ranges *r, uint32_t thread, uint64_t ns);

/* Begins a range that any thread may end. `row` is the thread id of the range's track. The launches
 * of `thread` count for the range. `id` must differ from the id of every open range. */
void sl_ranges_start(struct sl_ranges *r, uint32_t thread, uint64_t id, uint64_t ns, uint32_t row,
                     const struct sl_range_look *look);
/* Returns the struct sl_range_look of a started range and writes the range's track to *row. Returns
 * NULL if no started range has this id. */
struct sl_range_look *sl_ranges_started(struct sl_ranges *r, uint64_t id, uint32_t *row);
void sl_ranges_end(struct sl_ranges *r, uint64_t id, uint64_t ns);

/* Adds a range that had already ended when it was reported. */
void sl_ranges_past(struct sl_ranges *r, uint32_t row, uint64_t start_ns, uint64_t end_ns,
                    const struct sl_range_look *look);

/* Marks a thread that works for other threads, as autograd's threads do. The launches of the marked
 * thread count for the ranges of the thread for which it works. If that other thread is not known,
 * and exactly one thread has open ranges, the launches count for the ranges of that one thread. */
void sl_ranges_worker(struct sl_ranges *r, uint32_t thread);

/* Stores in a CUDA call the name of the innermost range around the call. `for_thread` is the result
 * of sl_ops_call(); 0 if not known. */
void sl_ranges_call(struct sl_ranges *r, struct sl_event *call, uint32_t for_thread);
/* Adds a GPU operation to the ranges of its launching call. `flow` is the SL_EV_FLOW from the call
 * to the operation. */
void sl_ranges_flow(struct sl_ranges *r, const struct sl_event *flow);

/* Sets the window to [from_ns, until_ns). If this interval is empty, no window is open. */
void sl_ranges_window(struct sl_ranges *r, uint64_t from_ns, uint64_t until_ns);
/* The caller guarantees that all records that ended before complete_ns have arrived. */
void sl_ranges_complete(struct sl_ranges *r, uint64_t complete_ns);
/* Call when the window ends. Emits the slices of all ranges. The slice of an open range ends at
 * closed_ns. Open ranges stay open. */
void sl_ranges_close(struct sl_ranges *r, uint64_t closed_ns);

void sl_ranges_get_counts(const struct sl_ranges *r, struct sl_ranges_counts *out);

#endif
