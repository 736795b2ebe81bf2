/*
 * step_stats.h - the steps of a device together: usual length, drift, and what they are bound by.
 *
 * Threads: one owner. Memory: 16 bytes for each step while the numbers are made.
 */
#ifndef SL_REPORT_STEP_STATS_H
#define SL_REPORT_STEP_STATS_H

#include "report/report.h"

/* The settings of the metric `steps`. */
enum sl_steps_setting {
    SL_STEPS_DEVIATIONS,   /* a step is long above median + so many median absolute deviations, */
    SL_STEPS_LONG_RATIO,   /* and above the median by this part of it */
    SL_STEPS_DRIFT_RATIO,  /* a larger part of the median is a drift */
    SL_STEPS_LAUNCH_RATIO, /* from this part of a step on late launches bound it */
    SL_STEPS_SETTINGS
};

double sl_steps_setting(const struct sl_report *report, enum sl_steps_setting which);

enum sl_step_bound {
    SL_BOUND_GPU,     /* launches come in time, so the GPU decides how long the step takes */
    SL_BOUND_LAUNCH,  /* the GPU waits for launches that come late */
    SL_BOUND_UNKNOWN, /* too much idle time has no known cause */
    SL_BOUND_COUNT
};

struct sl_step_stats {
    uint64_t steps, median_ns, long_steps;
    uint64_t limit_ns; /* a longer step is long; UINT64_MAX if there are too few steps */
    uint64_t median_part_ns[SL_PART_COUNT];
    uint64_t bound[SL_BOUND_COUNT]; /* number of steps */
    uint64_t late_ns;    /* time in which the GPU waited for launches, in all steps together */
    uint64_t between_ns; /* time in gaps between queued operations, likewise */
    uint64_t length_ns;
    /* The longest step: its number, and the part that exceeds its median most. */
    uint64_t longest, longest_ns;
    enum sl_part longest_part;
    double slope_ns;         /* Theil-Sen slope of the length, for each step */
    double drift_ns;         /* slope times the number of steps from the first to the last */
    enum sl_part drift_part; /* the part with the largest slope in the direction of the drift; if
                                is_drift */
    double part_slope_ns;
    int is_drift; /* 1: the drift is more than the setting steps.drift_ratio */
};

/* Makes the numbers of a device in the recordings [first, end), which are of one rank. Returns 0 or
 * -ENOMEM. */
int sl_step_stats_make(struct sl_step_stats *out, const struct sl_report *report, size_t first,
                       size_t end, uint8_t device);

/* Returns what the step was bound by, and adds the time in which the GPU waited for launches to
 * *late_ns. */
enum sl_step_bound sl_step_bound(const struct sl_report *report, const struct sl_interval *in,
                                 uint64_t *late_ns);

/* Returns "GPU", "launch" or "unknown". */
const char *sl_step_bound_name(enum sl_step_bound bound);

/* Returns what most steps are bound by. */
enum sl_step_bound sl_step_stats_bound(const struct sl_step_stats *s);

/* Returns the part of a long step that exceeds the median of the steps most, and by how much. */
enum sl_part sl_step_stats_grown(const struct sl_step_stats *s, const struct sl_interval *in,
                                 uint64_t *more_ns);

#endif
