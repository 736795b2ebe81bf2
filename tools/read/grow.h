/*
 * grow.h - an array that grows by half of its size.
 *
 * Any thread; the caller owns the array, which free() frees.
 */
#ifndef SL_GROW_H
#define SL_GROW_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Appends a zeroed element of `size` bytes to `*array`, which may move. Returns the element, or
 * NULL if there is no memory; then nothing has changed. */
static inline void *sl_grow(void **array, size_t *count, size_t *slots, size_t size)
{
    if (!*array || *count == *slots) {
        size_t more = *slots ? *slots + *slots / 2 : 64;
        void *grown = realloc(*array, more * size);

        if (!grown)
            return NULL;
        *array = grown;
        *slots = more;
    }
    return memset((char *)*array + (*count)++ * size, 0, size);
}

#endif
