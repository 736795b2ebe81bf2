/*
 * load.h - whether the machine has more threads that want to run than processors.
 *
 * Any thread; one small read of /proc/loadavg, some microseconds. errno is kept.
 */
#ifndef SL_LOAD_H
#define SL_LOAD_H

/* 1: somebody is waiting for a processor right now; 0: not, or it cannot be told. */
int sl_load_is_high(void);

/* Runnable threads out of the text of /proc/loadavg; 0 if it says nothing of them. */
unsigned sl_load_runnable(const char *text);

#endif
