/*
 * body.h - reads a trace file as gzip: a gzip file as it is, any other file compressed on the fly.
 *
 * Threads: one owner. Memory: one block, and for files that are not gzip about 1 MiB more.
 */
#ifndef SL_OPEN_BODY_H
#define SL_OPEN_BODY_H

#include <stddef.h>
#include <sys/types.h>

struct sl_open_body;

/* Returns 0, or a negative errno with a one-line message in `why`. */
int sl_open_body_open(struct sl_open_body **out, const char *path, char *why, size_t why_size);
void sl_open_body_close(struct sl_open_body *body); /* NULL is fine */

/* Returns the size of the next bytes, which stay until the next call; 0 at the end; or a negative
 * errno. The readable part of a damaged file is read as if it were whole. */
ssize_t sl_open_body_read(struct sl_open_body *body, const char **data);

/* After the end: returns "", or what is wrong with the file. */
const char *sl_open_body_trouble(const struct sl_open_body *body);

#endif
