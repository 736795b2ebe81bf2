/*
 * own_file.c - a file that is written, read and closed only while its descriptor is still ours.
 *
 * Threads, memory: see own_file.h.
 */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stats.h"

/* ---- does a descriptor or name still belong to the file? ---- */

static int is_same(const struct sl_own_file *f, const struct stat *st)
{
    return st->st_dev == f->device && st->st_ino == f->inode;
}

static int lose(void)
{
    sl_stats_add(SL_STAT_FILES_LOST, 1);
    return -EBADF;
}

/* Checks whether the descriptor still belongs to this file. Returns 0 or -errno; after an error the
 * descriptor is not touched again. fstat may fail on an open file of a network file system. Then we
 * do not know whose file the descriptor refers to, so the descriptor stays open. */
static int compare(struct sl_own_file *f)
{
    struct stat st;
    int error = 0;

    if (f->fd < 0)
        return -EBADF;
    if (fstat(f->fd, &st) != 0)
        error = -errno;
    else if (!is_same(f, &st))
        error = -EBADF;
    if (error)
        f->fd = -1;
    return error;
}

int sl_own_file_is_open(struct sl_own_file *f)
{
    return compare(f) == 0;
}

static int check(struct sl_own_file *f)
{
    int was_open = f->fd >= 0, error = compare(f);

    return error == -EBADF && was_open ? lose() : error;
}

/* Checks whether the name belongs to this file. Returns 0, or -EBADF if it belongs to another
 * file. */
static int check_name(const struct sl_own_file *f, int at, const char *name)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    return is_same(f, &st) ? 0 : lose();
}

/* ---- opening ---- */

/* Duplicates `fd` to the lowest free number from SL_OWN_FILE_FIRST_FD on. If the process's limit is
 * lower, duplicates to a number as high as possible. Tries lower and lower starts, because the host
 * may change its limit and descriptors at any time. Returns -errno if no number above `fd` is free.
 */
static int duplicate_high(int fd)
{
    int from = SL_OWN_FILE_FIRST_FD, least = fd > STDERR_FILENO ? fd : STDERR_FILENO, high = -1;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= SL_OWN_FILE_FIRST_FD)
        from = (int)limit.rlim_cur - 1;
    errno = EMFILE;
    for (; from > least && high < 0; from--) {
        high = fcntl(fd, F_DUPFD_CLOEXEC, from);
        if (high < 0 && errno != EMFILE && errno != EINVAL)
            break;
    }
    return high < 0 ? -errno : high;
}

/* Closes the low number `fd` if it still is this file. The host may own the number by now. */
static void close_low(const struct sl_own_file *f, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && is_same(f, &st))
        close(fd);
}

/* Gives the file exactly this mode, which the umask may have cut. If the file system has no modes,
 * the file keeps the mode that it has. */
static void set_mode(const struct sl_own_file *f, const struct stat *st, mode_t mode)
{
    if ((st->st_mode & 0777) != mode)
        fchmod(f->fd, (st->st_mode & 07000) | mode);
}

/* Takes over descriptor `low`, which openat() has just returned for `name` below the folder `at`.
 * If `mode` is not 0, the file gets this mode. Returns 0 or -errno. */
static int take(struct sl_own_file *f, int low, int at, const char *name, int stat_flags,
                mode_t mode)
{
    struct stat st, named;
    int high, error;

    f->fd = -1;
    if (fstat(low, &st) != 0)
        return -errno;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    high = duplicate_high(low);
    if (fstatat(at, name, &named, stat_flags) != 0) {
        error = -errno; /* fstat fails, for example, on the /proc file of a thread that has just
                         * ended */
        goto fail_name;
    }
    if (!is_same(f, &named)) {
        error = -EBADF; /* the host closed and reused the number before our fstat, so `low` belongs
                         * to the host */
        goto fail_same;
    }
    f->fd = high >= 0 ? high : low;
    error = compare(f);
    if (error)
        goto fail_name;
    if (high < 0 && low <= STDERR_FILENO) {
        error = high;
        goto fail_name;
    }
    if (high >= 0)
        close_low(f, low); /* if the limit allows no higher number, `low` itself is used */
    if (mode)
        set_mode(f, &st, mode);
    return 0;

fail_name:
    close_low(f, low);
fail_same:
    if (high >= 0)
        close(high); /* `high` was duplicated by us, so it may be closed */
    f->fd = -1;
    return error;
}

int sl_own_file_open(struct sl_own_file *f, int at, const char *name, mode_t mode)
{
    int low = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode), error;

    f->fd = -1;
    if (low < 0)
        return -errno;
    error = take(f, low, at, name, AT_SYMLINK_NOFOLLOW, mode);
    if (error == -EMFILE)
        sl_own_file_unlink(f, at, name);
    /* The lock tells `syncline recover`, also in another PID namespace, that the file is still
     * being written. The kernel removes the lock when the process ends. */
    if (!error)
        flock(f->fd, LOCK_EX | LOCK_NB);
    return error == -EBADF ? lose() : error;
}

int sl_own_file_open_folder(struct sl_own_file *f, int at, const char *name, int flags, mode_t mode)
{
    int nofollow = flags & O_NOFOLLOW, low, error;
    struct stat st;

    f->fd = -1;
    low = openat(at, name, O_DIRECTORY | O_CLOEXEC | nofollow | (mode ? O_RDONLY : O_PATH));
    if (low >= 0)
        return take(f, low, at, name, nofollow ? AT_SYMLINK_NOFOLLOW : 0, mode);
    error = -errno;
    if (nofollow && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        error = -ELOOP;
    return error;
}

ssize_t sl_own_file_read(const char *path, void *data, size_t size)
{
    int low = open(path, O_RDONLY | O_CLOEXEC), error;
    struct sl_own_file f;
    ssize_t got;

    if (low < 0)
        return -errno;
    error = take(&f, low, AT_FDCWD, path, 0, 0);
    if (error)
        return error;
    got = read(f.fd, data, size);
    if (got < 0)
        got = -errno;
    if (compare(&f) == 0)
        close(f.fd);
    return got;
}

/* ---- writing ---- */

int sl_own_file_write(struct sl_own_file *f, struct iovec *part, int parts)
{
    while (parts > 0) {
        int error = check(f);
        ssize_t n;

        if (error)
            return error;
        n = writev(f->fd, part, parts);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EBADF) { /* the host closed the descriptor after the check */
            f->fd = -1;
            return lose();
        }
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

int sl_own_file_truncate(struct sl_own_file *f, uint64_t bytes)
{
    int error = check(f);

    if (error)
        return error;
    return ftruncate(f->fd, (off_t)bytes) == 0 ? 0 : -errno;
}

int sl_own_file_close(struct sl_own_file *f)
{
    int error = check(f), fd = f->fd;

    if (error)
        return error;
    f->fd = -1;
    return close(fd) == 0 || errno == EINTR ? 0 : -errno;
}

/* ---- renaming and removing ---- */

int sl_own_file_rename(const struct sl_own_file *f, int at, const char *from, const char *to)
{
    int error = check_name(f, at, from);
    struct stat st;

    if (error)
        return error;
    if (renameat2(at, from, at, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    /* Some file systems (NFS, for example) do not support renaming without replacing. */
    if (fstatat(at, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return renameat(at, from, at, to) == 0 ? 0 : -errno;
}

void sl_own_file_unlink(const struct sl_own_file *f, int at, const char *name)
{
    if (check_name(f, at, name) == 0)
        unlinkat(at, name, 0);
}
