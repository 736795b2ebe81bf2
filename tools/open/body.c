/*
 * body.c - reads a trace file as gzip. sl_sink_compress_open() compresses into the block that the
 * next call returns.
 *
 * Threads, memory: see body.h.
 */
#include "open/body.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/input_file.h"
#include "write/sink/sink.h"

#define READ_BYTES (64 * 1024)
#define GZIP_LEVEL 3

struct sl_open_body {
    struct sl_sink block; /* the sink below `gzip`; must be first, because it is cast to this */
    int fd;               /* of a gzip file; -1: the file is compressed on the fly */
    struct sl_input *input;
    struct sl_sink *gzip; /* NULL at the end */
    struct sl_input_status status;
    char *data;
    size_t size, room;
};

static int block_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct sl_open_body *b = (struct sl_open_body *)sink;

    if (b->room - b->size < size) {
        size_t room = b->size + size + READ_BYTES;
        char *more = realloc(b->data, room);

        if (!more)
            return -ENOMEM;
        b->data = more;
        b->room = room;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}

static int block_sync(struct sl_sink *sink)
{
    (void)sink;
    return 0;
}

static int block_close(struct sl_sink *sink, int complete)
{
    (void)sink, (void)complete;
    return 0;
}

int sl_open_body_open(struct sl_open_body **out, const char *path, char *why, size_t why_size)
{
    struct sl_open_body *b = calloc(1, sizeof(*b));
    int rc = b ? sl_input_open(&b->input, path, why, why_size) : -ENOMEM;

    if (!b)
        snprintf(why, why_size, "not enough memory");
    if (rc)
        goto fail;
    b->block = (struct sl_sink){.write = block_write, .sync = block_sync, .close = block_close};
    b->fd = -1;
    sl_input_get_status(b->input, &b->status);
    if (b->status.format == SL_INPUT_GZIP) {
        b->fd = open(path, O_RDONLY | O_CLOEXEC);
        rc = b->fd < 0 ? -errno : 0;
        b->data = rc == 0 ? malloc(READ_BYTES) : NULL;
        if (rc == 0 && !b->data)
            rc = -ENOMEM;
    } else {
        rc = sl_sink_compress_open(&b->gzip, &b->block, SL_COMPRESS_GZIP, GZIP_LEVEL);
    }
    if (rc == 0) {
        *out = b;
        return 0;
    }
    snprintf(why, why_size, "cannot read %s: %s", path, strerror(-rc));
fail:
    sl_open_body_close(b);
    return rc;
}

void sl_open_body_close(struct sl_open_body *b)
{
    if (!b)
        return;
    if (b->gzip)
        b->gzip->close(b->gzip, 0);
    if (b->fd > 0)
        close(b->fd);
    sl_input_close(b->input);
    free(b->data);
    free(b);
}

/* Compresses text until there is a block. Returns 0 or a negative errno. */
static int fill(struct sl_open_body *b)
{
    char text[READ_BYTES];
    int rc = 0;

    while (rc == 0 && b->size == 0 && b->gzip) {
        size_t size = sl_input_read(b->input, text, sizeof(text));

        if (size) {
            rc = b->gzip->write(b->gzip, text, size);
            continue;
        }
        sl_input_get_status(b->input, &b->status);
        rc = b->gzip->close(b->gzip, 1);
        b->gzip = NULL;
    }
    return rc;
}

ssize_t sl_open_body_read(struct sl_open_body *b, const char **data)
{
    ssize_t size;
    int rc;

    b->size = 0;
    if (b->fd < 0) {
        rc = fill(b);
        size = rc ? rc : (ssize_t)b->size;
    } else {
        do {
            size = read(b->fd, b->data, READ_BYTES);
        } while (size < 0 && errno == EINTR);
        if (size < 0)
            size = -errno;
    }
    *data = b->data;
    return size;
}

const char *sl_open_body_trouble(const struct sl_open_body *b)
{
    return b->status.what;
}
