/*
 * frames.h - finds the line of the user's Python code that the calling thread is at.
 *
 * The line is that of the innermost frames outside of libraries (Python's own, PyTorch's, Triton's,
 * ours). On threads with library frames only, such as autograd's, there is no line. The line is
 * read from the thread's own frames in memory. CPython's lock is never taken. The caller is C code
 * that Python code has called, so the thread's frames stand still. They and the objects they refer
 * to are alive, with or without the lock. Nothing is changed, and no reference is counted.
 *
 * Threads: any; nothing blocks or allocates. Takes some 15 ns if the thread was there recently, 50
 * ns if another thread was, a few microseconds otherwise. Memory: a fixed table. base/text_table.h
 * keeps each text once.
 */
#ifndef SL_PYTHON_FRAMES_H
#define SL_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"

struct sl_python_code_cache;

/* Call once per process, before other calls: finds CPython. `depth`: how many lines are wanted,
 * from the innermost outwards; 0: none, and CPython is not looked for. 0; -ENOENT: no Python;
 * -ENOTSUP: an unknown Python; -ENOMEM. */
int sl_python_lines_init(unsigned depth);

/* From now on there are no lines (in a forked child). */
void sl_python_lines_stop(void);

/* The calling thread's innermost frame; NULL: none. If it differs from an earlier result while the
 * outer call has not ended, Python code was entered in between. */
const void *sl_python_frame(void);

/* The line of the calling thread's innermost frame, as a number of its text in
 * base/text_table.h ("FILE:LINE FUNCTION"; several are joined by " < ", the innermost first). 0:
 * the thread runs only library code, or there is no room for the text. `seen` makes repetition
 * cheaper; may be NULL. */
uint32_t sl_python_line(const void *frame, struct sl_python_code_cache *seen);

#endif
