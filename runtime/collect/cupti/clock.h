/*
 * clock.h - finds out which clock stamps CUPTI records, and converts stamps to our clock.
 *
 * CUPTI stamps records with CLOCK_REALTIME by default. Another client of the process may replace
 * that clock for good: torch.profiler makes CUPTI read the tick counter (TSC). Earlier records keep
 * the stamps of the earlier clock, and one buffer may hold stamps of both clocks. So each stamp is
 * judged separately. This is possible because the values of the two clocks are decades apart, and a
 * stamp is accepted only if it lies within the life of this process.
 *
 * Threads: the recorder thread, or at injection the thread that loads us. Memory: the caller's.
 */
#ifndef SL_CUPTI_CLOCK_H
#define SL_CUPTI_CLOCK_H

#include <stdint.h>

enum sl_cupti_clock_domain {
    SL_CUPTI_CLOCK_REALTIME = 0,
    SL_CUPTI_CLOCK_TICKS,
    SL_CUPTI_CLOCK_UNKNOWN
};

struct sl_cupti_clock {
    enum sl_cupti_clock_domain domain; /* clock of new records, found by the last check */
    int is_mixed; /* CUPTI has used ticks, or may have used them, so each stamp must be judged
                   * separately */
    uint64_t first_ns, last_ns; /* times of the first and the last check, CLOCK_REALTIME */
    int64_t offset_ns;          /* CUPTI's clock minus our clock; uncertainty_ns: half of the time
                                 * between the two reads of our clock */
    uint64_t uncertainty_ns;
};

/* Reads CUPTI's clock by `get` between two reads of our clock. Returns which clock CUPTI uses. Call
 * on the thread that calibrates our clock. */
enum sl_cupti_clock_domain sl_cupti_clock_look(struct sl_cupti_clock *clock,
                                               int (*get)(uint64_t *stamp));

/* Converts a record's stamp to CLOCK_REALTIME, in place. A stamp of 0 (no time) is not changed.
 * Stamps of an unknown clock are not changed until CUPTI has used ticks. Returns 0, or -ERANGE if
 * the stamp lies outside this process's life on both clocks. */
int sl_cupti_clock_to_real(const struct sl_cupti_clock *clock, uint64_t *stamp);

#endif
