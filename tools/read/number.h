/*
 * number.h - JSON numbers from their text, exactly.
 *
 * A trace's times are decimal microseconds; a double of an epoch time in microseconds is off by up
 * to 125 ns. So numbers are read from their digits.
 *
 * Threads: pure functions.
 */
#ifndef SL_NUMBER_H
#define SL_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if text[0..size) is a JSON number (RFC 8259, section 6). */
int sl_number_valid(const char *text, size_t size);

/* value * 10^shift of the JSON number text[0..size), rounded half away from zero. *exact: nothing
 * was rounded away. 0; -EINVAL: not a JSON number; -ERANGE: does not fit
 * (*out is then the nearest limit). */
int sl_number_scaled(const char *text, size_t size, int shift, int64_t *out, int *exact);

#ifdef __cplusplus
}
#endif

#endif
