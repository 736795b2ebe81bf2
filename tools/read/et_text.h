/*
 * et_text.h - which texts of a Chakra trace are not UTF-8? Protobuf's readers refuse the whole
 * message that has one.
 *
 * Texts are what the schema calls a string; its bytes may be anything.
 *
 * Threads: any; pure functions. Memory: none.
 */
#ifndef SL_ET_TEXT_H
#define SL_ET_TEXT_H

#include <stddef.h>

#include "read/et_wire.h"

/* A name as it is shown, and its end. */
#define SL_ET_TEXT_SHOWN 80

/* All of these return 1, or 0 if what should be a message is none. `*refused` becomes 1 if a text
 * is not UTF-8, else it stays. */

/* Of a message whose fields 1 to `last` are strings: IOInfo, StringList. */
int sl_et_text_of_strings(struct sl_et_span s, uint64_t last, int *refused);
/* Of one field of an attribute. */
int sl_et_text_of_field(const struct sl_et_field *f, int *refused);
/* Of an attribute, and the name that it has. */
int sl_et_text_of_attribute(struct sl_et_span s, struct sl_et_span *name, int *refused);

/* What fits of it, with '?' for what is not UTF-8 and for what drives a terminal. */
void sl_et_text_show(char out[SL_ET_TEXT_SHOWN], const void *text, size_t size);

#endif
