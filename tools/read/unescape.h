/*
 * unescape.h - the text that a JSON string means.
 *
 * Pure function; any thread.
 */
#ifndef SL_UNESCAPE_H
#define SL_UNESCAPE_H

#include <stddef.h>

/* `text` is the inside of a valid JSON string; `to` has room for `size` bytes. Returns how many it
 * became: never more. A surrogate without its other half becomes '?'. */
size_t sl_unescape(char *to, const char *text, size_t size);

#endif
