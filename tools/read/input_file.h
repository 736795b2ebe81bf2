/*
 * input_file.h - reads the text of a plain or compressed trace file.
 *
 * The first bytes of the file, not its name, show whether it is plain, gzip (any number of
 * members), zstd (any number of frames) or an export of nsys, which is read as a Kineto trace
 * (nsys_file.h). Text is returned as it is decoded. The readable part of a cut or damaged file is
 * returned before its end is reported.
 *
 * Threads: one owner. Memory: about 256 KiB, plus the file's zstd window (at most 128 MiB).
 */
#ifndef SL_INPUT_FILE_H
#define SL_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sl_input_format {
    SL_INPUT_PLAIN,
    SL_INPUT_GZIP,
    SL_INPUT_ZSTD,
    SL_INPUT_NSYS
};

enum sl_input_end {
    SL_INPUT_OPEN,    /* more text may follow */
    SL_INPUT_WHOLE,   /* complete, as its compression format defines */
    SL_INPUT_CUT,     /* the file ends inside a frame or member */
    SL_INPUT_DAMAGED, /* the checksum or the structure is wrong, so the rest of the file is
                         unreadable */
    SL_INPUT_FAILED   /* reading the file failed */
};

struct sl_input_status {
    enum sl_input_format format;
    enum sl_input_end end;
    uint64_t file_bytes; /* size of the file in bytes; 0 if the size is unknown (a pipe) */
    uint64_t read_bytes; /* bytes of the file decoded so far */
    uint64_t text_bytes; /* bytes of text returned so far */
    uint64_t frames;     /* number of zstd frames or gzip members that were decoded completely */
    char what[160];      /* one-line message with the problem and its byte offset; "" if there is no
                            problem */
};

struct sl_input;

/* `path` "-" is standard input. Returns 0, or a negative errno with a one-line message in `why`:
 * -EISDIR, -ENODATA (empty file), -ENOENT, -EACCES... */
int sl_input_open(struct sl_input **out, const char *path, char *why, size_t why_size);
void sl_input_close(struct sl_input *in); /* NULL is fine */

/* Copies the next text to `data`, and returns its size. Returns 0 at the end of the text and after
 * an error; the status tells which of the two. The function has the type sl_split_read_fn. */
size_t sl_input_read(void *in, void *data, size_t size);

/* Returns the beginning of the text, at most SL_INPUT_PEEK_MAX bytes, without consuming it. Call it
 * before the first read. The text is valid until the first read. */
#define SL_INPUT_PEEK_MAX 64
size_t sl_input_peek(struct sl_input *in, const char **out);

void sl_input_get_status(const struct sl_input *in, struct sl_input_status *out);

/* "plain", "gzip", "zstd", "nsys" */
const char *sl_input_format_name(enum sl_input_format format);

#endif
