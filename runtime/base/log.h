/*
 * log.h - lines on stderr for the person who runs the job.
 *
 * One write(2) per line, formatted on the stack: no lock, no allocation, async-signal-safe apart
 * from floating point; errno is kept. A line says what happened, what it means and what to do.
 * stderr is never closed or redirected by us; a broken stderr is ignored (no SIGPIPE is raised).
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

/* Any thread. Lines longer than 1 KiB are cut. Prefixed "syncline: ". */
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* At most once in the life of `*flag` (a static int of the caller). */
void sl_log_once(int *flag, enum sl_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
