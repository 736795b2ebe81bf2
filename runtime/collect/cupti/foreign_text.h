/*
 * foreign_text.h - checks that a pointer in a CUPTI record points to a readable text.
 *
 * Nothing in a buffer is trusted, so memory at an address is probed before it is read.
 *
 * Threads: any. Memory: none.
 */
#ifndef SL_CUPTI_FOREIGN_TEXT_H
#define SL_CUPTI_FOREIGN_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Says whether the bytes at an address can be read. */
typedef int (*sl_foreign_text_can_read_fn)(uintptr_t address);

/* Checks by a system call whether the 8 bytes around an address can be read. */
int sl_foreign_text_can_read(uintptr_t address);

/* Writes the length of `text` (not NULL) without its final NUL. Returns 0, -EFAULT if the text runs
 * into unreadable memory, or -EMSGSIZE if it is longer than any name. */
int sl_foreign_text_measure(const char *text, sl_foreign_text_can_read_fn can_read, size_t *length);

#endif
