/*
 * read_ahead.h - takes the compression off in a thread of its own, a few blocks ahead.
 *
 * Threads: start, read, get_status and stop from one owner; the helper thread alone touches the
 * input between start and stop. Memory: SL_READ_AHEAD_BLOCKS blocks.
 */
#ifndef SL_READ_AHEAD_H
#define SL_READ_AHEAD_H

#include <stddef.h>

#include "read/input_file.h"

#define SL_READ_AHEAD_BLOCKS      4
#define SL_READ_AHEAD_BLOCK_BYTES (1u << 20)

struct sl_read_ahead;

/* Borrows `input`. 0 or -errno. */
int sl_read_ahead_start(struct sl_read_ahead **out, struct sl_input *input);
/* Waits for the helper to leave the input, and frees. NULL is fine. */
void sl_read_ahead_stop(struct sl_read_ahead *a);

/* Next text: > 0, or 0 at the end. Fits sl_split's reader. */
size_t sl_read_ahead_read(void *ahead, void *data, size_t size);

/* The input's status as of the last block taken by the reader. */
void sl_read_ahead_get_status(struct sl_read_ahead *a, struct sl_input_status *out);

#endif
