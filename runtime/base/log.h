/*
 * log.h - log lines on stderr for the person who runs the job.
 *
 * Each line is formatted on the stack and written by one write(2), without locks or allocation.
 * Logging is async-signal-safe except for floating point, and preserves errno. A line says what
 * happened, what this means for the job and the trace, and what the user can do. syncline never
 * closes or redirects stderr. A broken stderr is ignored and raises no SIGPIPE.
 */
#ifndef SL_LOG_H
#define SL_LOG_H

enum sl_log_level {
    SL_LOG_OFF,
    SL_LOG_ERROR,
    SL_LOG_WARN,
    SL_LOG_INFO,
    SL_LOG_DEBUG
};

void sl_log_set_level(enum sl_log_level level);
enum sl_log_level sl_log_get_level(void);

/* Any thread. Adds the prefix "syncline: " and truncates lines longer than 1 KiB. */
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Logs at most once per `*flag`, a static int of the caller. */
void sl_log_once(int *flag, enum sl_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
