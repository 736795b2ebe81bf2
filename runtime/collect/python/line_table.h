/*
 * line_table.h - which source line an instruction of CPython's belongs to.
 *
 * A code object carries a table from its instructions to lines; its form has changed twice since
 * 3.9. Here they are read as bytes, from a description of the forms (Objects/lnotab_notes.txt,
 * Objects/locations.md of CPython), and nothing in them is trusted.
 *
 * Threads: any; pure functions. Memory: the caller's.
 */
#ifndef SL_PYTHON_LINE_TABLE_H
#define SL_PYTHON_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum sl_python_table {
    SL_PYTHON_LNOTAB,    /* 3.9: pairs of an instruction's offset and a line, as differences */
    SL_PYTHON_LINETABLE, /* 3.10: pairs of a length and a line's difference */
    SL_PYTHON_LOCATIONS, /* 3.11 and later: entries that have columns too */
};

/* The line of the instruction `offset` bytes behind the first, in code that begins at line `first`.
 * An instruction that has none (the compiler's own) gets that of the ones before it. 0: the table
 * does not reach so far. */
int sl_python_line_find(enum sl_python_table form, const uint8_t *table, size_t length, int first,
                        size_t offset);

#endif
