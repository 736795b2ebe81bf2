/*
 * disk.h - limits how much of the disk the traces of this process use.
 *
 * There are two limits. The first limits the bytes in the process's folder (SYNCLINE_DISK). The
 * second is the number of bytes that stay free on the file system, namely 5 % of the file system,
 * but at most 10 GiB. When a limit is reached, the files of the oldest windows are deleted. A file
 * is deleted only if this process wrote it and nobody has changed it since. The files of the first
 * window are never deleted. In `run` mode there is only one window. When a limit is reached, this
 * window ends.
 *
 * Data written between two checks may exceed a limit. So the limits are checked every half
 * second, and also after a number of bytes that depends on the room that is left.
 *
 * Threads: one owner, the writer thread. Memory: at most 1 MiB of mapped pages.
 */
#ifndef SL_DISK_H
#define SL_DISK_H

#include <stdint.h>

#include "base/folder.h"

struct sl_disk;

struct sl_disk_options {
    struct sl_folder *folder; /* folder of the process's traces; borrowed */
    uint64_t limit_bytes; /* maximum total size of the files in the folder, in bytes; 0: no limit */
    int keeps_all;        /* 1: no file may be deleted */
};

/* Returns 0 or -ENOMEM. */
int sl_disk_create(struct sl_disk **out, const struct sl_disk_options *opt);
void sl_disk_destroy(struct sl_disk *d); /* NULL is allowed */

/* Reports that a file of window `window` is complete. `name` is its name in the folder. `d` may be
 * NULL. */
void sl_disk_add(struct sl_disk *d, uint32_t window, const char *name);

/* Returns 1 if no file may be deleted. */
int sl_disk_keeps_all(const struct sl_disk *d);

/* Returns 1 if the limits must be checked now, because an eighth of the room that the last check
 * found is used up. The machine's other ranks may have used as much. `held_bytes` is how much the
 * outputs must still write to complete their files. Makes no system call. If `d` is NULL, returns
 * 0. */
int sl_disk_is_due(const struct sl_disk *d, uint64_t held_bytes);

/* Checks the limits, and deletes the files of old windows if necessary. `open_bytes` is the total
 * size of the files that are not complete. Returns 0, or an error if a limit is reached and no more
 * files can be deleted. The error is -EDQUOT for the folder's limit and -ENOSPC for the file
 * system's limit. If `d` is NULL, returns 0. */
int sl_disk_check(struct sl_disk *d, uint64_t open_bytes, uint64_t held_bytes);

#endif
