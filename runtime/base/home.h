/*
 * home.h - finds the files that belong to this library, in the folder `syncline/` beside the
 * library.
 *
 * Any thread. Reads the file system. Only sl_home_is_trusted() opens a folder and allocates memory.
 */
#ifndef SL_HOME_H
#define SL_HOME_H

#include <stddef.h>

/* Writes the absolute path of the file `below` in the folder `syncline/`, or in the folder
 * `instead` unless `instead` is "". Returns 0, -ENOENT if the path of this library or of `instead`
 * cannot be resolved, -EINVAL if `instead` is relative (logged once), or -ENAMETOOLONG. */
int sl_home_path(char *out, size_t size, const char *instead, const char *below);

/* Checks whether the file may be loaded as code. The file, the files beside it, and each folder
 * above must belong to root, to this user or to the owner of this library, and nobody else may be
 * able to write to them. A folder with the sticky bit (/tmp) may be writable for all. A group may
 * have write access if its id equals the owner's id (the owner's private group), or if it is root's
 * group. Returns 1 if the file may be loaded. Otherwise logs a line that names the file or folder,
 * and returns 0. */
int sl_home_is_trusted(const char *path);

#endif
