/*
 * futex.h - sleeping on a word until another thread changes it.
 *
 * Any thread; private to the process; wake is async-signal-safe. The word's own atomics order the
 * data; these calls only sleep and wake. errno is kept.
 */
#ifndef SL_FUTEX_H
#define SL_FUTEX_H

#include <stdint.h>

/* Sleeps while *word == value, at most timeout_ns. May return early: look again. */
void sl_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes all that sleep on the word. */
void sl_futex_wake(_Atomic uint32_t *word);

#endif
