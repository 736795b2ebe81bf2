/*
 * process.h - the life cycle: passive -> armed -> recording -> draining; owns every module.
 *
 *   sl_process_inject()   application thread inside cuInit: read options, find CUPTI, register,
 *                         enable; no thread, no file yet          (passive -> armed)
 *   first buffer request  CUDA is really in use: start the two background threads
 *   collector thread      window state machine, flush timer, decode, assemble -> ring
 * (recorder/recorder.h) writer thread         ring -> files (write/writer.h) sl_process_exit() at
 * exit: last flush within the exit budget, close the file sl_process_fork_child()  passive for
 * good; touches nothing of the parent's
 */
#ifndef SL_PROCESS_H
#define SL_PROCESS_H

#include "collect/cupti/api.h"
#include "collect/torch/step.h"
#include "syncline/syncline.h"

/* Once per process; later calls do nothing. Returns 1 when armed by this call, else 0; whatever
 * went wrong has been said and is the reason in sl_status(). */
int sl_process_inject(void);

/* The same with CUPTI's functions and the environment given (tests). */
int sl_process_inject_with(const struct sl_cupti_functions *cupti, char *const *environment);

/* Any thread; only the first call of the process that was injected does anything. */
void sl_process_exit(void);

/* In the child of a fork; async-signal-safe. */
void sl_process_fork_child(void);

/* Behind the public API; see syncline.h for what they return. -EAGAIN before the injection. */
int sl_process_start(void);
int sl_process_stop(void);
int sl_process_status(struct sl_status *out);
int sl_process_dump(void);
int sl_process_hand_over(void);
int sl_process_take_back(void);
int sl_process_step(enum sl_step_source source);
int sl_process_range_push(const char *name);
int sl_process_range_pop(void);
uint64_t sl_process_range_begin(const char *name); /* 0: there is none */
void sl_process_range_end(uint64_t id);
int sl_process_mark(const char *name);
int sl_process_ops_by_strings(void);

#endif
