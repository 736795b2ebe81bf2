/*
 * getenv_hook.h - how copies of NVTX that have not looked for their tool yet find us.
 *
 * NVTX looks once, at an object's first call of it, and its payload extension once more, at the
 * first call of that: both read an environment variable. Where that may not be written any more,
 * an object's own calls of getenv are answered by us, for this one name and as if it had been set.
 *
 * Threads: one at a time; the answer is given on any. Memory: none.
 */
#ifndef SL_NVTX_GETENV_HOOK_H
#define SL_NVTX_GETENV_HOOK_H

/* Names this library in NVTX's environment variable, in a process that has one thread only (setenv
 * may crash others that read the environment). 0; -EALREADY: another tool is named there, or we
 * are; -EBUSY: there are more threads; -ENOENT: our own file is not known. */
int sl_nvtx_getenv_hook_set(void);

/* The variable leads copies that look from now on to us, or to another tool. */
int sl_nvtx_getenv_hook_is_set(void);
int sl_nvtx_has_other_tool(void);

/* The object that `inside` lies in finds us, should it look from now on. */
void sl_nvtx_getenv_hook_add_object(const void *inside);

#endif
