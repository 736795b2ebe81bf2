/*
 * temp_file.c - opens temporary files without a name.
 *
 * Threads, memory: see temp_file.h.
 */
#include "read/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int sl_temp_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int fd;

    if (!folder || !folder[0])
        folder = "/tmp";
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* Some file systems do not support O_TMPFILE. A named file is then created and unlinked. */
    if (snprintf(path, sizeof(path), "%s/syncline-XXXXXX", folder) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}
