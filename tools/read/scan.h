/*
 * scan.h - where does this JSON value end?
 *
 * Finds the bracket that closes a value, aware of strings and escapes, 64 bytes at a time. It
 * checks nothing else: what lies between the brackets is for the JSON parser.
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
    size_t done;        /* bytes of the value looked at */
};

/* Looks at text[s->done .. size) of a value that begins with '{', '[' or '"'. Returns the value's
 * size once its end is found, else 0; then call again with more text (the same text, longer).
 * `last`: no more will come. */
size_t sl_scan_end(struct sl_scan *s, const char *text, size_t size, int last);

#endif
