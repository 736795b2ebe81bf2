/*
 * step.h - the job's steps: when one ends and the next begins, and which of several sources says
 * so.
 *
 * What a step is, the job may say itself (sl_step(), or ranges named `ProfilerStep#N`, as
 * torch.profiler makes them); else its optimizer's step is one, else a DataLoader's batch. The best
 * source that there was silences those below it; a job's own ranges only as long as they come.
 * The first sl_step() of a job whose optimizer has counted ends nothing: the optimizer has ended
 * the same iteration a moment ago. The step that runs begins there instead.
 *
 * Steps are numbered by the one that runs: number 0 until the first of them has ended. One that has
 * ended leaves a record in its thread's lane, unless the job has named it itself. The numbers of a
 * job's own ranges are the steps' as long as they rise; those of a torch.profiler session in the
 * middle of a job begin at 0 again: then numbers go on, and the ranges' rows are called by them.
 *
 * Threads: any takes steps, the collector waits for them. Nothing blocks. Memory: static.
 */
#ifndef SL_TORCH_STEP_H
#define SL_TORCH_STEP_H

#include <stddef.h>
#include <stdint.h>

enum sl_step_source {
    SL_STEP_LOADER, /* a batch is asked for: a step begins */
    SL_STEP_OPTIMIZER,
    SL_STEP_JOB /* sl_step() */
};

/* How the row of a range is called whose number is not its step's. */
struct sl_step_name {
    char name[40]; /* ends with a NUL, like `more` */
    char more[56]; /* a member of an object: what the job calls it */
};

/* A step ends here, and the next one begins; or another source counts, and nothing happens. */
void sl_step_take(enum sl_step_source source);

/* Is this the name of a range that the job calls a step, `ProfilerStep#N`? 0, and N; -EINVAL. */
int sl_step_read_name(const char *text, size_t length, uint32_t *given);

/* A range of that number begins, and with it a step, unless that number's runs already.
 * `tells_end`: sl_step_end_named() will be called, and until then nothing else is a step. 0: the
 * range's name is right; 1: its row is called `out`. */
int sl_step_begin_named(uint32_t given, int tells_end, struct sl_step_name *out);
void sl_step_end_named(void);

/* The step that runs; its number rises with each that ends. */
uint64_t sl_step_number(void);

/* Collector: waits for the first step from now on that begins with this number or a higher one, and
 * forgets what it waited for before. UINT64_MAX: none. `or_past`: the very one will do too that has
 * begun already, if it is one of the last 64. */
void sl_step_await(uint64_t number, int or_past);
/* That step, and when it began (CLOCK_REALTIME ns). 0; -EAGAIN: it has not. */
int sl_step_awaited(uint64_t *number, uint64_t *ns);

/* What to do when it begins; any thread, never blocks. */
void sl_step_set_wake(void (*wake)(void));

#endif
