/*
 * foreign_text.c - checks that a pointer in a CUPTI record points to a readable text.
 *
 * Threads: any. Memory: none. The functions have no state of their own.
 */
#include "collect/cupti/foreign_text.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_MAX   65536u /* maximum length of a text in bytes; longer than any kernel's name */
#define PAGE_BYTES 4096u

/* rt_sigprocmask makes the kernel read the memory. With an invalid `how` the call changes nothing,
 * and unreadable memory gives EFAULT before EINVAL. If a sandbox forbids the call, all addresses
 * count as readable. */
int sl_foreign_text_can_read(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) == 0 ||
           errno != EFAULT;
}

/* Checks page by page whether the text can be read. */
int sl_foreign_text_measure(const char *text, sl_foreign_text_can_read_fn can_read, size_t *length)
{
    for (size_t i = 0; i < TEXT_MAX; i++) {
        if ((i == 0 || ((uintptr_t)(text + i) & (PAGE_BYTES - 1)) == 0) &&
            !can_read((uintptr_t)(text + i)))
            return -EFAULT;
        if (text[i] == '\0') {
            *length = i;
            return 0;
        }
    }
    return -EMSGSIZE;
}
