/*
 * getenv_hook.h - makes copies of NVTX that have not yet looked for their tool find us.
 *
 * NVTX looks once, at an object's first NVTX call. Its payload extension looks again, at its own
 * first call. Both read an environment variable. Where that variable must not be written any more,
 * we answer the object's calls of getenv for this one name, as if the variable were set.
 *
 * Threads: one at a time; any thread gets the answer. Memory: none.
 */
#ifndef SL_NVTX_GETENV_HOOK_H
#define SL_NVTX_GETENV_HOOK_H

/* Sets NVTX's environment variable to this library, if the process has only one thread (setenv may
 * crash other threads that read the environment). 0; -EALREADY: the variable names another tool, or
 * already us; -EBUSY: there are more threads; -ENOENT: our own path is not known. */
int sl_nvtx_getenv_hook_set(void);

/* The variable leads copies that look from now on to us, or to another tool. */
int sl_nvtx_getenv_hook_is_set(void);
int sl_nvtx_has_other_tool(void);

/* Makes the object that contains `inside` find us, if it looks from now on. */
void sl_nvtx_getenv_hook_add_object(const void *inside);

#endif
