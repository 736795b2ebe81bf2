/*
 * futex.h - sleeps on a word until another thread changes it.
 *
 * Any thread; private to the process; wake is async-signal-safe; errno is preserved. These calls
 * only sleep and wake: the atomics on the word order the data.
 */
#ifndef SL_FUTEX_H
#define SL_FUTEX_H

#include <stdint.h>

/* Sleeps while *word == value, at most timeout_ns. May return early, so check the word again. */
void sl_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes all threads that sleep on the word. */
void sl_futex_wake(_Atomic uint32_t *word);

#endif
