/*
 * ops.h - records PyTorch operators.
 *
 * PyTorch is loaded if libtorch_cpu is among the process's loaded objects. We read PyTorch's
 * version in the package's folder. Then we load the observer that was built for this version
 * (collect/torch/ops_abi.h) from our installation. None of these steps needs Python or Python's
 * lock. Operators are written as records to the lanes (collect/lane/lane.h) of their threads.
 *
 * Threads: the observer calls us on the threads of the operators. Unless a function says otherwise,
 * only one thread at a time calls the functions below. This is first the thread that initialises
 * CUDA, and then the recorder thread. Memory: static, and the lanes.
 */
#ifndef SL_TORCH_OPS_H
#define SL_TORCH_OPS_H

#include <stdint.h>

#include "base/choices.h"

struct sl_torch_op;

/* Looks for PyTorch and attaches to it. Does nothing if no object was loaded since the last call.
 * `home` is SYNCLINE_HOME or "". Logs one line with the result. Returns 1 if this call has found a
 * PyTorch for which there is no observer. */
int sl_torch_ops_attach(enum sl_torch_ops_mode mode, const char *home);

/* Any thread. Returns which operators PyTorch shall report as NVTX texts
 * (collect/torch/nvtx_fallback.h) because there is no observer for this PyTorch. SL_TORCH_OPS_OFF
 * means no operators, because there is an observer, PyTorch is not loaded yet, or operators are not
 * wanted. */
enum sl_torch_ops_mode sl_torch_ops_by_strings(void);

/* Turns the recording of operators on or off, also for a PyTorch that is found later. While
 * recording is off, operators cost nothing. User scopes are always recorded, because they may be
 * open when a window opens, and because they mark the steps of a job. */
void sl_torch_ops_enable(int on);

/* Functions that the observer calls (collect/torch/ops_abi.h), here for operators that are reported
 * as NVTX texts. Any thread. sl_torch_ops_are_wanted() says whether operators that begin now are
 * recorded. */
int sl_torch_ops_are_wanted(void);
void sl_torch_ops_begin(const struct sl_torch_op *op);
void sl_torch_ops_end(uint64_t handle, uint8_t scope, int is_async);

/* Any thread. Call around a call that may wait for the GPU. Outside of operators, records the line
 * of Python code that makes the call. Returns 1 if the line was recorded; then call
 * sl_torch_ops_site_end() after the wait. Returns 0 if no line was recorded, for example between
 * windows or if no Python code runs. */
int sl_torch_ops_site_begin(void);
void sl_torch_ops_site_end(void);

/* Any thread. Call when a call of this thread has created a CUDA graph node. Records the node for
 * the running operator, if there is one. */
void sl_torch_ops_node(uint64_t node);

/* Any thread, also in a forked child. Stops recording for good. Async-signal-safe. */
void sl_torch_ops_stop(void);

#endif
