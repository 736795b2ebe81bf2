/*
 * boot.h - starts our Python package in the interpreter of the process.
 *
 * Python runs a queued call on its main thread, between two bytecode instructions. So our thread
 * never waits for the GIL, and may hold locks while it queues the call. The queued call runs
 * syncline/_boot.py from our folder, which installs the package's hooks. If the main thread is
 * blocked for ever, Python never runs the call, so nothing may depend on the call.
 *
 * Threads: any. Memory: one path, static.
 */
#ifndef SL_PYTHON_BOOT_H
#define SL_PYTHON_BOOT_H

/* Queues the call. `home` is SYNCLINE_HOME or "". Returns 0; -EALREADY if the call is queued or has
 * run, or in a forked child; -ENOENT if there is no interpreter, or if the interpreter has not
 * started yet; -ENOTSUP if this interpreter or our package cannot be used; -EAGAIN if Python's
 * queue is full. */
int sl_python_boot(const char *home);

/* Like sl_python_boot(), but queues the call again if it has run, so that the package finds
 * libraries that were loaded since. */
int sl_python_boot_again(const char *home);

#endif
