/*
 * folder.h - the folder of this process's traces, which this process makes itself, and its files by
 * name.
 *
 * The folder is OUTPUT/JOB/NAME:
 *   - OUTPUT is the user's own choice. So links in this path are followed, and missing folders are
 *     made.
 *   - JOB is shared by the processes of a job. If JOB belongs to another user, JOB-UID is used
 *     instead, where UID is the id of this user. Root is trusted, and so is the owner of OUTPUT.
 *   - NAME is made by this process. If NAME exists, it belongs to another process with the same
 *     host name, rank and pid (in another container), or to the program before an exec. Then the
 *     folder is NAME-2, NAME-3 and so on. mkdir(2) decides, so two processes never share a folder.
 * JOB, NAME and files below NAME are never opened through a link.
 *
 * Files are created, renamed and removed below a descriptor of the folder (base/own_file.h). If the
 * host has closed the descriptor, the folder is opened again by its path, but only if it is still
 * the same folder. If the folder was removed, moved or replaced, sl_folder_make() makes it again.
 * If the host's limit allows no high number, the descriptor is closed after each use.
 *
 * If the host has changed its root folder (chroot), the path leads to another place. Then
 * sl_folder_make() returns -EXDEV, and so does every function once the descriptor is closed. Until
 * then the descriptor still leads to the old place, so that the open window can be completed there.
 *
 * Threads: one owner at a time; the writer thread, once it runs. Memory: the caller's struct, which
 * may be copied until the folder is made.
 */
#ifndef SL_FOLDER_H
#define SL_FOLDER_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/own_file.h"

struct sl_folder {
    char output[2080], job[80], name[112]; /* `output` is absolute */
    mode_t mode;       /* mode of files; folders also have x where files have r */
    dev_t root_device; /* identity of "/" at sl_folder_init() */
    ino_t root_inode;  /* 0: not known */
    int is_made;       /* 1: `path` and `own` are those of the folder in use */
    char path[2304];   /* before the folder is made, the path that it will have if it is new */
    struct sl_own_file own;
    uint64_t
        written_bytes; /* number of bytes that file sinks have written to files of the folder */
};

/* Call early, before the host can change its root folder. Truncates names that are too long. Does
 * not touch the disk, apart from a stat(2) of "/". */
void sl_folder_init(struct sl_folder *f, const char *output, const char *job, const char *name,
                    mode_t mode);

/* For the command-line tool: takes the folder `path`, which the user names, instead of a folder
 * that only this process uses. Missing folders are made. Returns 0 or -errno. */
int sl_folder_open(struct sl_folder *f, const char *path, mode_t mode);

/* Makes sure that the folder exists at `path`. Returns 0 or -errno: -ELOOP if JOB is a link, -EPERM
 * if JOB-UID belongs to another user, too, -EXDEV after a chroot, -ENOENT if OUTPUT is not
 * absolute. Logs if the folder has another name than expected. */
int sl_folder_make(struct sl_folder *f);

/* Returns 1 if the host has changed its root folder. */
int sl_folder_has_left(const struct sl_folder *f);

/* The functions below take the names of files in the folder. They return 0 or -errno, as the
 * functions of base/own_file.h do. sl_folder_create() makes the folder if it is missing; the others
 * return -ENOENT. */
int sl_folder_create(struct sl_folder *f, struct sl_own_file *file, const char *name);
int sl_folder_rename(struct sl_folder *f, const struct sl_own_file *file, const char *from,
                     const char *to);
void sl_folder_unlink(struct sl_folder *f, const struct sl_own_file *file, const char *name);
int sl_folder_stat(struct sl_folder *f, const char *name, struct stat *st);

/* Reads the free space of the file system. If the folder does not exist yet, this is the file
 * system of the nearest existing folder above it. Returns 0 or -errno. */
int sl_folder_space(struct sl_folder *f, struct statvfs *space);

/* Closes the descriptor. The next call that needs the descriptor opens it again. */
void sl_folder_close(struct sl_folder *f);

#endif
