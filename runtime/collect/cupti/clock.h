/*
 * clock.h - which clock CUPTI's records are stamped with, and what that is in ours.
 *
 * CUPTI's own clock is CLOCK_REALTIME. Another client of the process may give it a different one,
 * for good: torch.profiler has it read the tick counter (TSC). Records that were made before keep
 * the clock of that time, and one buffer may hold both, so each stamp is judged by itself: the two
 * clocks are decades apart, and only stamps that can be of this process are believed.
 *
 * Threads: one, the collector (at injection, the injecting one). Owned by the caller.
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
    enum sl_cupti_clock_domain domain; /* of records made now, at the last look */
    int is_mixed; /* it has been ticks, or may have been: stamps must be judged one by one */
    uint64_t first_ns, last_ns; /* of the first and the last look, CLOCK_REALTIME */
    int64_t offset_ns;          /* CUPTI's clock minus ours, and half of the bracket */
    uint64_t uncertainty_ns;
};

/* Looks at CUPTI's clock between two looks at ours. Returns the domain. On the thread that
 * calibrates our clock. */
enum sl_cupti_clock_domain sl_cupti_clock_look(struct sl_cupti_clock *clock,
                                               int (*get)(uint64_t *stamp));

/* Turns a record's stamp into CLOCK_REALTIME; 0 stays 0 (no time), and those of a clock that is not
 * known stay as they are until ticks have been seen. 0; -ERANGE: neither clock gives such a stamp
 * in the life of this process. */
int sl_cupti_clock_to_real(const struct sl_cupti_clock *clock, uint64_t *stamp);

#endif
