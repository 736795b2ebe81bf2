/*
 * text_table.h - stores each text once, in one table for the process, and gives it a number.
 *
 * The table stores registered NVTX strings and source lines of Python. No text is ever removed,
 * because the application may use the handle of a registered string until the process ends. A text
 * that is added again gets the same number.
 *
 * Threads: any thread adds and reads; nothing blocks. Memory: static tables, whose pages are
 * touched only when texts are added. A text for which there is no room is dropped and counted in
 * SL_STAT_NAMES_LOST.
 */
#ifndef SL_TEXT_TABLE_H
#define SL_TEXT_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SL_TEXT_MAX = 1023, /* longest text in bytes; the rest of a longer text is cut */
};

/* Adds a text. Returns the text's number, counted from 1, or 0 if there is no room. */
uint32_t sl_text_table_put(const char *text, size_t length);

/* Returns the number of a text of at most SL_TEXT_MAX bytes, or 0 if the text is not in the
 * table. */
uint32_t sl_text_table_find(const char *text, size_t length);

/* Returns the text of a number. The text ends in NUL and is valid for the life of the process.
 * Returns NULL if no text has this number. */
const char *sl_text_table_get(uint32_t number, size_t *length);

/* Also used by other tables. Reserves `wanted` of `count` entries and returns the index of the
 * first reserved entry, or `count` if there is no room. */
uint32_t sl_text_table_take_place(_Atomic uint32_t *used, uint32_t wanted, uint32_t count);

#endif
