/*
 * step.h - decides when a step of the job ends and the next begins, and which source of steps
 * counts.
 *
 * The job may mark steps itself, by sl_step() or by ranges named `ProfilerStep#N`, like the ranges
 * of torch.profiler. Otherwise a step is one step of the job's optimizer. Without an optimizer, a
 * step is one batch of a DataLoader. Once a better source has reported a step, lower sources are
 * ignored. If the job makes named ranges, the other sources are ignored only as long as the job
 * keeps making named ranges. If the optimizer's steps have counted, the first sl_step() ends no
 * step, because the optimizer has just ended the same iteration. The running step then begins at
 * that sl_step().
 *
 * The running step has number 0 until the first step has ended. When a step ends, it is recorded in
 * the lane (lane.h) of the thread that ended it, unless the job has made a named range for the
 * step. The numbers in the names of the job's ranges are used as step numbers as long as they rise.
 * A torch.profiler session in the middle of a job begins at 0 again. Then the step numbers
 * continue, and the ranges are shown with the step numbers.
 *
 * Threads: any thread may end a step; the recorder thread awaits steps. Nothing blocks. Memory:
 * static.
 */
#ifndef SL_LANE_STEP_H
#define SL_LANE_STEP_H

#include <stddef.h>
#include <stdint.h>

/* Number of steps whose begin is remembered. The recorder may look late on a busy machine. */
#define SL_STEP_KEPT 1024u

enum sl_step_source {
    SL_STEP_LOADER, /* a batch was requested from a DataLoader, which begins the next step */
    SL_STEP_OPTIMIZER,
    SL_STEP_JOB /* sl_step() */
};

/* The name to show for a range whose own number differs from the step's number. */
struct sl_step_name {
    char name[40]; /* NUL-terminated, like `more` */
    char more[56]; /* a member of a JSON object that contains the job's own name for the range */
};

/* Ends the running step and begins the next. Does nothing if a better source of steps counts. */
void sl_step_take(enum sl_step_source source);

/* Parses a range name of the form `ProfilerStep#N`. Returns 0 with N in *given, or -EINVAL for any
 * other name. */
int sl_step_read_name(const char *text, size_t length, uint32_t *given);

/* Call when a named range with the number `given` begins. The range begins a step, unless the step
 * of that number is running already. Set `tells_end` if sl_step_end_named() will follow; until then
 * no other source ends a step. Returns 0 if the range keeps its name, or 1 if the range must be
 * shown with the name in *out. */
int sl_step_begin_named(uint32_t given, int tells_end, struct sl_step_name *out);
void sl_step_end_named(void);

/* Returns the number of the running step. Each step raises it by at least one. */
uint64_t sl_step_number(void);

/* Facts about the last steps. All zeros: no step has begun. */
struct sl_step_look {
    uint64_t running;   /* number of the running step */
    uint64_t length_ns; /* mean length of the last eight steps; 0: not known */
    uint64_t number;    /* first step that has begun and has at least the wanted number; 0: none */
    uint64_t began_ns;  /* begin of step `number`, CLOCK_REALTIME ns */
};

/* Recorder thread. The recorder is woken once when a step begins that has this number or a higher
 * one; UINT64_MAX: no wake-up. A step that began before this call wakes nobody, so look after this
 * call. Does not block. */
void sl_step_await(uint64_t number);

/* Recorder thread. Looks for the first step that has at least this number, among the last
 * SL_STEP_KEPT steps. Does not block. */
void sl_step_look(uint64_t number, struct sl_step_look *out);

#endif
