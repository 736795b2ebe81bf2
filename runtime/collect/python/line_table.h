/*
 * line_table.h - finds the source line of a CPython instruction.
 *
 * A code object has a table that maps its instructions to lines. The table's form has changed twice
 * since 3.9. CPython describes the three forms in Objects/lnotab_notes.txt and
 * Objects/locations.md; this file parses all three. Nothing in a table is trusted.
 *
 * Threads: any; pure functions. Memory: the caller's.
 */
#ifndef SL_PYTHON_LINE_TABLE_H
#define SL_PYTHON_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum sl_python_table {
    SL_PYTHON_LNOTAB,    /* 3.9: pairs of two differences, of the instruction offset and of the
                          * line */
    SL_PYTHON_LINETABLE, /* 3.10: pairs of a number of bytes and a line difference */
    SL_PYTHON_LOCATIONS, /* 3.11 and later: entries that also have columns */
};

/* Returns the line of the instruction that is `offset` bytes after the first, in code that begins
 * at line `first`. An instruction without a line (made by the compiler) gets the line of the
 * instructions before it. Returns 0 if the table ends before the instruction. */
int sl_python_line_find(enum sl_python_table form, const uint8_t *table, size_t length, int first,
                        size_t offset);

#endif
