/*
 * new_file.c - a file that was not there before, for us alone. Any thread.
 */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sl_new_file_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), moved;

    if (fd < 0)
        return -errno;
    if (fd > STDERR_FILENO)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0)
        moved = -errno;
    close(fd);
    return moved;
}
