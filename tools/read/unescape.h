/*
 * unescape.h - decodes the escapes of a JSON string.
 *
 * Pure function; any thread.
 */
#ifndef SL_UNESCAPE_H
#define SL_UNESCAPE_H

#include "read/json_event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `text` is the inside of a valid JSON string; `to` has room for `size` bytes. Returns the decoded
 * size, at most `size`. A lone surrogate becomes '?'. */
size_t sl_unescape(char *to, const char *text, size_t size);

/* Decodes `text` into `room`. `text` is the inside of a valid JSON string, or absent. A text
 * without escapes, or longer than the room, is returned unchanged. */
struct sl_text sl_unescaped(struct sl_text text, char *room, size_t room_size);

#ifdef __cplusplus
}
#endif

#endif
