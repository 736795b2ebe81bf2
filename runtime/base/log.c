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

/* Replaces control characters, because lines quote names and values of the environment. A quoted
 * text must not end the line or control a terminal. */
static void keep_to_one_line(char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
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
        keep_to_one_line(line, used);
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
