/*
 * nsys_file.h - reads an export of NVIDIA's nsys (`nsys export --type sqlite`) as a Kineto trace.
 *
 * The reader writes the rows of the database as the text of a Kineto trace, nearly in order of
 * start. So every command reads an export of nsys as it reads a file of torch.profiler. Tables and
 * columns are found by their names, because each version of nsys has others. Missing tables and
 * columns count as empty.
 *
 * The database is opened read-only and immutable: locks and journals are ignored, and no file is
 * written. Nothing of the schema but plain tables is used, so a hostile database cannot make SQLite
 * run views, triggers or functions.
 *
 * Threads: one owner at a time. Memory: about 4 MiB, plus 24 bytes for each record of an event
 * (at most 48 MiB).
 */
#ifndef SL_NSYS_FILE_H
#define SL_NSYS_FILE_H

#include <stddef.h>
#include <stdint.h>

struct sl_nsys;

/* Returns 0, or a negative errno with a one-line message in `why`. */
int sl_nsys_open(struct sl_nsys **out, const char *path, char *why, size_t why_size);
void sl_nsys_close(struct sl_nsys *n); /* NULL is fine */

/* Copies the next text to `data`, and returns its size. Returns 0 at the end of the text, or if the
 * database is damaged. */
size_t sl_nsys_read(struct sl_nsys *n, void *data, size_t size);

/* Returns a message if the database is damaged, or NULL. Valid until the file is closed. */
const char *sl_nsys_error(const struct sl_nsys *n);

/* Returns which part of the rows has been read, as a number from 0 to `whole`. */
uint64_t sl_nsys_done(const struct sl_nsys *n, uint64_t whole);

/* Returns whether the first bytes of a file are those of an SQLite database. */
int sl_nsys_is_database(const void *first, size_t size);

/* Returns whether this is the name of a recording of nsys that was not exported. */
int sl_nsys_is_recording(const char *path);

#endif
