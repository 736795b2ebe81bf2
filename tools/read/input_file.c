/*
 * input_file.c - opens and decompresses a trace file.
 *
 * Threads: one owner. Memory: the input owns its descriptor, its read buffer and the decoder.
 */
#include "read/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "read/nsys_file.h"
#include "zstd.h"

#define RAW_BYTES (256u << 10)
/* log2 of the largest zstd window, in bytes. This is the limit of zstd without `--long`. Valid
 * files need no larger window, and a hostile file must not make the decoder allocate one. */
#define WINDOW_LOG_MAX 27

struct sl_input {
    int fd;
    int at_eof; /* not 0 after read(2) returned 0 */
    uint8_t raw[RAW_BYTES];
    size_t raw_pos, raw_fill;
    ZSTD_DStream *zstd;
    size_t zstd_hint; /* number of bytes that the decoder asks for; 0 between frames */
    int zstd_full;    /* the last call filled the output, so the decoder may hold more */
    z_stream gzip;
    struct sl_nsys *nsys;
    int gzip_inside;                /* not 0 while a gzip member is being decoded */
    char peeked[SL_INPUT_PEEK_MAX]; /* unread text that sl_input_peek() has returned */
    size_t peeked_size;
    struct sl_input_status status;
};

static void __attribute__((format(printf, 3, 4)))
end_with(struct sl_input *in, enum sl_input_end end, const char *format, ...)
{
    va_list args;

    in->status.end = end;
    va_start(args, format);
    vsnprintf(in->status.what, sizeof(in->status.what), format, args);
    va_end(args);
}

/* Reads raw bytes if none are buffered. Returns 1, or 0 at the end of the file. */
static int refill(struct sl_input *in)
{
    ssize_t n;

    if (in->raw_pos < in->raw_fill)
        return 1;
    if (in->at_eof)
        return 0;
    do
        n = read(in->fd, in->raw, RAW_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        end_with(in, SL_INPUT_FAILED, "reading failed at byte %llu: %s",
                 (unsigned long long)in->status.read_bytes, strerror(errno));
        n = 0;
    }
    in->at_eof = n == 0;
    in->raw_pos = 0;
    in->raw_fill = (size_t)n;
    return n > 0;
}

static void take(struct sl_input *in, size_t n)
{
    in->raw_pos += n;
    in->status.read_bytes += n;
}

static size_t read_plain(struct sl_input *in, void *data, size_t size)
{
    size_t n;

    if (!refill(in)) {
        if (in->status.end == SL_INPUT_OPEN)
            in->status.end = SL_INPUT_WHOLE;
        return 0;
    }
    n = in->raw_fill - in->raw_pos;
    if (n > size)
        n = size;
    memcpy(data, in->raw + in->raw_pos, n);
    take(in, n);
    return n;
}

static size_t read_zstd(struct sl_input *in, void *data, size_t size)
{
    ZSTD_outBuffer out = {data, size, 0};

    while (out.pos == 0) {
        ZSTD_inBuffer chunk;
        /* If the last call filled its output and the frame has not ended, the decoder may have more
         * output for the same input. */
        int flush = in->zstd_full && in->zstd_hint;
        int more = refill(in) || flush;
        size_t hint;

        if (!more && in->status.end != SL_INPUT_OPEN)
            return 0;
        /* One call decodes one block, or returns only output that the decoder still has. A call
         * that finds damage returns no output, so the output of each block is taken before the next
         * block is decoded. */
        chunk.src = in->raw + in->raw_pos;
        chunk.size = flush ? 0 : in->raw_fill - in->raw_pos;
        chunk.pos = 0;
        if (in->zstd_hint && chunk.size > in->zstd_hint)
            chunk.size = in->zstd_hint;
        hint = ZSTD_decompressStream(in->zstd, &out, &chunk);
        if (ZSTD_isError(hint)) {
            end_with(in, SL_INPUT_DAMAGED, "zstd frame %llu is damaged near byte %llu (%s)",
                     (unsigned long long)in->status.frames + 1,
                     (unsigned long long)in->status.read_bytes, ZSTD_getErrorName(hint));
            return out.pos;
        }
        take(in, chunk.pos);
        in->zstd_full = out.pos == out.size;
        if (hint == 0 && (chunk.pos || out.pos))
            in->status.frames++;
        if (!more && out.pos == 0) {
            if (in->zstd_hint == 0)
                in->status.end = SL_INPUT_WHOLE;
            else
                end_with(in, SL_INPUT_CUT, "the file ends inside zstd frame %llu",
                         (unsigned long long)in->status.frames + 1);
            return 0;
        }
        in->zstd_hint = hint;
    }
    return out.pos;
}

/* Called between two members. Returns 1 if another member begins, or 0 at the end of the file.
 * Padding zeros are ignored, as in gzip(1). */
static int next_member(struct sl_input *in)
{
    while (refill(in)) {
        if (in->raw[in->raw_pos] == 0x1f) {
            inflateReset(&in->gzip);
            in->gzip_inside = 1;
            return 1;
        }
        if (in->raw[in->raw_pos] != 0) {
            end_with(in, SL_INPUT_DAMAGED, "byte %llu does not begin a gzip member",
                     (unsigned long long)in->status.read_bytes);
            return 0;
        }
        take(in, 1);
    }
    if (in->status.end == SL_INPUT_OPEN)
        in->status.end = SL_INPUT_WHOLE;
    return 0;
}

static size_t read_gzip(struct sl_input *in, void *data, size_t size)
{
    z_stream *z = &in->gzip;
    uInt room = size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)size;

    z->next_out = data;
    z->avail_out = room;
    while (z->avail_out == room) {
        int rc;

        if (!in->gzip_inside && !next_member(in))
            return 0;
        if (!refill(in)) {
            if (in->status.end == SL_INPUT_OPEN)
                end_with(in, SL_INPUT_CUT, "the file ends inside gzip member %llu",
                         (unsigned long long)in->status.frames + 1);
            return 0;
        }
        z->next_in = in->raw + in->raw_pos;
        z->avail_in = (uInt)(in->raw_fill - in->raw_pos);
        rc = inflate(z, Z_NO_FLUSH);
        take(in, in->raw_fill - in->raw_pos - z->avail_in);
        if (rc == Z_STREAM_END) {
            in->status.frames++;
            in->gzip_inside = 0;
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            end_with(in, SL_INPUT_DAMAGED, "gzip member %llu is damaged near byte %llu (%s)",
                     (unsigned long long)in->status.frames + 1,
                     (unsigned long long)in->status.read_bytes, z->msg ? z->msg : zError(rc));
            break;
        }
    }
    return room - z->avail_out;
}

static size_t read_nsys(struct sl_input *in, void *data, size_t size)
{
    size_t n = sl_nsys_read(in->nsys, data, size);
    const char *error = n ? NULL : sl_nsys_error(in->nsys);

    in->status.read_bytes = sl_nsys_done(in->nsys, in->status.file_bytes);
    if (error)
        end_with(in, SL_INPUT_DAMAGED, "%s", error);
    else if (n == 0)
        in->status.end = SL_INPUT_WHOLE;
    return n;
}

static size_t decode(struct sl_input *in, void *data, size_t size)
{
    if (in->status.end != SL_INPUT_OPEN || size == 0)
        return 0;
    switch (in->status.format) {
    case SL_INPUT_ZSTD:
        return read_zstd(in, data, size);
    case SL_INPUT_GZIP:
        return read_gzip(in, data, size);
    case SL_INPUT_NSYS:
        return read_nsys(in, data, size);
    default:
        return read_plain(in, data, size);
    }
}

static size_t take_peeked(struct sl_input *in, void *data, size_t size)
{
    size_t n = in->peeked_size < size ? in->peeked_size : size;

    memcpy(data, in->peeked, n);
    in->peeked_size -= n;
    memmove(in->peeked, in->peeked + n, in->peeked_size);
    return n;
}

size_t sl_input_read(void *input, void *data, size_t size)
{
    struct sl_input *in = input;
    size_t n = in->peeked_size ? take_peeked(in, data, size) : decode(in, data, size);

    in->status.text_bytes += n;
    return n;
}

size_t sl_input_peek(struct sl_input *in, const char **out)
{
    size_t n;

    while ((n = decode(in, in->peeked + in->peeked_size, sizeof(in->peeked) - in->peeked_size)))
        in->peeked_size += n;
    *out = in->peeked;
    return in->peeked_size;
}

/* Returns whether these bytes begin a zstd frame or a skippable zstd frame. Files of pzstd begin
 * with a skippable frame. */
static int is_zstd(const uint8_t *first)
{
    static const uint8_t frame[4] = {0x28, 0xb5, 0x2f, 0xfd}, skippable[3] = {0x2a, 0x4d, 0x18};

    return memcmp(first, frame, 4) == 0 ||
           (first[0] >> 4 == 5 && memcmp(first + 1, skippable, 3) == 0);
}

/* number of bytes that show the format of a file */
#define FIRST_BYTES 16u

/* Chooses the decoder by the first bytes. Returns 0 or -errno. */
static int detect(struct sl_input *in)
{
    if (!refill(in))
        return in->status.end == SL_INPUT_FAILED ? -EIO : -ENODATA;
    /* This is a loop because the first read of a pipe may return a single byte. */
    while (in->raw_fill < FIRST_BYTES) {
        ssize_t n = read(in->fd, in->raw + in->raw_fill, RAW_BYTES - in->raw_fill);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        in->raw_fill += (size_t)n;
    }
    if (in->raw_fill >= 4 && is_zstd(in->raw)) {
        in->status.format = SL_INPUT_ZSTD;
        in->zstd = ZSTD_createDStream();
        if (!in->zstd)
            return -ENOMEM;
        ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    } else if (in->raw_fill >= 2 && in->raw[0] == 0x1f && in->raw[1] == 0x8b) {
        in->status.format = SL_INPUT_GZIP;
        /* 16 tells zlib to expect the gzip format */
        if (inflateInit2(&in->gzip, MAX_WBITS + 16) != Z_OK)
            return -ENOMEM;
        in->gzip_inside = 1;
    } else if (sl_nsys_is_database(in->raw, in->raw_fill)) {
        in->status.format = SL_INPUT_NSYS;
    }
    return 0;
}

/* Opens the export of nsys that has been detected. Returns 0, or -errno and a message. */
static int open_nsys(struct sl_input *in, const char *path, char *why, size_t why_size)
{
    if (strcmp(path, "-") != 0)
        return sl_nsys_open(&in->nsys, path, why, why_size);
    snprintf(why, why_size, "cannot read a database of nsys from standard input: name its file");
    return -ESPIPE;
}

static void explain(int error, const char *path, char *why, size_t why_size)
{
    if (error == -EISDIR)
        snprintf(why, why_size,
                 "%s is a directory: name the trace files in it, such as %s/*.json.zst", path,
                 path);
    else if (error == -ENODATA)
        snprintf(why, why_size, "%s is empty: nothing was written to it", path);
    else
        snprintf(why, why_size, "cannot read %s: %s%s", path, strerror(-error),
                 error == -ENOENT   ? ": check the name"
                 : error == -EACCES ? ": only its owner may read a trace; run this as that user"
                                    : "");
}

int sl_input_open(struct sl_input **out, const char *path, char *why, size_t why_size)
{
    struct sl_input *in = calloc(1, sizeof(*in));
    struct stat st;
    int rc;

    if (!in) {
        explain(-ENOMEM, path, why, why_size);
        return -ENOMEM;
    }
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 || fstat(in->fd, &st) != 0) {
        rc = -errno;
        goto fail_open;
    }
    rc = -EISDIR;
    if (S_ISDIR(st.st_mode))
        goto fail_open;
    if (sl_nsys_is_recording(path)) {
        snprintf(why, why_size,
                 "%s is a recording of nsys: export it first (nsys export --type sqlite %s)", path,
                 path);
        sl_input_close(in);
        return -EBADMSG;
    }
    in->status.file_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    rc = detect(in);
    if (rc)
        goto fail_open;
    if (in->status.format == SL_INPUT_NSYS) {
        rc = open_nsys(in, path, why, why_size);
        if (rc) {
            sl_input_close(in);
            return rc;
        }
    }
    *out = in;
    return 0;

fail_open:
    explain(rc, strcmp(path, "-") == 0 ? "standard input" : path, why, why_size);
    sl_input_close(in);
    return rc;
}

void sl_input_close(struct sl_input *in)
{
    if (!in)
        return;
    if (in->status.format == SL_INPUT_GZIP)
        inflateEnd(&in->gzip);
    ZSTD_freeDStream(in->zstd);
    sl_nsys_close(in->nsys);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    free(in);
}

void sl_input_get_status(const struct sl_input *in, struct sl_input_status *out)
{
    *out = in->status;
}

const char *sl_input_format_name(enum sl_input_format format)
{
    static const char *const names[] = {[SL_INPUT_PLAIN] = "plain",
                                        [SL_INPUT_GZIP] = "gzip",
                                        [SL_INPUT_ZSTD] = "zstd",
                                        [SL_INPUT_NSYS] = "nsys"};

    return names[format];
}
