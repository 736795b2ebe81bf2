/*
 * load.h - whether the machine has more runnable threads than processors.
 *
 * Any thread; one small read of /proc/loadavg, a few microseconds. errno is preserved.
 */
#ifndef SL_LOAD_H
#define SL_LOAD_H

/* 1: more threads want to run than there are processors. 0: not so, or unknown. */
int sl_load_is_high(void);

/* Parses the number of runnable threads from the text of /proc/loadavg; 0: not in the text. */
unsigned sl_load_runnable(const char *text);

#endif
