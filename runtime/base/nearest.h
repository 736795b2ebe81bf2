/*
 * nearest.h - how far a mistyped name is from a known one.
 *
 * Threads: any; pure. Memory: the stack.
 */
#ifndef SL_NEAREST_H
#define SL_NEAREST_H

/* Levenshtein distance: the least number of characters to insert, delete or change, over the first
 * 64 characters of each name. */
unsigned sl_nearest_distance(const char *a, const char *b);

#endif
