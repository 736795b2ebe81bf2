/*
 * sink.h - a file of JSON lines that many threads add to: the truth and the log are two of them.
 *
 * Lines are gathered in memory and written whole, by whoever fills the buffer, by the service
 * thread every 100 ms, and at exit; a killed process loses at most that. A `%p` in the path becomes
 * the process id, else processes share the file (each write is whole lines, appended).
 */
#ifndef SIM_SINK_H
#define SIM_SINK_H

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

struct sim_sink {
    pthread_mutex_t lock;
    int fd; /* -1: not wanted */
    char *text;
    size_t n, cap;
};

#define SIM_SINK_INIT                                                                              \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, -1, NULL, 0, 0                                                  \
    }

void sim_sink_open(struct sim_sink *sink, const char *path);
/* Between begin and end the sink's lock is held; the line's newline comes with end. */
void sim_sink_begin(struct sim_sink *sink);
void sim_sink_add(struct sim_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_sink_addv(struct sim_sink *sink, const char *format, va_list args);
void sim_sink_quote(struct sim_sink *sink, const char *text); /* as a JSON string */
void sim_sink_end(struct sim_sink *sink);
void sim_sink_flush(struct sim_sink *sink);

#endif
