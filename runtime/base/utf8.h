/*
 * utf8.h - UTF-8: checked, mended, and made of other forms of Unicode.
 *
 * Pure functions; any thread.
 */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the character at `text`, of which `left` bytes are there and at least one; 0: there is
 * none (Unicode 15, table 3-7). */
size_t sl_utf8_length(const char *text, size_t left);

/* 1 if all of it is UTF-8 (Unicode 15, table 3-7: no overlong form, no surrogate). */
int sl_utf8_valid(const char *text, size_t length);

/* Copies what fits in `size` bytes, never half a character, with '?' for each byte that belongs to
 * none. Returns the bytes written. */
size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length);

/* Writes one character, U+FFFD for a code that is none. Returns the bytes written, 0: no room. */
size_t sl_utf8_put(char *out, size_t room, uint32_t c);

/* Two surrogates become the character that they stand for: 1. Else 0, and `high` stays. */
int sl_utf8_join(uint32_t *high, uint32_t low);

/* Up to a 0, `most` units, or the end of `out`, whatever comes first. Returns the bytes written;
 * no NUL is. `text` may be NULL, and need not be aligned. What is no character becomes U+FFFD. */
size_t sl_utf8_from_utf16(char *out, size_t size, const void *text, size_t most);
size_t sl_utf8_from_utf32(char *out, size_t size, const void *text, size_t most);

#endif
