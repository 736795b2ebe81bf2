/*
 * format.h - formats numbers for readers.
 *
 * Each function writes into a buffer of the caller and returns the buffer. If the function has no
 * size argument, the buffer has SL_FORMAT_SIZE bytes.
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
char *sl_format_about(char *to, uint64_t ns);     /* "2.35 s", "12.3 ms", "178 us", "90 ns" */
char *sl_format_date(char *to, int64_t epoch_ns); /* "2024-04-01 09:44:06.123 UTC" */

/* Writes how many edges were left out for each reason, into `size` bytes. `lost` is indexed by enum
 * sl_edge_loss. Example: "before_window 3, ambiguous 2". Returns 0 if no edges were left out. */
int sl_format_losses(char *to, size_t size, const uint64_t *lost);

#endif
