/*
 * text.h - wide characters as UTF-8.
 *
 * Pure functions; any thread. What is no character becomes U+FFFD.
 */
#ifndef SL_NVTX_TEXT_H
#define SL_NVTX_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Up to a 0, `most` units, or the end of `out`, whatever comes first. Returns the bytes written;
 * no NUL is. `text` may be NULL, and need not be aligned. */
size_t sl_nvtx_text_utf16(char *out, size_t size, const void *text, size_t most);
size_t sl_nvtx_text_utf32(char *out, size_t size, const void *text, size_t most);

#endif
