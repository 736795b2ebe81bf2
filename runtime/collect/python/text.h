/*
 * text.h - texts of CPython's, and what they say of a frame.
 *
 * Threads: any; pure functions of memory that stands still. Memory: the caller's.
 */
#ifndef SL_PYTHON_TEXT_H
#define SL_PYTHON_TEXT_H

#include <stddef.h>

#include "collect/lane/lane.h"
#include "collect/python/layout.h"

#define SL_PYTHON_TEXT_MAX SL_LANE_TEXT_MAX

/* The characters of a str. */
struct sl_python_chars {
    const char *data;
    size_t length; /* characters */
    unsigned kind; /* bytes of each: 1, 2, 4 */
    int is_ascii;
};

void sl_python_chars_of(const struct sl_python_layout *l, const void *str,
                        struct sl_python_chars *out);

/* Where PyTorch and its companions lie, if that is not where packages are installed. At most once;
 * copied. */
void sl_python_packages_are_in(const char *folder);

/* Whether a file is Python's own, PyTorch's, Triton's or ours, or made by them: none where a user
 * would look for the reason of a wait. */
int sl_python_is_library(const struct sl_python_layout *l, const void *file);

/* "FILE:LINE FUNCTION" behind the `length` bytes that are there, with " < " between: at most `most`
 * bytes of `text`'s SL_PYTHON_TEXT_MAX; a long path loses its beginning. Returns the new length. */
size_t sl_python_text_add(const struct sl_python_layout *l, char *text, size_t length, size_t most,
                          const void *file, const void *function, int line);

#endif
