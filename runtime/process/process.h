/*
 * process.h - the life cycle of syncline in a process: passive -> armed -> recording -> draining.
 *
 *   - The application thread calls sl_process_inject() inside cuInit. This function reads the
 *     options, finds CUPTI, registers callbacks and turns kinds of records on (passive -> armed).
 *     It creates no thread and no file yet.
 *   - CUPTI's first buffer request shows that CUDA is really in use, so the two background threads
 *     start.
 *   - The recorder thread (recorder/recorder.h) runs the window state machine and the flush
 *     timer, decodes and assembles events, and pushes them into the ring.
 *   - The writer thread (write/writer.h) writes events from the ring to files.
 *   - The exiting thread calls sl_process_exit(), which flushes CUPTI within a time limit and
 *     closes the file.
 *   - A forked child calls sl_process_fork_child(). The child stays passive and touches nothing of
 *     the parent.
 */
#ifndef SL_PROCESS_H
#define SL_PROCESS_H

#include "collect/cupti/api.h"
#include "collect/lane/step.h"
#include "syncline/syncline.h"

/* Call once per process; later calls do nothing. Returns 1 if this call armed the process, else 0.
 * After a failure, logs one line, and sl_status() returns the reason. */
int sl_process_inject(void);

/* Like sl_process_inject(), with given CUPTI functions and environment (tests). */
int sl_process_inject_with(const struct sl_cupti_functions *cupti, char *const *environment);

/* Any thread. Call this function before all others. Returns 1 if the kernel runs this process with
 * rights that the user who started it may not have (AT_SECURE). Then the function logs one line,
 * and the caller must not read, load or start anything. Otherwise returns 0. */
int sl_process_refuse_secure(void);

/* Any thread. Only the first call does anything, and only in the process that was injected. */
void sl_process_exit(void);

/* Called in the child of a fork; async-signal-safe. */
void sl_process_fork_child(void);

/* syncline.h declares the public API. Its functions return -EAGAIN before the injection. */
int sl_process_step(enum sl_step_source source);

/* For the Python package; exported. */
int sl_hook_step(int source); /* enum sl_step_source */
/* Begins a range that is ended by its number, because coroutines end their ranges in any order.
 * Returns the number, or 0 if no range was begun. */
uint64_t sl_hook_range_begin(const char *name);
int sl_hook_range_end(uint64_t id);
int sl_hook_ops(void); /* 0: PyTorch is to report nothing to NVTX; 1: operators; 2: operators with
                        * shapes */

#endif
