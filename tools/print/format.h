/*
 * format.h - formats numbers for readers.
 *
 * Each writes into a buffer of the caller (SL_FORMAT_SIZE, where no size is given) and returns it.
 *
 * Threads: any. Memory: the caller's.
 */
#ifndef SL_FORMAT_H
#define SL_FORMAT_H

#include <stdint.h>
#include <stdio.h>

#define SL_FORMAT_SIZE 48

char *sl_format_count(char *to, uint64_t value);  /* "1 234 567" */
char *sl_format_bytes(char *to, uint64_t bytes);  /* "12.3 MB", powers of 1000 */
char *sl_format_span(char *to, uint64_t ns);      /* "2.345 s", "12.300 ms", "4.100 us" */
char *sl_format_date(char *to, int64_t epoch_ns); /* "2024-04-01 09:44:06.123 UTC" */

/* Edges that were left out, by enum sl_edge_loss: "before_window 3, ambiguous 2", into `size`
 * bytes; returns 0 if there are none. */
int sl_format_losses(char *to, size_t size, const uint64_t *lost);

#endif
