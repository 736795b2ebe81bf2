/*
 * frames.h - finds the line of the user's Python code that the calling thread is running.
 *
 * The line is that of the innermost frames outside of libraries (Python's own, PyTorch's, Triton's,
 * ours). A thread that has only library frames, such as autograd's, has no line. The line is read
 * from the thread's own frames in memory, without taking CPython's lock. This is safe because the
 * caller is C code that Python code has called: until it returns, the thread's frames do not
 * change, and the frames and the objects they refer to stay alive, with or without the lock. We
 * change nothing, not even reference counts.
 *
 * Threads: any; nothing blocks or allocates. A call takes some 15 ns if this thread has run the
 * same place recently, 50 ns if only another thread has, and a few microseconds otherwise. Memory:
 * a fixed table. base/text_table.h keeps each text once.
 */
#ifndef SL_PYTHON_FRAMES_H
#define SL_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"

struct sl_python_code_cache;

/* Finds CPython. Call once per process, before the other functions. `depth` is the number of lines
 * wanted, from the innermost outwards; with 0, CPython is not looked for. Returns 0, -ENOENT if
 * there is no Python, -ENOTSUP if this Python is not supported, or -ENOMEM. */
int sl_python_lines_init(unsigned depth);

/* Ends the finding of lines for good (in a forked child). */
void sl_python_lines_stop(void);

/* Returns the calling thread's innermost frame, NULL if there is none. If the result differs from
 * an earlier one inside the same C call, Python code was entered in between. */
const void *sl_python_frame(void);

/* The line of the calling thread's innermost frame, as a number of its text in
 * base/text_table.h ("FILE:LINE FUNCTION"; several are joined by " < ", the innermost first). 0:
 * the thread runs only library code, or there is no room for the text. `seen` makes repetition
 * cheaper; may be NULL. */
uint32_t sl_python_line(const void *frame, struct sl_python_code_cache *seen);

#endif
