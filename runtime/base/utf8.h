/*
 * utf8.h - checks and repairs UTF-8, and converts UTF-16 and UTF-32 to it.
 *
 * Pure functions; any thread.
 */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the character at `text`, of which `left` bytes (at least one) are available. 0: no
 * valid character starts here (Unicode 15, table 3-7). */
size_t sl_utf8_length(const char *text, size_t left);

/* 1: all of the text is UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates). */
int sl_utf8_valid(const char *text, size_t length);

/* Copies as many whole characters as fit in `size` bytes, with '?' for each invalid byte. Returns
 * the bytes written. */
size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length);

/* Writes one character, U+FFFD for an invalid code. Returns the bytes written; 0: no room. */
size_t sl_utf8_put(char *out, size_t room, uint32_t c);

/* Joins two surrogates to the character that they encode and returns 1. Otherwise returns 0 and
 * leaves `high` unchanged. */
int sl_utf8_join(uint32_t *high, uint32_t low);

/* Converts up to a 0, `most` units, or the end of `out`, whichever comes first. Writes no NUL and
 * returns the bytes written. `text` may be NULL or unaligned. Invalid characters become U+FFFD. */
size_t sl_utf8_from_utf16(char *out, size_t size, const void *text, size_t most);
size_t sl_utf8_from_utf32(char *out, size_t size, const void *text, size_t most);

#endif
