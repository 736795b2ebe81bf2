/*
 * own_file.h - a file that is written, read and closed only while its descriptor is still ours.
 *
 * A host may close descriptors that it does not know (closefrom(3), a loop over all of them) and
 * open its own files, which get the lowest free numbers. Two things keep our bytes out of those
 * files, and keep us from closing them:
 * - The descriptor has a number from 512 up. Below RLIMIT_NOFILE's soft limit where that is lower,
 *   as high as fits, never 0 to 2. The kernel hands out the lowest free number, so a host gets ours
 *   only if it has hundreds of files open, or asks for that number.
 * - Device and inode are remembered at the opening. Before each write, truncation and close, fstat
 *   must show them; before a rename and an unlink, the directory entry must. Otherwise the file is
 *   lost: the call returns -EBADF, counts SL_STAT_FILES_LOST once, and so does every later call,
 *   without touching the descriptor again. It is not even closed.
 *
 * Two races remain, because no system call compares and acts at once. The host may close the
 * descriptor between our fstat and our next system call, and open a file with that very number in
 * the same moment. And open() itself gives a low number, which is ours for some microseconds: a
 * host that gets it in that time is noticed, but for the step between fstat and close.
 *
 * Threads: one owner at a time. Memory: the caller's struct.
 */
#ifndef SL_OWN_FILE_H
#define SL_OWN_FILE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sl_own_file {
    int fd;       /* -1: closed or lost */
    dev_t device; /* which file this is, known since the opening */
    ino_t inode;
};

/* Creates the file: for writing, mode 0600, closed on exec. A file or link of that name stays as it
 * is. 0 or -errno, -EEXIST among them; -EBADF: lost in the same moment. */
int sl_own_file_open(struct sl_own_file *f, const char *path);

/* Writes all bytes, and changes `part` on the way. Retries EINTR. 0 or -errno; a short write on a
 * full disk is -ENOSPC, and what fitted stays. */
int sl_own_file_write(struct sl_own_file *f, struct iovec *part, int parts);

/* 0 or -errno. */
int sl_own_file_truncate(struct sl_own_file *f, uint64_t bytes);

/* 0 or -errno: some file systems report a full disk only here. -EBADF for a closed file. */
int sl_own_file_close(struct sl_own_file *f);

/* Never replaces a file: -EEXIST. Also after close. 0 or -errno. */
int sl_own_file_rename(const struct sl_own_file *f, const char *from, const char *to);

/* Reads a small file, such as one of /proc, with one read(2), as carefully: bytes or -errno. */
ssize_t sl_own_file_read(const char *path, void *data, size_t size);

/* Removes the name if it is still this file's. Also after close. */
void sl_own_file_unlink(const struct sl_own_file *f, const char *path);

#endif
