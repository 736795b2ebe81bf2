/*
 * nearest.h - computes how far a mistyped name is from a known name.
 *
 * Threads: any; pure. Memory: the stack.
 */
#ifndef SL_NEAREST_H
#define SL_NEAREST_H

/* Returns the Levenshtein distance, which is the least number of characters to insert, delete or
 * change. Only the first 64 characters of each name count. */
unsigned sl_nearest_distance(const char *a, const char *b);

#endif
