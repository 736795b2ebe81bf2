/*
 * ops_abi.h - what libsyncline.so and the observer of one version of PyTorch say to each
 * other.
 *
 * The observer (python_hook/torch_ops.cpp) is the one place that is compiled against PyTorch's
 * headers, once for each of its minor versions. All else stays on this side of two structs of
 * functions, in plain C, whose first member is the version of this file.
 *
 * Threads: begin() and end() are called on whatever thread runs the operator; they neither block
 * nor allocate. watch(), enable() and disable() are called by one thread.
 */
#ifndef SL_TORCH_OPS_ABI_H
#define SL_TORCH_OPS_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "event/op_inputs_format.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_TORCH_OPS_ABI   4
#define SL_TORCH_OPS_ENTRY "sl_torch_observer"

/* at::RecordScope */
enum {
    SL_TORCH_SCOPE_FUNCTION = 0,
    SL_TORCH_SCOPE_BACKWARD = 1,
    SL_TORCH_SCOPE_SCRIPT = 2, /* a function of TorchScript's */
    SL_TORCH_SCOPE_USER = 7,
    SL_TORCH_SCOPE_SITE = 255, /* none of PyTorch's: sl_torch_ops_site_begin() */
};

/* An operator that begins. What it points to lives during the call. */
struct sl_torch_op {
    const char *name;
    size_t name_length;
    uint64_t handle;  /* its record function's id */
    int64_t sequence; /* -1: none */
    uint32_t thread,
        forward_thread; /* PyTorch's numbers; forward_thread 0: it is no backward one */
    uint32_t caller;    /* in a backward pass, the system id of the thread that called it; in none,
                           the thread's own, or 0; 0: that is not known */
    uint8_t scope;
    uint8_t is_async; /* may end on another thread, and not in the order of nesting */
    uint8_t was_cut;  /* inputs did not fit */
    /* Members of a JSON object: what a collective is about, keyword arguments; without a comma at
     * either end. */
    const char *more;
    uint32_t more_length;
    const uint8_t *inputs; /* event/op_inputs_format.h */
    uint32_t inputs_length;
};

/* What the observer calls. */
struct sl_torch_ops_host {
    uint32_t abi;
    void (*begin)(const struct sl_torch_op *op);
    void (*end)(uint64_t handle, uint8_t scope, int is_async);
};

/* What the library calls. Each gives 0 or -errno. */
struct sl_torch_ops_observer {
    uint32_t abi;
    const char *built_for; /* "2.11" */
    /* Scopes of the user's (record_function()) are told, for good: operators pay nothing for it. */
    int (*watch)(int with_inputs);
    /* All else is; also while it is enabled, to change what is told. */
    int (*enable)(int with_inputs);
    int (*disable)(void);
};

/* The observer's entry; `host` is static. */
typedef int (*sl_torch_observer_fn)(const struct sl_torch_ops_host *host,
                                    struct sl_torch_ops_observer *out);

#ifdef __cplusplus
}
#endif

#endif
