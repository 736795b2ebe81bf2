/*
 * getenv_answer.h - answers a library's getenv() for a few names, without changing the environment.
 *
 * A library may look for a tool by an environment variable: NVTX by NVTX_INJECTION64_PATH, NCCL by
 * NCCL_PROFILER_PLUGIN. setenv() is not safe while other threads read the environment, and child
 * processes would inherit the variable. So the slots through which one shared object calls getenv()
 * are redirected to a function that answers for the registered names. A variable that the user has
 * set to a value is never replaced.
 *
 * Threads: names are registered, and objects redirected, by one thread at a time. The answer runs
 * on any thread. Memory: static.
 */
#ifndef SL_GETENV_ANSWER_H
#define SL_GETENV_ANSWER_H

#define SL_GETENV_ANSWERS 4 /* maximum number of names */

/* `answer` is called inside the library's getenv(). It returns the variable's value, which must
 * stay valid for the life of the process, or NULL for no value. A name that is registered again
 * gets the new answer. `name` must stay valid. Returns 0 or -ENOSPC. */
int sl_getenv_answer(const char *name, const char *(*answer)(void));

/* Redirects getenv() in the object that contains the address `inside`. */
void sl_getenv_answer_in(const void *inside);

/* Redirects getenv() in all loaded objects that define and export `function`. Returns the number of
 * slots that are redirected now, including those that earlier calls have redirected. */
unsigned sl_getenv_answer_where(const char *function);

#endif
