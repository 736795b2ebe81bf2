/*
 * functions.h - the functions of torch.distributed that PyTorch does not tell apart.
 *
 * PyTorch names a collective by the operator of its process group. So an isend() looks like a
 * send(), and a broadcast_object_list() like two calls of broadcast(). The function is read from
 * the Python frames of the call.
 *
 * Threads: any.
 */
#ifndef SL_TORCH_FUNCTIONS_H
#define SL_TORCH_FUNCTIONS_H

#include "collect/python/frames.h"

/* send() and recv() are in the list because they call isend() and irecv(). */
static const char *const sl_torch_functions[] = {
    "send", "recv", "isend", "irecv", "broadcast_object_list", NULL};

#define SL_TORCH_FUNCTIONS (sizeof(sl_torch_functions) / sizeof(*sl_torch_functions) - 1)

/* Returns the number of the function that the program called, from 1 on, or 0 if it is none of
 * these or the calling thread has no frame. */
static inline unsigned sl_torch_function_now(void)
{
    /* c10d_logger.py has a wrapper of each function. */
    static const char *const files[] = {"/torch/distributed/distributed_c10d.py",
                                        "/torch/distributed/c10d_logger.py", NULL};
    const void *frame = sl_python_frame();

    return frame ? sl_python_function(frame, files, sl_torch_functions) : 0;
}

/* Returns the name of a function, or NULL. */
static inline const char *sl_torch_function_name(unsigned number)
{
    return number && number <= SL_TORCH_FUNCTIONS ? sl_torch_functions[number - 1] : NULL;
}

#endif
