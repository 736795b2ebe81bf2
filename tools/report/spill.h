/*
 * spill.h - arrays that move to temporary files when they take more memory than they may.
 *
 * A file is mapped, so an array is read as if it were in memory, and the system keeps as much of it
 * in memory as there is room.
 *
 * Threads: one owner. Memory: limit_bytes for all arrays, and twice an array while it moves.
 */
#ifndef SL_REPORT_SPILL_H
#define SL_REPORT_SPILL_H

#include <stddef.h>
#include <stdint.h>

struct sl_spill_map {
    void *data;
    size_t bytes;
};

struct sl_spill {
    uint64_t limit_bytes;
    uint64_t used_bytes;      /* of the arrays in memory */
    struct sl_spill_map *map; /* the arrays in files */
    size_t maps, map_slots;
    int error; /* -errno of the first file that failed, or -ENOMEM; 0: none */
};

/* Appends a zeroed element of `size` bytes to `*array`, as sl_grow() does. Returns NULL if that
 * fails; then nothing has changed, except for `error`. */
void *sl_spill_grow(struct sl_spill *s, void **array, size_t *count, size_t *slots, size_t size);

/* Returns 1 if the array is in a file. */
int sl_spill_has(const struct sl_spill *s, const void *array);

/* Frees an array. Its memory still counts as used, because its size is not known here. NULL is
 * fine.
 */
void sl_spill_free(struct sl_spill *s, void *array);

/* Frees what the struct itself needs, after all arrays. */
void sl_spill_end(struct sl_spill *s);

#endif
