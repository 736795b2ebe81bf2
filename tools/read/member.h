/*
 * member.h - the text of one member of a JSON object that is known to be valid.
 *
 * Threads: pure function; any. Memory: none.
 */
#ifndef SL_MEMBER_H
#define SL_MEMBER_H

#include "read/json_event.h"

/* The value of `key` as it is written, white space around it left out; data NULL: there is none.
 * SL_SCAN_PADDING bytes behind the object must be readable. */
struct sl_text sl_member_find(struct sl_text object, const char *key);

/* The next element of an array, or member of an object with its key; *at begins with 0. 1, or 0
 * when there is no more. `key` may be NULL; it is raw, without quotes. */
int sl_member_next(struct sl_text container, size_t *at, struct sl_text *key,
                   struct sl_text *value);

#endif
