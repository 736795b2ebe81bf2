/*
 * scan.h - finds the end of a JSON value.
 *
 * Finds the bracket that closes a value, aware of strings and escapes, 64 bytes at a time. The JSON
 * parser checks the text between the brackets.
 *
 * Threads: plain data of one owner. Memory: none.
 */
#ifndef SL_SCAN_H
#define SL_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that must be readable (not necessarily meaningful) after the text given to the scan. */
#define SL_SCAN_PADDING 64

struct sl_scan {
    uint64_t depth;
    uint64_t in_string; /* all ones inside a string, else 0 */
    uint64_t escaped;   /* 1 if the next byte is escaped */
    size_t done;        /* number of bytes of the value that are scanned so far */
};

/* Scans text[s->done .. size) of a value that begins with '{', '[' or '"'. Returns the size of the
 * value, or 0 if its end is not in the text. After a 0, call the function again with the same text,
 * extended by more text. `last` is not 0 if no more text will follow. */
size_t sl_scan_end(struct sl_scan *s, const char *text, size_t size, int last);

#endif
