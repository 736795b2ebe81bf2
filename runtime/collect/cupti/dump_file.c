/*
 * dump_file.c - a dump as a file: a header, then whole chunks, one after the other.
 *
 * Threads: one owner, whose the struct is.
 */
#include "collect/cupti/dump_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/new_file.h"

static size_t padding(size_t bytes)
{
    return -bytes & 7;
}

static int make_path(char *out, size_t size, const char *path, uint32_t pid)
{
    const char *mark = strstr(path, "%p");
    int n;

    if (mark)
        n = snprintf(out, size, "%.*s%u%s", (int)(mark - path), path, pid, mark + 2);
    else
        n = snprintf(out, size, "%s", path);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void sl_cupti_dump_file_close(struct sl_cupti_dump_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static void fail(struct sl_cupti_dump_file *f, int error)
{
    char text[128];

    sl_log(SL_LOG_WARN,
           "SYNCLINE_DUMP_CUPTI: %s: %s; the dump ends here, whole as far as it goes, and the "
           "traces are not affected",
           f->path, strerror_r(-error, text, sizeof(text)));
    /* A chunk that was begun is no use to a reader. Should this fail too, the reader sees the cut.
     */
    if (ftruncate(f->fd, (off_t)f->bytes) != 0)
        sl_log(SL_LOG_DEBUG, "%s: its last chunk is cut", f->path);
    sl_cupti_dump_file_close(f);
}

static int write_parts(int fd, struct iovec *part, int parts)
{
    while (parts > 0) {
        ssize_t n = writev(fd, part, parts);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        for (; parts > 0 && (size_t)n >= part->iov_len; part++, parts--)
            n -= (ssize_t)part->iov_len;
        if (parts > 0) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
    return 0;
}

void sl_cupti_dump_file_write(struct sl_cupti_dump_file *f, enum sl_cupti_dump_type type,
                              const struct iovec *piece, int pieces)
{
    static const char zeros[8];
    struct sl_cupti_dump_chunk chunk = {.type = (uint32_t)type};
    struct iovec part[1 + 2 * SL_CUPTI_DUMP_PIECES] = {{&chunk, sizeof(chunk)}};
    int parts = 1, err;

    if (f->fd < 0)
        return;
    for (int i = 0; i < pieces; i++) {
        part[parts++] = piece[i];
        part[parts++] = (struct iovec){(void *)zeros, padding(piece[i].iov_len)};
        chunk.bytes += piece[i].iov_len + padding(piece[i].iov_len);
    }
    err = write_parts(f->fd, part, parts);
    if (err)
        fail(f, err);
    else
        f->bytes += sizeof(chunk) + chunk.bytes;
}

int sl_cupti_dump_file_open(struct sl_cupti_dump_file *f, const char *path, uint32_t pid,
                            const struct sl_cupti_dump_header *header)
{
    struct iovec part = {(void *)header, sizeof(*header)};
    int err = make_path(f->path, sizeof(f->path), path, pid);

    if (err)
        return err;
    f->fd = sl_new_file_open(f->path);
    if (f->fd < 0)
        return f->fd;
    err = write_parts(f->fd, &part, 1);
    if (err)
        goto fail_write;
    f->bytes = sizeof(*header);
    return 0;

fail_write:
    sl_cupti_dump_file_close(f);
    unlink(f->path);
    return err;
}
