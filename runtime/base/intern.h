/*
 * intern.h - each text once.
 *
 * Threads: one inserting thread; any thread may read an id that reached it through a
 * release/acquire hand-over. Texts never move and live as long as the table.
 * Memory is bounded by `cap_bytes`; past it sl_intern_put() gives 0 and the loss is the caller's
 * to count.
 */
#ifndef SL_INTERN_H
#define SL_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct sl_intern;

/* 0 or -ENOMEM. */
int sl_intern_create(struct sl_intern **out, size_t cap_bytes);
void sl_intern_destroy(struct sl_intern *in); /* NULL is fine */

/* Inserting thread only. `text` need not end in NUL; any bytes. Ids count from 1, without gaps. */
uint32_t sl_intern_put(struct sl_intern *in, const char *text, size_t length);

/* The id of a text that has one, else 0. Inserting thread only. */
uint32_t sl_intern_find(const struct sl_intern *in, const char *text, size_t length);

/* As put, for a NUL-terminated text at an address that usually holds the same text again (a
 * kernel's name in CUPTI's records): the address is a hint that is verified, never trusted. */
uint32_t sl_intern_put_hinted(struct sl_intern *in, const char *text);

/* Any thread. NUL-terminated; `length` may be NULL. NULL for 0 and for ids never given out. */
const char *sl_intern_get(const struct sl_intern *in, uint32_t id, size_t *length);

uint32_t sl_intern_count(const struct sl_intern *in);
size_t sl_intern_bytes(const struct sl_intern *in); /* memory taken */

#endif
