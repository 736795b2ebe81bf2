/*
 * disk.h - how much of the disk the traces of this process may take.
 *
 * Two limits: the bytes in the process's folder (SYNCLINE_DISK), and the bytes that stay free on
 * the file system: 5 % of it, at most 10 GiB. At a limit the oldest windows are deleted. Only files
 * that this process wrote and that nobody has changed since are deleted, and never those of the
 * first window. In `run` mode there is one window, so it ends instead.
 *
 * Threads: one owner, the writer thread. Memory: its own, mapped pages, 1 MiB at most.
 */
#ifndef SL_DISK_H
#define SL_DISK_H

#include <stdint.h>

struct sl_disk;

struct sl_disk_options {
    const char *folder;   /* of the process; borrowed */
    uint64_t limit_bytes; /* of its files; 0: no limit */
    int keeps_all;        /* 1: delete nothing */
};

/* 0 or -ENOMEM. */
int sl_disk_create(struct sl_disk **out, const struct sl_disk_options *opt);
void sl_disk_destroy(struct sl_disk *d); /* NULL is allowed */

/* A file of window `window` is complete. `path` is in the folder. NULL is allowed for `d`. */
void sl_disk_add(struct sl_disk *d, uint32_t window, const char *path);

/* 1: nothing may be deleted. */
int sl_disk_keeps_all(const struct sl_disk *d);

/* Checks the limits, with `open_bytes` in files that are not complete, and deletes old windows if
 * that is needed. Returns 0; -EDQUOT: the folder's limit is reached, and nothing more can be
 * deleted; -ENOSPC: so for the file system. NULL is allowed for `d`: 0. */
int sl_disk_check(struct sl_disk *d, uint64_t open_bytes);

#endif
