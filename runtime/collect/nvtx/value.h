/*
 * value.h - one value of a payload, of one of NVTX's predefined types.
 *
 * Pure functions; any thread.
 */
#ifndef SL_NVTX_VALUE_H
#define SL_NVTX_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a value of that type, and where it may stand; 0: not a type of fixed size. */
size_t sl_nvtx_value_size(uint64_t type);
size_t sl_nvtx_value_align(uint64_t type);

/* Of an integer, sign-extended; 0: it is none. `at` need not be aligned. */
int sl_nvtx_value_integer(uint64_t type, const void *at, int64_t *out);

/* Bytes of one character: 1, 2, 4; 0: no type of characters or strings. */
size_t sl_nvtx_value_character(uint64_t type);
int sl_nvtx_value_is_string(uint64_t type);

/* As JSON, at most SL_NVTX_VALUE_MAX bytes; the end of what was written. */
#define SL_NVTX_VALUE_MAX 64
char *sl_nvtx_value_json(char *at, uint64_t type, const void *value);

#endif
