/*
 * read_ahead.h - decompresses in a separate thread, a few blocks ahead of the reader.
 *
 * Threads: one owner calls start, read, get_status and stop. Between start and stop only the helper
 * thread uses the input. Memory: SL_READ_AHEAD_BLOCKS blocks.
 */
#ifndef SL_READ_AHEAD_H
#define SL_READ_AHEAD_H

#include <stddef.h>

#include "read/input_file.h"

#define SL_READ_AHEAD_BLOCKS      4
#define SL_READ_AHEAD_BLOCK_BYTES (1u << 20)

struct sl_read_ahead;

/* Starts the helper thread. `input` is borrowed. Returns 0 or -errno. */
int sl_read_ahead_start(struct sl_read_ahead **out, struct sl_input *input);
/* Waits until the helper no longer uses the input, then frees `a`. NULL is fine. */
void sl_read_ahead_stop(struct sl_read_ahead *a);

/* Copies the next text to `data`, and returns its size, or 0 at the end. The function has the type
 * sl_split_read_fn. */
size_t sl_read_ahead_read(void *ahead, void *data, size_t size);

/* Sets *out to the input's status after the last block that the owner has read. */
void sl_read_ahead_get_status(struct sl_read_ahead *a, struct sl_input_status *out);

#endif
