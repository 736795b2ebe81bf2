/*
 * text_table.h - one table of texts that are told once, each with a number.
 *
 * Registered NVTX strings and source lines of Python are kept here. Nothing is ever taken out: an
 * application keeps its handles for as long as it likes. A text that comes again gets its first
 * number again.
 *
 * Threads: any thread adds and reads; nothing blocks. Memory: fixed tables, one per process,
 * touched as they fill. A text without room is counted as SL_STAT_NAMES_LOST.
 */
#ifndef SL_TEXT_TABLE_H
#define SL_TEXT_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_TEXT_MAX = 1023, /* bytes of a text that are kept */
};

/* 0, -ENOMEM, or -EALREADY. */
int sl_text_table_init(void);

/* The number of a text, from 1; 0: no room. */
uint32_t sl_text_table_put(const char *text, size_t length);

/* The number of a text of at most SL_TEXT_MAX bytes, if it has one already; else 0. */
uint32_t sl_text_table_find(const char *text, size_t length);

/* Borrowed for the life of the process, ends in NUL. NULL: no such number. */
const char *sl_text_table_get(uint32_t number, size_t *length);

/* For tables of the same kind: takes `wanted` of `count` places. `count`: there is no room. */
uint32_t sl_text_table_take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count);

#endif
