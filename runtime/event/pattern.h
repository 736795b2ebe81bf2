/*
 * pattern.h - splits a text into a pattern and the numbers in it.
 *
 * Programs often put numbers into the names of ranges, for example "step 1041" or "epoch 3 batch
 * 17". A table of all such names would grow without limit. A pattern is the text with each of its
 * last two numbers replaced by a NUL. All names that differ only in these numbers have the same
 * pattern.
 *
 * Pure functions; any thread.
 */
#ifndef SL_PATTERN_H
#define SL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define SL_PATTERN_NUMBERS 2

/* `text` contains no NUL; `out` has room for `length` bytes. If the text has fewer than two
 * numbers, the missing numbers are 0. Returns the length of the pattern. */
size_t sl_pattern_make(char *out, const char *text, size_t length,
                       uint32_t number[SL_PATTERN_NUMBERS]);

/* Returns 1 if the pattern contains replaced numbers. */
int sl_pattern_varies(const char *pattern, size_t length);

/* Packs both numbers into the 64-bit form that events use. */
static inline uint64_t sl_pattern_pack(const uint32_t number[SL_PATTERN_NUMBERS])
{
    return number[0] | (uint64_t)number[1] << 32;
}

/* Writes the text piece by piece. `put` copies the bytes of a piece to `at` and returns the end of
 * the copy. */
char *sl_pattern_expand(char *at, const char *pattern, size_t length, uint64_t numbers,
                        char *(*put)(char *at, const char *text, size_t length));

#endif
