/*
 * value.h - one payload value of a predefined NVTX type.
 *
 * Pure functions; any thread.
 */
#ifndef SL_NVTX_VALUE_H
#define SL_NVTX_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the size and the alignment, in bytes, of a value of the type. The size is 0 if the type
 * has no fixed size. */
size_t sl_nvtx_value_size(uint64_t type);
size_t sl_nvtx_value_align(uint64_t type);

/* Writes the value to *out, sign-extended. Returns 0 if the type is no integer. `at` need not be
 * aligned. */
int sl_nvtx_value_integer(uint64_t type, const void *at, int64_t *out);

/* Returns the bytes of one character: 1, 2 or 4. Returns 0 if the type has no characters. */
size_t sl_nvtx_value_character(uint64_t type);
int sl_nvtx_value_is_string(uint64_t type);

/* Writes the value as JSON, at most SL_NVTX_VALUE_MAX bytes. Returns the end. */
#define SL_NVTX_VALUE_MAX 64
char *sl_nvtx_value_json(char *at, uint64_t type, const void *value);

#endif
