/*
 * load.h - finds out whether the machine has more runnable threads than processors.
 *
 * Any thread; one small read of /proc/loadavg, a few microseconds. errno is preserved.
 */
#ifndef SL_LOAD_H
#define SL_LOAD_H

/* Returns 1 if more threads want to run than there are processors. Returns 0 otherwise, or if the
 * number of threads is not known. */
int sl_load_is_high(void);

/* Returns the number of runnable threads from the text of /proc/loadavg, or 0 if the text lacks
 * that number. */
unsigned sl_load_runnable(const char *text);

#endif
