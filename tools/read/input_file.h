/*
 * input_file.h - the text of a trace file, whatever it is compressed with.
 *
 * Plain, gzip (any number of members) and zstd (any number of frames) are told apart by their first
 * bytes, not by the name. Text is handed out as it is decoded; what a cut or damaged file still
 * holds is handed out before the end is reported, so that a reader gets all there is.
 *
 * Threads: one owner. Memory: some 256 KiB, plus what the file's zstd window asks for (128 MiB at
 * the very most).
 */
#ifndef SL_INPUT_FILE_H
#define SL_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sl_input_format {
    SL_INPUT_PLAIN,
    SL_INPUT_GZIP,
    SL_INPUT_ZSTD
};

enum sl_input_end {
    SL_INPUT_OPEN,    /* more may come */
    SL_INPUT_WHOLE,   /* the file ended where its compression says so */
    SL_INPUT_CUT,     /* the file ends inside a frame or member */
    SL_INPUT_DAMAGED, /* checksum or structure is wrong: nothing after this place is readable */
    SL_INPUT_FAILED   /* reading the file failed */
};

struct sl_input_status {
    enum sl_input_format format;
    enum sl_input_end end;
    uint64_t file_bytes; /* size of the file; 0 where unknown (a pipe) */
    uint64_t read_bytes; /* of the file, decoded so far */
    uint64_t text_bytes; /* handed out so far */
    uint64_t frames;     /* frames or members that ended */
    char what[160];      /* for a person: what is wrong, where; "" if nothing */
};

struct sl_input;

/* `path` "-" is standard input. 0, or a negative errno with one line for a person in `why`:
 * -EISDIR, -ENODATA (empty file), -ENOENT, -EACCES... */
int sl_input_open(struct sl_input **out, const char *path, char *why, size_t why_size);
void sl_input_close(struct sl_input *in); /* NULL is fine */

/* Next text: > 0 bytes, or 0 at the end, of whatever kind (see the status). Never an error: what
 * went wrong is a way to end. Fits sl_split's reader. */
size_t sl_input_read(void *in, void *data, size_t size);

/* Before the first read: the beginning of the text, which sl_input_read() gives again. At most
 * SL_INPUT_PEEK_MAX bytes, fewer where the text is shorter. Valid until the first read. */
#define SL_INPUT_PEEK_MAX 64
size_t sl_input_peek(struct sl_input *in, const char **out);

void sl_input_get_status(const struct sl_input *in, struct sl_input_status *out);

/* "plain", "gzip", "zstd" */
const char *sl_input_format_name(enum sl_input_format format);

#endif
