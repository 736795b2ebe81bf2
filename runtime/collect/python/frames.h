/*
 * frames.h - on which line of the user's Python code the calling thread is.
 *
 * The line is that of the innermost frames that are no library's (Python's own, PyTorch's,
 * Triton's, ours); where all are, as on autograd's threads, there is no line. It is read from the
 * thread's own frames as they lie in memory, without CPython's lock, which is never taken: who
 * calls here is called by C code that Python has called, so the thread's frames stand still and are
 * alive, and what they refer to is, with the lock or without it. Nothing is changed, no reference
 * is counted.
 *
 * Threads: any; nothing blocks or allocates. Some 15 ns where the thread was there lately, 50 where
 * another was, a few microseconds else. Memory: a fixed table; texts are kept with those of NVTX
 * (nvtx_names), each once, up to its bounds.
 */
#ifndef SL_PYTHON_FRAMES_H
#define SL_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"

struct sl_python_code_cache;

/* Once per process, before others call: finds CPython. `depth`: how many lines are wanted, from the
 * innermost outwards; 0: none, nothing is found. 0; -ENOENT: there is no Python;
 * -ENOTSUP: one that is not known; -ENOMEM. */
int sl_python_lines_init(unsigned depth);

/* From now on there are none (in a forked child). */
void sl_python_lines_stop(void);

/* The calling thread's innermost frame, to be compared with what this gave before: while the outer
 * call has not ended, another one means that Python code was entered in between. NULL: none. */
const void *sl_python_frame(void);

/* The line of the calling thread's innermost frame, as a number that stands for its text; 0: it
 * runs no Python code but libraries', or there is no room for the text. `seen`: makes what comes
 * again cheaper; NULL is fine. */
uint32_t sl_python_line(const void *frame, struct sl_python_code_cache *seen);

/* "FILE:LINE FUNCTION", of several " < " between them, the innermost first. Borrowed for the life
 * of the process, ends in NUL; NULL: no such number. */
const char *sl_python_line_text(uint32_t line, size_t *length);

#endif
