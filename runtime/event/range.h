/*
 * range.h - the user's ranges: which were open on a thread at a time, and what the GPU did for
 * them.
 *
 * Ranges come in the order of each thread's calls, and before the CUDA calls that were made in
 * them: who reads both lets the ranges go first. CUDA calls come when CUPTI likes, so ranges that
 * have ended stay known until all that began in them is in.
 *
 * Out come, for the open window,
 *   - SL_EV_NVTX_RANGE for each range, when it has ended or the window has, cut to the window; if
 * wanted, one more for each of a thread's nested ranges when it begins, or the window does;
 *   - SL_EV_NVTX_RANGE_GPU for each stream on which something was launched in a range, or in one
 * inside it: from the start of the first to the end of the last of those operations.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`; when it is full the ranges that ended first are
 * forgotten, with what is known of the GPU by then, and ranges that do not fit at all are counted.
 */
#ifndef SL_RANGE_H
#define SL_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_ranges;

struct sl_ranges_options {
    size_t cap_bytes; /* 0 = 4 MiB */
    int begins;       /* ranges are wanted when they begin, too */
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

/* What a row shows of a range, as SL_EV_NVTX_RANGE has it. */
struct sl_range_look {
    uint32_t name;
    uint64_t numbers;
    uint32_t more;    /* `shape` */
    uint32_t payload; /* `context` */
    uint64_t payload_numbers;
    uint64_t value;
    uint8_t value_type; /* enum sl_note_value */
};

struct sl_ranges_counts {
    uint64_t lost; /* there was no room */
    uint64_t cut;  /* rows that show a part */
};

int sl_ranges_create(struct sl_ranges **out, const struct sl_ranges_options *opt);
void sl_ranges_destroy(struct sl_ranges *r); /* NULL is fine */

/* A thread's nested ranges, a nesting for each domain. */
void sl_ranges_push(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns,
                    const struct sl_range_look *look);
/* The look of the range that ends, to be added to before it does; NULL:
 * none is open. */
struct sl_range_look *sl_ranges_innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain);
void sl_ranges_pop(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns);
/* The same of the innermost whose look has a value with this lower half: it may lie further out.
 * 1; 0: there is none. */
int sl_ranges_pop_value(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint32_t value,
                        uint64_t ns);
/* All of them end, with their thread. */
void sl_ranges_end_thread(struct sl_ranges *r, uint32_t thread, uint64_t ns);

/* A range that any thread may end. `row`: the thread id of its row. What its thread launches
 * counts for it. `id` is not used by another that is open. */
void sl_ranges_start(struct sl_ranges *r, uint32_t thread, uint64_t id, uint64_t ns, uint32_t row,
                     const struct sl_range_look *look);
/* The look and the row of a started range; NULL: there is none. */
struct sl_range_look *sl_ranges_started(struct sl_ranges *r, uint64_t id, uint32_t *row);
void sl_ranges_end(struct sl_ranges *r, uint64_t id, uint64_t ns);

/* A range that was over when it was told. */
void sl_ranges_past(struct sl_ranges *r, uint32_t row, uint64_t start_ns, uint64_t end_ns,
                    const struct sl_range_look *look);

/* A thread that works for others, as autograd's do: what it launches counts for the ranges of the
 * thread that it does so for; where that is not known, of the one thread, if it is the only one,
 * that has some open then. */
void sl_ranges_worker(struct sl_ranges *r, uint32_t thread);

/* A CUDA call, before it goes on: gets the innermost range around it. `for_thread`: whom it works
 * for, 0: not known. */
void sl_ranges_call(struct sl_ranges *r, struct sl_event *call, uint32_t for_thread);
/* A GPU operation and its call, as SL_EV_FLOW has them. */
void sl_ranges_flow(struct sl_ranges *r, const struct sl_event *flow);

/* The window is [from_ns, until_ns); an empty one: there is none. */
void sl_ranges_window(struct sl_ranges *r, uint64_t from_ns, uint64_t until_ns);
/* All that ended before is in. */
void sl_ranges_complete(struct sl_ranges *r, uint64_t complete_ns);
/* The window ends here: everything goes out, open ranges up to there. They stay open. */
void sl_ranges_close(struct sl_ranges *r, uint64_t closed_ns);

void sl_ranges_get_counts(const struct sl_ranges *r, struct sl_ranges_counts *out);

#endif
