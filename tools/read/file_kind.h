/*
 * file_kind.h - says what a file is that is no trace, so that the user knows what to do with it.
 *
 * Pure function; any thread.
 */
#ifndef SL_FILE_KIND_H
#define SL_FILE_KIND_H

#include <stddef.h>

/* `text` is the beginning of the file; a few hundred bytes are enough. Returns a text that says
 * what the file is and what to do ("it is a zip archive: unpack it first"), or NULL if the file is
 * of no known kind. */
const char *sl_file_kind(const char *text, size_t size);

#endif
