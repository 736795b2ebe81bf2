/*
 * ops.h - records PyTorch operators.
 *
 * PyTorch is found by its libtorch_cpu among the process's loaded objects. Its version comes from
 * the package's folder. The observer built for that version (collect/torch/ops_abi.h) is one of our
 * files. None of this needs Python or its lock. Operators become records of their threads' lanes.
 *
 * Threads: the operators' threads for the observer's calls. Otherwise, where nothing else is said,
 * one at a time: the thread that initialises CUDA, then the recorder thread. Memory: static, and
 * the lanes'.
 */
#ifndef SL_TORCH_OPS_H
#define SL_TORCH_OPS_H

#include <stdint.h>

#include "base/choices.h"

struct sl_torch_op;

/* Looks for PyTorch, unless no object was loaded since the last look, and attaches to it. `home`:
 * SYNCLINE_HOME, or "". Logs the result in one line. 1: PyTorch was found just now, without an
 * observer. */
int sl_torch_ops_attach(enum sl_torch_ops_mode mode, const char *home);

/* Any thread: which operators shall arrive as NVTX texts (collect/torch/nvtx_fallback.h), because
 * this PyTorch has no observer. SL_TORCH_OPS_OFF: none, because there is an observer, no PyTorch
 * yet, or operators are not wanted. */
enum sl_torch_ops_mode sl_torch_ops_by_strings(void);

/* Turns recording of operators on or off; off, they cost nothing. Also holds for a PyTorch that is
 * found later. User scopes are recorded from the beginning: they may be open when a window opens,
 * and they mark a job's own steps. */
void sl_torch_ops_enable(int on);

/* The functions that the observer calls (collect/torch/ops_abi.h), for operators that arrive
 * another way. Any thread. `are_wanted`: whether operators that begin now are recorded. */
int sl_torch_ops_are_wanted(void);
void sl_torch_ops_begin(const struct sl_torch_op *op);
void sl_torch_ops_end(uint64_t handle, uint8_t scope, int is_async);

/* Any thread, around a call that may wait for the GPU. Outside of operators, the call's line of
 * Python code is recorded. 1: recorded; call `end` after the wait. 0: not recorded, as between
 * windows and where no Python code runs. */
int sl_torch_ops_site_begin(void);
void sl_torch_ops_site_end(void);

/* Any thread, when its call has made a node of a CUDA graph. If an operator is running, it is
 * recorded with the node. */
void sl_torch_ops_node(uint64_t node);

/* Any thread, also in a forked child: stops for good. Async-signal-safe. */
void sl_torch_ops_stop(void);

#endif
