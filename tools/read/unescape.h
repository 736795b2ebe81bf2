/*
 * unescape.h - the text that a JSON string means.
 *
 * Pure function; any thread.
 */
#ifndef SL_UNESCAPE_H
#define SL_UNESCAPE_H

#include "read/json_event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `text` is the inside of a valid JSON string; `to` has room for `size` bytes. Returns how many it
 * became: never more. A surrogate without its other half becomes '?'. */
size_t sl_unescape(char *to, const char *text, size_t size);

/* What `text`, the inside of a valid JSON string or absent, means: in `room` if it has escapes. As
 * it stands if it has none, or is longer than the room. */
struct sl_text sl_unescaped(struct sl_text text, char *room, size_t room_size);

#ifdef __cplusplus
}
#endif

#endif
