/*
 * utf8.h - checks and repairs UTF-8, and converts UTF-16 and UTF-32 to UTF-8.
 *
 * Pure functions; any thread.
 */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of the character at `text`, where `left` bytes (at least one) are available.
 * Returns 0 if no valid character starts there (Unicode 15, table 3-7). */
size_t sl_utf8_length(const char *text, size_t left);

/* Returns whether the whole text is valid UTF-8, without overlong forms and surrogates (Unicode 15,
 * table 3-7). */
int sl_utf8_valid(const char *text, size_t length);

/* Returns 1 if the character `c` could control a terminal or change the order of text: control
 * characters (newline and tab, too), C1 control characters, and bidirectional controls. For a byte
 * that begins no character, pass the byte. */
int sl_utf8_is_control(uint32_t c);

/* Copies as many whole characters as fit in `size` bytes, with '?' for each invalid byte. Returns
 * the bytes written. */
size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length);

/* Writes one character, or U+FFFD for an invalid code. Returns the number of bytes written, 0 if
 * there is no room. */
size_t sl_utf8_put(char *out, size_t room, uint32_t c);

/* Joins two surrogates to the character that they encode and returns 1. If the two are not a pair
 * of surrogates, returns 0 and leaves `high` unchanged. */
int sl_utf8_join(uint32_t *high, uint32_t low);

/* Converts until a unit is 0, until `most` units are read, or until `out` is full. Writes no NUL
 * and returns the number of bytes written. `text` may be NULL or unaligned. Invalid characters
 * become U+FFFD. */
size_t sl_utf8_from_utf16(char *out, size_t size, const void *text, size_t most);
size_t sl_utf8_from_utf32(char *out, size_t size, const void *text, size_t most);

#endif
