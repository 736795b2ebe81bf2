/*
 * time.h - times of deferred events, from the clock that their program read to the trace's.
 *
 * NVTX calls a clock a time domain. Known are those of the system, by their NVTX_TIMESTAMP_TYPE_*,
 * and those of the program's from which points of the same moment, a factor or a function that
 * reads them lead to a known one, in steps over other clocks where need be. How a clock stood is
 * read beside the trace's at most ten times a second, and only for events that are in it; what was
 * between two such points is interpolated, so that events of the last minutes keep their place when
 * a clock is slewed or set.
 *
 * Threads: any. Nothing blocks: a table that another thread changes is tried for some microseconds.
 * Memory: static; what has no room is counted as SL_STAT_NAMES_LOST, its events as any whose clock
 * is not known.
 */
#ifndef SL_NVTX_TIME_H
#define SL_NVTX_TIME_H

#include <stdint.h>

/* A time domain of an NVTX domain's, as nvtxTimeDomainAttr_t has it. */
struct sl_nvtx_clock {
    unsigned domain;
    uint64_t id;         /* 0: one is made */
    uint64_t type;       /* NVTX_TIMESTAMP_TYPE_* */
    uint64_t scope;      /* whose events are in it; 0: those that name it */
    int64_t ticks_per_s; /* 0: not told */
    int is_unix_time;    /* 0 is the beginning of 1970, in UTC */
};

/* What reads a clock: one of both functions, which must be callable for as long as events of the
 * clock are submitted. It is called inside the program's own calls of NVTX. */
struct sl_nvtx_timer {
    int64_t (*read)(void);
    int64_t (*read_with)(void *data);
    void *data;
};

/* Reads the system's clocks of unknown rate for the first time; before all others. */
void sl_nvtx_time_init(void);

/* Its id; 0: no room. */
uint64_t sl_nvtx_time_add(const struct sl_nvtx_clock *clock);
void sl_nvtx_time_set_timer(unsigned domain, uint64_t id, const struct sl_nvtx_timer *timer);

/* Two clocks stood so at the same moment. */
void sl_nvtx_time_point(unsigned domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b);
/* The same, and `b` counts `b_per_a` while `a` counts 1. */
void sl_nvtx_time_factor(unsigned domain, uint64_t a, uint64_t b, double b_per_a, int64_t at_a,
                         int64_t at_b);

/* The time domain of a scope's events; 0: none was told. */
uint64_t sl_nvtx_time_of_scope(unsigned domain, uint64_t scope);

/* When the clock `id` stood at `at`, in CLOCK_REALTIME ns. 0; -ENODATA: not known. */
int sl_nvtx_time_ns(unsigned domain, uint64_t id, int64_t at, uint64_t *ns);

#endif
