/*
 * own_file.h - a file or folder that is used and closed only while its descriptor is still ours.
 *
 * A host may close descriptors that it does not know, by closefrom(3) or in a loop. Files that the
 * host opens afterwards get the lowest free numbers. Two measures keep us from writing to those
 * files and from closing them:
 *   - Our descriptor has a high number, which is 512 or more, or as high as a lower soft
 *     RLIMIT_NOFILE allows, but never 0 to 2. The kernel gives out the lowest free number. So a
 *     host gets our number only if it has hundreds of files open or asks for that number.
 *   - Device and inode are remembered when the file is opened. Each write, truncation and close
 *     first compares device and inode by fstat. Each rename and unlink first compares device and
 *     inode of the directory entry. If they differ, the file is lost: this call and every later
 *     call return -EBADF, SL_STAT_FILES_LOST is counted once, and the descriptor is never touched
 *     again, not even closed.
 *
 * Two races remain, because no system call compares and acts at once:
 *   - Between our fstat and our next system call, the host may close the descriptor and open a
 *     file with the same number.
 *   - open() first returns a low number, which we hold for some microseconds. If the host closes
 *     and reuses the low number in that time, we notice, unless it happens between our fstat and
 *     our close.
 *
 * Threads: one owner at a time. Memory: the caller's struct.
 */
#ifndef SL_OWN_FILE_H
#define SL_OWN_FILE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A number above the descriptors that most programs ever use. */
#define SL_OWN_FILE_FIRST_FD 512

struct sl_own_file {
    int fd;       /* -1: closed or lost */
    dev_t device; /* identity of the file, taken when it was opened */
    ino_t inode;
};

/* In all functions, `at` is the descriptor of the folder below which `name` lies, or AT_FDCWD if
 * `name` is a path. */

/* Creates a new file for writing, close-on-exec, with exactly this mode, whatever the umask is.
 * Returns 0 or -errno: -EEXIST if a file or link of that name exists (it is left unchanged), and
 * -EBADF if the host has taken the descriptor at once. */
int sl_own_file_open(struct sl_own_file *f, int at, const char *name, mode_t mode);

/* Opens a folder, close-on-exec, as the `at` of other calls. `flags` is O_NOFOLLOW or 0. If the
 * caller has just made the folder, `mode` is the folder's mode, and the folder gets exactly this
 * mode; otherwise `mode` is 0. Returns 0 or -errno: -ELOOP if the name is a link and `flags` is
 * O_NOFOLLOW, -EBADF if the host has taken the descriptor at once. */
int sl_own_file_open_folder(struct sl_own_file *f, int at, const char *name, int flags,
                            mode_t mode);

/* Returns 1 if the descriptor still is this file. The caller may then use the descriptor itself. A
 * lost descriptor is not counted. */
int sl_own_file_is_open(struct sl_own_file *f);

/* Writes all bytes; modifies `part`. Retries EINTR. Returns 0 or -errno. If the disk is full,
 * returns -ENOSPC, and the bytes that fitted stay in the file. */
int sl_own_file_write(struct sl_own_file *f, struct iovec *part, int parts);

/* 0 or -errno. */
int sl_own_file_truncate(struct sl_own_file *f, uint64_t bytes);

/* Returns 0 or -errno, because some file systems report a full disk only at the close. Returns
 * -EBADF if the file is closed already. */
int sl_own_file_close(struct sl_own_file *f);

/* Renames the file; works after the close, too. Returns 0 or -errno. Never replaces another file,
 * but returns -EEXIST. */
int sl_own_file_rename(const struct sl_own_file *f, int at, const char *from, const char *to);

/* Reads a small file, for example in /proc, by one read(2), with the same checks of the descriptor.
 * Returns the number of bytes or -errno. */
ssize_t sl_own_file_read(const char *path, void *data, size_t size);

/* Removes the file's name if the name still belongs to this file; works after the close, too. */
void sl_own_file_unlink(const struct sl_own_file *f, int at, const char *name);

#endif
