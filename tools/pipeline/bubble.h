/*
 * bubble.h - how much of an iteration each stage does nothing for the pipeline, why, and how much
 * theory expects.
 *
 * The bubble of a stage is the time of an iteration in which no phase of work (F, B, W, optimizer)
 * runs on it: by span, from the first kernel of a phase to its last; by kernels, only while one
 * runs. The bubble by kernels is divided by what the device did instead (report/parts.h):
 * SL_PART_COMPUTE stands for kernels that belong to no phase, and SL_PART_WAITING also for idle
 * time in which the CPU was in a range that receives.
 *
 * Threads: one owner. Memory: 150 bytes for each stage; while a lane is measured, 16 bytes for each
 * of its operations and phases.
 */
#ifndef SL_PIPELINE_BUBBLE_H
#define SL_PIPELINE_BUBBLE_H

#include "pipeline/schedule.h"

/* Phases of one kind in the measured iterations. */
struct sl_phase_sum {
    uint64_t count;
    uint64_t span_ns, kernel_ns;
};

/* Sums over the measured iterations. */
struct sl_stage_bubble {
    uint64_t length_ns;              /* of the iterations */
    uint64_t span_ns, kernel_ns;     /* in which the stage worked */
    uint64_t part_ns[SL_PART_COUNT]; /* they add up to length_ns - kernel_ns */
    struct sl_phase_sum of[SL_PHASE_COMPUTES];
    uint64_t guessed; /* phases without kernels */
};

enum sl_theory {
    SL_THEORY_1F1B,
    SL_THEORY_INTERLEAVED,
    SL_THEORY_ZB_H1,
    SL_THEORY_ZB_H2,
    SL_THEORY_COUNT
};

struct sl_bubble {
    struct sl_stage_bubble *stage;
    struct sl_stage_bubble all; /* sums over the stages; the length too */
    size_t stages;              /* that are measured: all but those that are left out */
    size_t measured;            /* iterations */
    int has_follower;           /* 1: a complete iteration begins where another one ends; others,
                                   whose begin is less sure, are not measured */
    int is_partial;             /* 1: no iteration is complete, so what was recorded is measured */
    double mean_ns[SL_PHASE_COMPUTES]; /* of a phase of one chunk, by span */
    struct {
        int is_known;
        double bubble_ns, rate;
    } theory[SL_THEORY_COUNT];
};

const char *sl_theory_name(enum sl_theory theory);

/* Measures a pipeline. Returns 0 or -ENOMEM. The caller frees `out`, also after an error. */
int sl_bubble_make(struct sl_bubble *out, const struct sl_schedule *s, const struct sl_pipeline *p);
void sl_bubble_free(struct sl_bubble *b);

/* Returns 1 if an iteration is measured. */
int sl_bubble_has(const struct sl_bubble *b, const struct sl_pipeline *p, size_t iteration);

/* The begin and end of an iteration on a stage, in its recording's time. */
void sl_bubble_interval(const struct sl_schedule *s, const struct sl_pipeline *p, size_t iteration,
                        size_t stage, uint64_t *begin_ns, uint64_t *end_ns);

static inline double sl_bubble_rate(uint64_t busy_ns, uint64_t length_ns)
{
    return length_ns > busy_ns ? 1 - (double)busy_ns / (double)length_ns : 0;
}

#endif
