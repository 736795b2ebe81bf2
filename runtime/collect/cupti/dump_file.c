/*
 * dump_file.c - writes a dump file: a header, then whole chunks, one after the other.
 *
 * Threads: one owner. Memory: the owner's.
 */
#include "collect/cupti/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

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
    sl_own_file_close(&f->own);
}

static void fail(struct sl_cupti_dump_file *f, int error)
{
    char text[128];

    if (error == -EBADF) {
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: the program closed the descriptor of %s (as closefrom() "
               "does); the dump ends here, the traces are not affected; for a complete dump, close "
               "descriptors before CUDA starts",
               f->path);
        return;
    }
    sl_log(SL_LOG_WARN,
           "SYNCLINE_DUMP_CUPTI: cannot write %s: %s; the dump ends here, the traces are not "
           "affected; free some space or choose another file",
           f->path, strerror_r(-error, text, sizeof(text)));
    /* Removes the partial chunk, because readers cannot use it. If the removal fails too, a reader
     * notices that the last chunk is shorter than its size field says. */
    if (sl_own_file_truncate(&f->own, f->bytes) != 0)
        sl_log(SL_LOG_DEBUG, "%s: the last chunk is incomplete", f->path);
    sl_cupti_dump_file_close(f);
}

void sl_cupti_dump_file_write(struct sl_cupti_dump_file *f, enum sl_cupti_dump_type type,
                              const struct iovec *piece, int pieces)
{
    static const char zeros[8];
    struct sl_cupti_dump_chunk chunk = {.type = (uint32_t)type};
    struct iovec part[1 + 2 * SL_CUPTI_DUMP_PIECES] = {{&chunk, sizeof(chunk)}};
    int parts = 1, err;

    if (f->own.fd < 0)
        return;
    for (int i = 0; i < pieces; i++) {
        part[parts++] = piece[i];
        part[parts++] = (struct iovec){(void *)zeros, padding(piece[i].iov_len)};
        chunk.bytes += piece[i].iov_len + padding(piece[i].iov_len);
    }
    err = sl_own_file_write(&f->own, part, parts);
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
    err = sl_own_file_open(&f->own, AT_FDCWD, f->path, 0600);
    if (err)
        return err;
    err = sl_own_file_write(&f->own, &part, 1);
    if (err)
        goto fail_write;
    f->bytes = sizeof(*header);
    return 0;

fail_write:
    sl_cupti_dump_file_close(f);
    sl_own_file_unlink(&f->own, AT_FDCWD, f->path);
    return err;
}
