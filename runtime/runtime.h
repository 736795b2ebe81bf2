/*
 * runtime.h - the life cycle: passive -> armed -> recording -> draining; owns every module.
 *
 *   sl_runtime_inject()   application thread inside cuInit: read options, find CUPTI, register,
 *                         enable; no thread, no file yet          (passive -> armed)
 *   first buffer request  CUDA is really in use: start the two background threads
 *   collector thread      window state machine, flush timer, decode, assemble -> ring
 *   writer thread         ring -> files (write/writer.h)
 *   sl_runtime_exit()     at exit: last flush within the exit budget, close the file
 *   sl_runtime_fork_child()  passive for good; touches nothing of the parent's
 */
#ifndef SL_RUNTIME_H
#define SL_RUNTIME_H

#include "syncline/syncline.h"

int sl_runtime_inject(void);
void sl_runtime_exit(void);
void sl_runtime_fork_child(void);

/* Behind the public API; see syncline.h for what they return. */
int sl_runtime_start(void);
int sl_runtime_stop(void);
int sl_runtime_status(struct sl_status *out);

#endif
