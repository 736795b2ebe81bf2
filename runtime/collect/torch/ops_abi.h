/*
 * ops_abi.h - the interface between libsyncline.so and an observer, the library that reports the
 * operators of one PyTorch version.
 *
 * Only the observer (python_hook/torch_ops.cpp) is compiled against PyTorch's headers, once for
 * each minor version. The observer and the library call each other only through two structs of C
 * functions. The first member of each struct is the version of this interface.
 *
 * Threads: begin() and end() are called on the operator's thread, and neither block nor allocate.
 * watch(), enable() and disable() are called by one thread.
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

/* Values of at::RecordScope. */
enum {
    SL_TORCH_SCOPE_FUNCTION = 0,
    SL_TORCH_SCOPE_BACKWARD = 1,
    SL_TORCH_SCOPE_SCRIPT = 2, /* a TorchScript function */
    SL_TORCH_SCOPE_USER = 7,
    SL_TORCH_SCOPE_SITE = 255, /* not a scope of PyTorch, but a wait that sl_torch_ops_site_begin()
                                * records */
};

/* An operator that begins. Its pointers are valid only during the call. */
struct sl_torch_op {
    const char *name;
    size_t name_length;
    uint64_t handle;                 /* id of the operator's record function */
    int64_t sequence;                /* sequence number; -1: none */
    uint32_t thread, forward_thread; /* PyTorch's thread numbers; forward_thread is 0 if the
                                      * operator is no backward operator */
    uint32_t caller; /* in a backward pass, the system id of the thread that called backward();
                      * otherwise the thread's own id; 0: not known */
    uint8_t scope;
    uint8_t is_async; /* the operator may end on another thread, and before operators that began
                       * inside it */
    uint8_t was_cut;  /* 1: inputs were truncated */
    /* JSON members (arguments of a collective, keyword arguments), without a comma at either
     * end. */
    const char *more;
    uint32_t more_length;
    const uint8_t *inputs; /* the inputs, in the format of event/op_inputs_format.h */
    uint32_t inputs_length;
};

/* Functions that the observer calls. */
struct sl_torch_ops_host {
    uint32_t abi;
    void (*begin)(const struct sl_torch_op *op);
    void (*end)(uint64_t handle, uint8_t scope, int is_async);
};

/* Functions that the library calls. Each returns 0 or -errno. */
struct sl_torch_ops_observer {
    uint32_t abi;
    /* the PyTorch version for which the observer was built, such as "2.11" */
    const char *built_for;
    /* Reports user scopes (record_function()) from now on, for the rest of the process. Reporting
     * user scopes does not make operators slower. */
    int (*watch)(int with_inputs);
    /* Reports operators too. To change `with_inputs`, call this function again while operators are
     * enabled. */
    int (*enable)(int with_inputs);
    int (*disable)(void);
};

/* The observer's entry point. `host` stays valid for the life of the process. */
typedef int (*sl_torch_observer_fn)(const struct sl_torch_ops_host *host,
                                    struct sl_torch_ops_observer *out);

#ifdef __cplusplus
}
#endif

#endif
