/*
 * step.h - the job's steps: when one ends and the next begins, and which source decides.
 *
 * The job may mark steps itself, by sl_step() or by ranges named `ProfilerStep#N` as torch.profiler
 * makes them. Otherwise a step is one step of its optimizer, or else one batch of a DataLoader. The
 * best source seen so far silences the lower ones; the job's own ranges do so only while they keep
 * coming. If the optimizer has counted, the first sl_step() of a job ends nothing: the optimizer
 * has just ended the same iteration. The running step then begins at that sl_step().
 *
 * The running step has number 0 until the first step has ended. A step that has ended leaves a
 * record in its thread's lane, unless the job has named the step itself. Numbers of the job's own
 * ranges become step numbers while they rise. A torch.profiler session in the middle of a job
 * begins at 0 again: step numbers then go on, and the ranges are shown under them.
 *
 * Threads: any takes steps; the recorder thread waits for them. Nothing blocks. Memory: static.
 */
#ifndef SL_LANE_STEP_H
#define SL_LANE_STEP_H

#include <stddef.h>
#include <stdint.h>

enum sl_step_source {
    SL_STEP_LOADER, /* a batch is requested: a step begins */
    SL_STEP_OPTIMIZER,
    SL_STEP_JOB /* sl_step() */
};

/* The name to show for a range whose number is not its step's. */
struct sl_step_name {
    char name[40]; /* NUL-terminated, like `more` */
    char more[56]; /* a member of a JSON object: the job's own name */
};

/* Ends the step and begins the next. Does nothing if another source counts. */
void sl_step_take(enum sl_step_source source);

/* Parses a range name of the form `ProfilerStep#N`. 0 and N; -EINVAL: another name. */
int sl_step_read_name(const char *text, size_t length, uint32_t *given);

/* A range with that number begins. A step begins with it, unless the step of that number is
 * running. `tells_end`: sl_step_end_named() will follow, and until then nothing else is a step. 0:
 * the range keeps its name; 1: show it as `out`. */
int sl_step_begin_named(uint32_t given, int tells_end, struct sl_step_name *out);
void sl_step_end_named(void);

/* Number of the running step; rises by at least one with each step. */
uint64_t sl_step_number(void);

/* Recorder thread: waits for the first step from now on with this number or a higher one, and
 * forgets the previous wait. UINT64_MAX: waits for none. `or_past`: a step with exactly this number
 * that has begun already counts too, if it is one of the last 64. */
void sl_step_await(uint64_t number, int or_past);
/* The awaited step and its begin (CLOCK_REALTIME ns). 0; -EAGAIN: it has not begun. */
int sl_step_awaited(uint64_t *number, uint64_t *ns);

#endif
