/*
 * futex.h - lets a thread sleep until another thread changes a word.
 *
 * Any thread of the process; wake is async-signal-safe; errno is preserved. The functions do not
 * order other memory accesses. The caller orders them by its own atomic operations on the word.
 */
#ifndef SL_FUTEX_H
#define SL_FUTEX_H

#include <stdint.h>

/* Sleeps while *word == value, at most timeout_ns. The function may return early, so the caller
 * must check the word again. */
void sl_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes all threads that sleep on the word. */
void sl_futex_wake(_Atomic uint32_t *word);

#endif
