/*
 * text_table.h - one table for the process that stores each text once and gives it a number.
 *
 * The table keeps registered NVTX strings and source lines of Python. No text is ever removed,
 * because an application may keep its handles forever. Adding a text again gives the same number.
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

/* The number of a text of at most SL_TEXT_MAX bytes; 0: the text is not in the table. */
uint32_t sl_text_table_find(const char *text, size_t length);

/* The text ends in NUL and is valid for the life of the process. NULL: no such number. */
const char *sl_text_table_get(uint32_t number, size_t *length);

/* For similar tables: reserves `wanted` of `count` places, returns the first. `count`: no room. */
uint32_t sl_text_table_take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count);

#endif
