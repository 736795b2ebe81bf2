/*
 * schedule.h - the stages of a pipeline, its iterations, and the clocks of its ranks.
 *
 * A lane is one device of one rank. Lanes form pipelines: as --stages says, else the ranks that
 * send to and receive from each other in the order of their numbers, else all lanes in the order
 * of their first F (by rank, if their clocks are not known to be one).
 *
 * An iteration of a lane ends with the optimizer. Without one, it is a range `iteration`, else it
 * begins with the F of micro-batch 0. Iterations of the lanes of a pipeline are matched by number
 * (a range `iteration`, or torch.profiler's step), else by time if the lanes share a clock, else by
 * order. An iteration of the pipeline is complete if each lane has all its F, B and W in it. In a
 * truncated file, each of them and the phase after them must also have kernels. A lane of such a
 * file without a complete iteration is left out.
 *
 * Threads: one owner. Memory: phases.h, 24 bytes for each phase, and 64 for each iteration of a
 * lane.
 */
#ifndef SL_PIPELINE_SCHEDULE_H
#define SL_PIPELINE_SCHEDULE_H

#include "align/clocks.h"
#include "pipeline/phases.h"
#include "report/report.h"

#define SL_LANE_NONE UINT32_MAX

struct sl_command;

struct sl_lane_phase {
    struct sl_phase *phase;
    uint32_t recording; /* index in the report */
    uint32_t iteration; /* of the lane */
};

/* Times are since the epoch, on the clock of the rank. */
struct sl_lane_iteration {
    int64_t number;           /* -1: not known */
    int64_t begin_ns, end_ns; /* of the kernels of its phases */
    int64_t first_f_ns;
    uint32_t recording;
    uint32_t count[SL_PHASE_COMPUTES];
    size_t first, end; /* its phases */
    int is_complete;
};

struct sl_lane {
    int64_t rank;         /* -1: the file does not name it */
    uint32_t first, last; /* its recordings, in the report: [first, last) */
    uint8_t device;
    uint32_t pipeline, stage;
    int is_left_out; /* 1: a file of it is truncated, and no iteration of it is complete */
    struct sl_lane_phase *phase; /* by recording and start on the CPU */
    struct sl_lane_iteration *iteration;
    size_t phases, iterations, iteration_slots;
};

struct sl_iteration {
    int64_t number;           /* -1: not known */
    int64_t begin_ns, end_ns; /* since the epoch, on the reference clock of the pipeline */
    int is_complete;
    int follows; /* 1: it begins with the end of the iteration before; 0: with the first phase */
};

struct sl_pipeline {
    uint32_t *lane; /* by stage */
    size_t stages;
    struct sl_iteration *iteration;
    size_t iterations, completes;
    uint32_t *of; /* iteration of the lane of each stage, by iteration; SL_LANE_NONE: it has none */
    uint32_t mbs, chunks; /* the most in an iteration */
    int is_v;             /* 1: odd chunks go from the last stage to the first (V schedules) */
    int is_comparable;    /* 0: the clocks of the lanes are not aligned to each other */
    int lacks_ranks;      /* 1: ranks of the job have no phases, and may be stages of it */
    int is_by_order;      /* 1: iterations were matched by order, although lanes differ in number */
};

enum sl_stage_order {
    SL_STAGES_GIVEN,   /* --stages */
    SL_STAGES_PAIRS,   /* sends and receives, then rank */
    SL_STAGES_FIRST_F, /* the order of the first F */
    SL_STAGES_RANK     /* nothing but the rank is known */
};

struct sl_schedule {
    const struct sl_report *report;
    struct sl_phases *phases; /* of each recording */
    struct sl_lane *lane;
    struct sl_pipeline *pipeline;
    struct sl_clocks *clocks; /* its ranks are the first recordings of the ranks */
    size_t lanes, lane_slots, pipelines, pipeline_slots;
    enum sl_stage_order order;
    uint64_t guessed; /* phases without kernels */
    uint64_t world;   /* ranks of the job; 0: not known */
    size_t ranks;     /* that have phases */
};

/* Finds lanes, pipelines and iterations, and aligns clocks. `stages`: the value of --stages, or
 * NULL. Returns 0, -ENOMEM, or an exit status above 0 after a line on stderr. The caller frees
 * `out`, also after an error. */
int sl_schedule_make(struct sl_schedule *out, const struct sl_report *report,
                     struct sl_phase_names *names, const struct sl_command *command,
                     const char *stages);
void sl_schedule_free(struct sl_schedule *s);

/* Adds what the phases and messages of the pipelines say about the clocks, and what collectives
 * say, and solves them (facts.c). Returns 0 or -ENOMEM. */
int sl_schedule_align(struct sl_schedule *s);

/* Sets `ready_ns` of the receives whose sender began later (facts.c). Returns 0 or -ENOMEM. */
int sl_schedule_find_waits(struct sl_schedule *s);

/* Converts a time of a recording to the epoch on the clock of its rank, that to the reference clock
 * of the pipeline, and back. */
int64_t sl_schedule_epoch_ns(const struct sl_schedule *s, uint32_t recording, uint64_t ns);
uint64_t sl_schedule_recording_ns(const struct sl_schedule *s, uint32_t recording,
                                  int64_t epoch_ns); /* the way back */
int64_t sl_schedule_common_ns(const struct sl_schedule *s, const struct sl_lane *lane, int64_t ns);
int64_t sl_schedule_own_ns(const struct sl_schedule *s, const struct sl_lane *lane, int64_t ns);

/* The iteration of the lane of a stage, or NULL. */
const struct sl_lane_iteration *sl_schedule_of(const struct sl_schedule *s,
                                               const struct sl_pipeline *p, size_t iteration,
                                               size_t stage);

/* The stage and chunk before (`step` -1) or after (1) a place in the pipeline. Returns 0 at the
 * ends. */
int sl_schedule_neighbour(const struct sl_pipeline *p, size_t stage, int32_t chunk, int step,
                          size_t *to_stage, int32_t *to_chunk);

#endif
