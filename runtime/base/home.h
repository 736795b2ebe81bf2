/*
 * home.h - where the files lie that belong to this library: `syncline/` beside it.
 *
 * Any thread. Reads the file system; nothing is allocated.
 */
#ifndef SL_HOME_H
#define SL_HOME_H

#include <stddef.h>

/* The absolute path of `below` in that folder, or in `instead` if that is not "". 0; -ENOENT: this
 * library's own file is not known; -ENAMETOOLONG. */
int sl_home_path(char *out, size_t size, const char *instead, const char *below);

#endif
