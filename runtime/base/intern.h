/*
 * intern.h - stores each text once and gives it a number, the id.
 *
 * Threads: one thread inserts. Any thread may read an id that it has received by a release/acquire
 * hand-off. Texts never move and live as long as the table. Memory is bounded by `cap_bytes`. When
 * this memory is used up, sl_intern_put() returns 0 and the caller counts the loss.
 */
#ifndef SL_INTERN_H
#define SL_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct sl_intern;

/* Returns 0 or -ENOMEM. */
int sl_intern_create(struct sl_intern **out, size_t cap_bytes);
void sl_intern_destroy(struct sl_intern *in); /* NULL is allowed */

/* Inserting thread only. Returns the id of the text, which may be any bytes. Ids count from 1
 * without gaps. */
uint32_t sl_intern_put(struct sl_intern *in, const char *text, size_t length);

/* Inserting thread only. Returns the id of the text, or 0 if the text is not in the table. */
uint32_t sl_intern_find(const struct sl_intern *in, const char *text, size_t length);

/* Like sl_intern_put(), but faster for a NUL-terminated text at an address that usually holds the
 * same text, such as a kernel name in CUPTI records. The address is only a hint, because the text
 * is always compared.
 */
uint32_t sl_intern_put_hinted(struct sl_intern *in, const char *text);

/* Any thread. Returns the text, which ends in NUL; `length` may be NULL. Returns NULL for 0 and for
 * unknown ids. */
const char *sl_intern_get(const struct sl_intern *in, uint32_t id, size_t *length);

uint32_t sl_intern_count(const struct sl_intern *in);
size_t sl_intern_bytes(const struct sl_intern *in); /* returns the bytes of memory in use */

#endif
