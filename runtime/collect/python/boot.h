/*
 * boot.h - starts our Python package in the interpreter of the process.
 *
 * Python runs a queued call on its main thread, between two instructions. So nothing waits for the
 * GIL, and any lock of the caller is harmless. The queued call runs syncline/_boot.py from our
 * folder, and that file does the rest. A main thread that waits all the time never runs the call,
 * so nothing may depend on it.
 *
 * Threads: any. Memory: one path, static.
 */
#ifndef SL_PYTHON_BOOT_H
#define SL_PYTHON_BOOT_H

/* Queues the call, unless it is queued or has run. Works only in the process that called it first:
 * a forked child leaves its interpreter alone. `home`: SYNCLINE_HOME, or "". 0; -EALREADY; -ENOENT:
 * no interpreter, or it has not started yet; -ENOTSUP: an interpreter that we leave alone; -EAGAIN:
 * Python's queue is full. */
int sl_python_boot(const char *home);

/* The same, even if the call has run: the package looks again. */
int sl_python_boot_again(const char *home);

#endif
