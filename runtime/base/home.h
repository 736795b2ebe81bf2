/*
 * home.h - finds the files that belong to this library: the folder `syncline/` beside it.
 *
 * Any thread. Reads the file system; allocates nothing.
 */
#ifndef SL_HOME_H
#define SL_HOME_H

#include <stddef.h>

/* Gives the absolute path of `below` in that folder, or in the folder `instead` unless it is "". 0;
 * -ENOENT: the path of this library or of `instead` cannot be resolved; -ENAMETOOLONG. */
int sl_home_path(char *out, size_t size, const char *instead, const char *below);

#endif
