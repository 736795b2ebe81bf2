/*
 * safe_stream.h - keeps names in traces and paths from controlling the reader's terminal.
 *
 * A kernel's name, a range's text or a file name may contain escape sequences, or characters that
 * reverse the direction of text. A stream of this kind passes everything on but these: control
 * characters other than newline and tab, C1 control characters, and bidirectional controls of
 * Unicode.
 *
 * Threads: those of stdio. Memory: one small block a stream, kept to the end.
 */
#ifndef SL_SAFE_STREAM_H
#define SL_SAFE_STREAM_H

#include <stdio.h>

/* Returns a stream that writes to `below`. Unsafe characters become '?', or \uXXXX in JSON, where
 * they can only be in strings. If there is no memory, returns `below`. */
FILE *sl_safe_stream(FILE *below, int is_json);

#endif
