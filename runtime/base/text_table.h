/*
 * text_table.h - stores each text once, in one table for the process, and gives it a number.
 *
 * The table stores registered NVTX strings and source lines of Python. No text is ever removed,
 * because an application may use its handles for the life of the process. A text that is added
 * again gets the same number.
 *
 * Threads: any thread adds and reads; nothing blocks. Memory: static, touched as it
 * fills. A text without room is dropped and counted in SL_STAT_NAMES_LOST.
 */
#ifndef SL_TEXT_TABLE_H
#define SL_TEXT_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_TEXT_MAX = 1023, /* bytes kept of a text */
};

/* Adds a text. Returns its number, from 1; 0: no room. */
uint32_t sl_text_table_put(const char *text, size_t length);

/* Returns the number of a text of at most SL_TEXT_MAX bytes, 0 if the text is not in the table. */
uint32_t sl_text_table_find(const char *text, size_t length);

/* Returns a text, which ends in NUL and is valid for the life of the process. NULL if there is no
 * such number. */
const char *sl_text_table_get(uint32_t number, size_t *length);

/* For similar tables. Reserves `wanted` of `count` entries and returns the index of the first;
 * `count` if there is no room. */
uint32_t sl_text_table_take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count);

#endif
