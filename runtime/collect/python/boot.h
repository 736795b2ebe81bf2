/*
 * boot.h - a Python interpreter in the process gets our package.
 *
 * Python runs a queued call on its main thread, between two of its instructions, so nothing waits
 * for the GIL and it does not matter what the caller holds. There it reads syncline/_boot.py in our
 * folder, and that file does the rest. A main thread that waits for something all along never runs
 * it: nothing may depend on it.
 *
 * Threads: any. Memory: one path, static.
 */
#ifndef SL_PYTHON_BOOT_H
#define SL_PYTHON_BOOT_H

/* Queues the call, unless it is queued or has run, in the process that called this first: a forked
 * child leaves its interpreter alone. `home`: SYNCLINE_HOME, or "". 0; -EALREADY; -ENOENT: there is
 * no interpreter, or it has not begun yet; -ENOTSUP: one of those that are left alone; -EAGAIN:
 * its queue is full. */
int sl_python_boot(const char *home);

/* The same, also if it has run: the package has another look. */
int sl_python_boot_again(const char *home);

#endif
