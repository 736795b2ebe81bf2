/*
 * et_text.h - finds texts of a Chakra trace that are not UTF-8. Protobuf readers refuse a whole
 * message if one text in it is not UTF-8.
 *
 * A text is a field that has the type string in the schema. Its bytes may have any value.
 *
 * Threads: any; pure functions. Memory: none.
 */
#ifndef SL_ET_TEXT_H
#define SL_ET_TEXT_H

#include <stddef.h>

#include "read/et_wire.h"

/* Size of a printable name with its NUL, in bytes. */
#define SL_ET_TEXT_SHOWN 80

/* These functions return 1, or 0 if the span is not a valid message. The functions set `*refused`
 * to 1 if a text is not UTF-8. Otherwise `*refused` is unchanged. */

/* Checks a message whose fields 1 to `last` are strings: IOInfo, StringList. */
int sl_et_text_of_strings(struct sl_et_span s, uint64_t last, int *refused);
/* Checks an attribute and finds its name and its value. If there is no value, the field number of
 * the value is 0. */
int sl_et_text_of_attribute(struct sl_et_span s, struct sl_et_span *name, struct sl_et_field *value,
                            int *refused);

/* Copies the part of `text` that fits. '?' replaces bytes that are not UTF-8 and terminal control
 * characters. */
void sl_et_text_show(char out[SL_ET_TEXT_SHOWN], const void *text, size_t size);

#endif
