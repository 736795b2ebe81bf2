/*
 * number.h - reads JSON numbers exactly from their text.
 *
 * Times in a trace are decimal microseconds. A double that holds microseconds since the epoch is
 * off by up to 125 ns, so the digits are read instead.
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

/* Computes value * 10^shift of the JSON number text[0..size), rounded half away from zero. *exact
 * is 1 if the result was not rounded. Returns 0, -EINVAL if the text is not a JSON number, or
 * -ERANGE if the result does not fit; *out is then the nearest limit. */
int sl_number_scaled(const char *text, size_t size, int shift, int64_t *out, int *exact);

#ifdef __cplusplus
}
#endif

#endif
