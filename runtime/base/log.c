/*
 * log.c - writes log lines to stderr, each by one write(2).
 *
 * Threads: any, also inside CUPTI callbacks and signal handlers. Memory: each line is built on the
 * caller's stack; the only state is the level.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 1024
/* If the reader of stderr is blocked, the line is dropped after this time, so that the host does
 * not block, too. */
#define STALLED_STDERR_MS 100

static _Atomic int log_level = SL_LOG_WARN;

void sl_log_set_level(enum sl_log_level level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

enum sl_log_level sl_log_get_level(void)
{
    return (enum sl_log_level)atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* Writing to a pipe without a reader raises SIGPIPE in this thread, which would end a host that
 * does not ignore the signal. So this function blocks SIGPIPE, writes, and consumes the signal that
 * the write caused. */
static void write_line(const char *line, size_t size)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    const struct timespec now = {0, 0};
    sigset_t pipe_signal, old, pending;
    ssize_t written;
    int was_pending;

    if (poll(&ready, 1, STALLED_STDERR_MS) <= 0)
        return;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    if (pthread_sigmask(SIG_BLOCK, &pipe_signal, &old))
        return;
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    do {
        written = write(STDERR_FILENO, line, size);
    } while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EPIPE && !was_pending) {
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Returns the character of `length` bytes. Length 0 means a byte that begins no character. */
static uint32_t character(const char *at, size_t length)
{
    uint32_t c = length < 2 ? (unsigned char)*at : (unsigned char)*at & (0x7fu >> length);

    for (size_t i = 1; i < length; i++)
        c = c << 6 | ((unsigned char)at[i] & 0x3fu);
    return c;
}

/* Replaces control characters by '?', because lines quote names and values of the environment. A
 * quoted text must not end the line or control a terminal. Returns the new size. */
static size_t keep_to_one_line(char *line, size_t size)
{
    size_t from = 0, to = 0;

    while (from < size) {
        size_t length = sl_utf8_length(line + from, size - from);

        if (sl_utf8_is_control(character(line + from, length))) {
            line[to++] = '?';
            from += length ? length : 1;
        } else {
            do {
                line[to++] = line[from++];
            } while (length-- > 1);
        }
    }
    return to;
}

static void log_line(const char *format, va_list args)
{
    static const char prefix[] = "syncline: ";
    char line[LINE_MAX_BYTES];
    size_t used = sizeof(prefix) - 1;
    int saved = errno, n;

    memcpy(line, prefix, used);
    n = vsnprintf(line + used, sizeof(line) - used, format, args);
    if (n >= 0) {
        used += (size_t)n;
        if (used > sizeof(line) - 1)
            used = sizeof(line) - 1;
        used = keep_to_one_line(line, used);
        line[used++] = '\n'; /* the newline replaces the terminating NUL */
        write_line(line, used);
    }
    errno = saved;
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
    va_list args;

    if (level == SL_LOG_OFF || level > sl_log_get_level())
        return;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}

void sl_log_once(int *flag, enum sl_log_level level, const char *format, ...)
{
    va_list args;

    if (level == SL_LOG_OFF || level > sl_log_get_level())
        return;
    if (__atomic_exchange_n(flag, 1, __ATOMIC_RELAXED))
        return;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}
