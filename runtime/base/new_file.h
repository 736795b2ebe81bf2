/*
 * new_file.h - a file that was not there before, for us alone.
 *
 * Any thread; the descriptor is the caller's.
 */
#ifndef SL_NEW_FILE_H
#define SL_NEW_FILE_H

/* Opens for writing, mode 0600, closed on exec; a file or link of that name stays as it is. A
 * descriptor above the standard streams: a process that has closed those may go on printing to
 * them. Or -errno, -EEXIST among them. */
int sl_new_file_open(const char *path);

#endif
