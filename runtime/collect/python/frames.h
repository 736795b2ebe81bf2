/*
 * frames.h - finds the line of the user's Python code that the calling thread is running.
 *
 * The result is the line of the innermost frame outside of libraries, which are Python's own files,
 * PyTorch, Triton and syncline. A thread that runs only library code, such as a thread of autograd,
 * has no line. The line is read from the thread's own frames in memory, without taking CPython's
 * lock. Reading is safe because the caller is C code that Python code has called. Until the caller
 * returns, the thread's frames do not change. The frames and the objects to which they refer stay
 * alive, with or without the lock. We change nothing, not even reference counts.
 *
 * Threads: any; nothing blocks or allocates. A call takes some 15 ns if this thread has recently
 * run the same place in the code, 50 ns if only another thread has run it, and otherwise a few
 * microseconds. Memory: a fixed table. base/text_table.h keeps each text once.
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

/* Turns the finding of lines off for good (in a forked child). */
void sl_python_lines_stop(void);

/* Returns the calling thread's innermost frame, or NULL if the thread has no frame. If two results
 * inside the same C call differ, the C code has called Python code in between. */
const void *sl_python_frame(void);

/* Returns the line of the calling thread's innermost frame outside of libraries, as the number of
 * the line's text in base/text_table.h. The text is "FILE:LINE FUNCTION"; several lines are joined
 * by " < ", the innermost first. Returns 0 if the thread runs only library code, or if there is no
 * room for the text. `seen` makes repeated calls cheaper; may be NULL. */
uint32_t sl_python_line(const void *frame, struct sl_python_code_cache *seen);

/* Looks for the outermost of some functions among the frames that belong to some files, from
 * `frame` outwards up to the first frame of another file. `files` are the ends of paths; both lists
 * end with NULL. Returns the function's position in the list, from 1 on, or 0 if there is none. */
unsigned sl_python_function(const void *frame, const char *const *files,
                            const char *const *functions);

#endif
