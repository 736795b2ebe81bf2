/*
 * nearest.c - computes the Levenshtein distance of two names.
 *
 * Threads, memory: see nearest.h.
 */
#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define NAME_MAX_EDIT 64

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;

    return least < c ? least : c;
}

/* Keeps only one row of the matrix. */
unsigned sl_nearest_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, NAME_MAX_EDIT), b_length = strnlen(b, NAME_MAX_EDIT);
    unsigned row[NAME_MAX_EDIT + 1];

    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned above = row[j];

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}
