/*
 * futex.c - the wait and wake operations of the futex system call. Any thread; no state.
 */
#include "base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
/* The longest sleep. Longer timeouts are cut to this length, so that every timeout fits a
 * time_t. */
#define LONGEST_NS (3600ull * SECOND_NS)

void sl_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec timeout;
    int saved = errno;

    if (timeout_ns > LONGEST_NS)
        timeout_ns = LONGEST_NS;
    timeout.tv_sec = (time_t)(timeout_ns / SECOND_NS);
    timeout.tv_nsec = (long)(timeout_ns % SECOND_NS);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
    errno = saved;
}

void sl_futex_wake(_Atomic uint32_t *word)
{
    int saved = errno;

    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}
