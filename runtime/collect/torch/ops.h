/*
 * ops.h - PyTorch's operators: how they reach us.
 *
 * A loaded libtorch_cpu is found among the process's objects, its version in the package's folder,
 * and the observer that was built for it (collect/torch/ops_abi.h) among our files. Nothing of that
 * needs Python or its lock. Operators become records of their threads' lanes.
 *
 * Threads: the operators' for what the observer calls; else one at a time, where nothing else is
 * said: the one that initialises CUDA, then the collector. Memory: static; the lanes'.
 */
#ifndef SL_TORCH_OPS_H
#define SL_TORCH_OPS_H

#include <stdint.h>

#include "base/choices.h"

struct sl_torch_op;

/* Looks for PyTorch, unless no object was loaded since the last look, and takes it. `home`:
 * SYNCLINE_HOME, or "". Says in one line what comes of it. 1: it was found now, and there is no
 * observer for it. */
int sl_torch_ops_attach(enum sl_torch_ops_mode mode, const char *home);

/* Any thread: it will see to it that NVTX is told of operators, if that is of use: then texts are
 * taken for operators from now on (collect/torch/nvtx_fallback.h). Else SL_TORCH_OPS_OFF: there is
 * an observer, or no PyTorch yet, or nobody wants operators. */
enum sl_torch_ops_mode sl_torch_ops_by_strings(void);

/* Operators are told, or cost nothing. Remembered, if there is no PyTorch yet. Scopes of the user's
 * are told from the beginning on: they may be open when a window opens, and are what a job's own
 * steps are. */
void sl_torch_ops_enable(int on);

/* What the observer calls (collect/torch/ops_abi.h), for those that come another way. Any thread;
 * `are_wanted`: whether what begins now is. */
int sl_torch_ops_are_wanted(void);
void sl_torch_ops_begin(const struct sl_torch_op *op);
void sl_torch_ops_end(uint64_t handle, uint8_t scope, int is_async);

/* Any thread: it makes a call that may wait for the GPU. If that is no part of an operator, its
 * line of Python code is noted: 1, and `end` is to be called after it. 0: nothing is, as between
 * windows and where no Python code runs. */
int sl_torch_ops_site_begin(void);
void sl_torch_ops_site_end(void);

/* Any thread: a node of a CUDA graph was made by a call of it. Its operator is noted, if one is
 * running. */
void sl_torch_ops_node(uint64_t node);

/* Any thread, also in the child of a fork, for good: async-signal-safe. */
void sl_torch_ops_stop(void);

#endif
