/*
 * home.h - finds the files that belong to this library: the folder `syncline/` beside it.
 *
 * Any thread. Reads the file system; allocates nothing.
 */
#ifndef SL_HOME_H
#define SL_HOME_H

#include <stddef.h>

/* Writes the absolute path of the file `below` in the folder `syncline/`, or in the folder
 * `instead` unless `instead` is "". Returns 0, -ENOENT if the path of this library or of `instead`
 * cannot be resolved, or -ENAMETOOLONG. */
int sl_home_path(char *out, size_t size, const char *instead, const char *below);

#endif
