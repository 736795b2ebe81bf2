/*
 * nearest.h - how far a mistyped name is from a known one.
 *
 * Threads: any; pure. Memory: the stack.
 */
#ifndef SL_NEAREST_H
#define SL_NEAREST_H

/* Characters to insert, delete or change to make one the other (Levenshtein's distance), over the
 * first 64 characters of each. */
unsigned sl_nearest_distance(const char *a, const char *b);

#endif
