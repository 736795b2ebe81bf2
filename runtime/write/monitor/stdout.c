/*
 * stdout.c - writes whole lines to the job's stdout, and never waits for its reader.
 *
 * Threads, memory: see stdout.h.
 */
#include "write/monitor/stdout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

/* A pipe that is ready takes PIPE_BUF bytes at once, and no other writer's bytes come between. */
#define AT_ONCE PIPE_BUF

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

static void shut(struct sl_stdout *out, const char *why)
{
    if (!out->is_shut)
        sl_log(SL_LOG_WARN,
               "SYNCLINE_COLLECTIVES_PRINT: %s, so no more calls are printed; the trace has them",
               why);
    out->is_shut = 1;
    out->used = 0;
}

void sl_stdout_open(struct sl_stdout *out)
{
    struct stat st;
    int flags = fcntl(STDOUT_FILENO, F_GETFD);

    /* A descriptor that exec closes was not inherited. The program was started without stdout, and
     * has opened a file or a connection that got the number. */
    if (flags < 0 || (flags & FD_CLOEXEC) || fstat(STDOUT_FILENO, &st) != 0) {
        shut(out, "the process has no stdout");
        return;
    }
    out->device = st.st_dev;
    out->inode = st.st_ino;
    out->type = st.st_mode & S_IFMT;
}

void sl_stdout_put(struct sl_stdout *out, const char *line, size_t length)
{
    if (out->is_shut)
        return;
    if (sizeof(out->text) - out->used < length)
        sl_stdout_flush(out);
    if (out->is_shut || sizeof(out->text) - out->used < length) {
        out->dropped++;
        return;
    }
    memcpy(out->text + out->used, line, length);
    out->used += length;
}

/* Returns how many bytes to write next: whole lines, or the beginning of a line that is longer. */
static size_t next_bytes(const struct sl_stdout *out)
{
    size_t most = out->used < AT_ONCE ? out->used : AT_ONCE;
    const char *end = memrchr(out->text, '\n', most);

    return end ? (size_t)(end + 1 - out->text) : most;
}

/* Another thread may fill the pipe between the check and the write. So the kernel is asked not to
 * wait, if it can do so. */
static ssize_t write_some(const struct sl_stdout *out, size_t bytes)
{
    struct iovec part = {(void *)(uintptr_t)out->text, bytes};
    ssize_t written;

    if (out->type == S_IFSOCK)
        return send(STDOUT_FILENO, out->text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (out->type == S_IFIFO) {
        written = syscall(SYS_pwritev2, STDOUT_FILENO, &part, 1, -1L, -1L, RWF_NOWAIT);
        if (written >= 0 || (errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM))
            return written;
    }
    return write(STDOUT_FILENO, out->text, bytes);
}

static int is_same(const struct sl_stdout *out)
{
    struct stat st;

    return fstat(STDOUT_FILENO, &st) == 0 && st.st_dev == out->device && st.st_ino == out->inode;
}

void sl_stdout_flush(struct sl_stdout *out)
{
    int error = errno;

    while (out->used && !out->is_shut) {
        struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
        ssize_t written;

        if (!is_same(out)) {
            shut(out, "the program has closed or replaced stdout");
            break;
        }
        if (poll(&ready, 1, 0) <= 0)
            break;
        written = ready.revents & (POLLERR | POLLNVAL) ? -1 : write_some(out, next_bytes(out));
        if (written < 0 && ready.revents == POLLOUT && (errno == EAGAIN || errno == EINTR))
            break;
        if (written <= 0) {
            shut(out, "stdout cannot be written");
            break;
        }
        out->used -= (size_t)written;
        memmove(out->text, out->text + written, out->used);
    }
    errno = error;
}

void sl_stdout_close(struct sl_stdout *out)
{
    uint64_t lines = out->dropped;

    sl_stdout_flush(out);
    for (size_t i = 0; i < out->used; i++)
        lines += out->text[i] == '\n';
    if (lines)
        sl_log(SL_LOG_WARN,
               "SYNCLINE_COLLECTIVES_PRINT: %llu lines were not printed, because the reader of "
               "stdout was too slow; the trace has the calls",
               (unsigned long long)lines);
    out->used = 0;
    out->dropped = 0;
}
