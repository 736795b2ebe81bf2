/*
 * temp_file.h - temporary files without a name.
 *
 * Any thread. Memory: none.
 */
#ifndef SL_TEMP_FILE_H
#define SL_TEMP_FILE_H

/* Returns the descriptor of a new file in TMPDIR (default /tmp), or -errno. The file has no name,
 * so it is gone when the process ends, however that happens. */
int sl_temp_file(void);

#endif
