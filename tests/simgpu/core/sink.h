/*
 * sink.h - a file of JSON lines that many threads write, such as the truth file and the log.
 *
 * Complete lines are collected in memory. The lines are written to the file by the thread that
 * fills the buffer, by the service thread every 100 ms, and at exit. So a killed process loses the
 * lines of at most 100 ms. A `%p` in the path becomes the process id. Without `%p`, all processes
 * share the file, and each write appends complete lines.
 */
#ifndef SIM_SINK_H
#define SIM_SINK_H

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

struct sim_sink {
    pthread_mutex_t lock;
    int fd; /* -1 if the sink writes no file */
    char *text;
    size_t n, cap;
};

#define SIM_SINK_INIT                                                                              \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, -1, NULL, 0, 0                                                  \
    }

void sim_sink_open(struct sim_sink *sink, const char *path);
/* sim_sink_begin() locks the sink; sim_sink_end() adds the newline and unlocks the sink. */
void sim_sink_begin(struct sim_sink *sink);
void sim_sink_add(struct sim_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_sink_addv(struct sim_sink *sink, const char *format, va_list args);
void sim_sink_quote(struct sim_sink *sink, const char *text); /* as a JSON string */
void sim_sink_end(struct sim_sink *sink);
void sim_sink_flush(struct sim_sink *sink);

#endif
