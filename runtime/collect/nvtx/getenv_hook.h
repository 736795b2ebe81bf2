/*
 * getenv_hook.h - makes NVTX find this library when a copy of NVTX looks for its tool.
 *
 * A copy of NVTX looks for its tool once, at its shared object's first NVTX call. The copy's
 * payload extension looks again, at the extension's first call. The copy and the extension read the
 * same environment variable. If the process has other threads, setting that variable is not safe.
 * Then we replace getenv() in objects with a copy of NVTX by a function that returns this library's
 * path for this one variable.
 *
 * Threads: only one thread at a time calls these functions. Our getenv() runs on any thread.
 * Memory: none.
 */
#ifndef SL_NVTX_GETENV_HOOK_H
#define SL_NVTX_GETENV_HOOK_H

/* Sets NVTX's environment variable to the path of this library, if the process has only one thread
 * (setenv may crash other threads that read the environment). Returns 0; -EALREADY if the variable
 * names a tool, which may be this library; -EBUSY if there are more threads; -ENOENT if the path of
 * this library is not known. */
int sl_nvtx_getenv_hook_set(void);

/* sl_nvtx_getenv_hook_is_set() returns whether the environment variable names this library,
 * sl_nvtx_has_other_tool() whether the variable names another tool. A copy of NVTX that looks for
 * its tool later attaches to the named library. */
int sl_nvtx_getenv_hook_is_set(void);
int sl_nvtx_has_other_tool(void);

/* Replaces getenv() in the shared object that contains the address `inside`, so that the object's
 * copy of NVTX finds this library if it looks for its tool later. */
void sl_nvtx_getenv_hook_add_object(const void *inside);

#endif
