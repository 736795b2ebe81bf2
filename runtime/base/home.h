/*
 * home.h - finds the files that belong to this library: the folder `syncline/` beside it.
 *
 * Any thread. Reads the file system. sl_home_is_trusted() opens a folder for a moment and
 * allocates; nothing else does.
 */
#ifndef SL_HOME_H
#define SL_HOME_H

#include <stddef.h>

/* Writes the absolute path of the file `below` in the folder `syncline/`, or in the folder
 * `instead` unless `instead` is "". Returns 0, -ENOENT if the path of this library or of `instead`
 * cannot be resolved, -EINVAL if `instead` is relative (logged once), or -ENAMETOOLONG. */
int sl_home_path(char *out, size_t size, const char *instead, const char *below);

/* Whether the file may be loaded as code. The file, the files beside it, and each folder above must
 * belong to root, to this user or to the owner of this library, and nobody else may be able to
 * write to them. A folder with the sticky bit (/tmp) may be writable for all. A group may have
 * write access if it has the number of the owner (the owner's private group), or is root's. Returns
 * 1, or 0 after a line that names the place. */
int sl_home_is_trusted(const char *path);

#endif
