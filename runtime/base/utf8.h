/*
 * utf8.h - is this text UTF-8, and if not, what comes nearest?
 *
 * Pure functions; any thread.
 */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include <stddef.h>

/* 1 if all of it is (Unicode 15, table 3-7: no overlong form, no surrogate). */
int sl_utf8_valid(const char *text, size_t length);

/* Copies what fits in `size` bytes, never half a character, with '?' for each byte that belongs to
 * none. Returns the bytes written. */
size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length);

#endif
