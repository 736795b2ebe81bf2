/*
 * sink.c - see sink.h. Any thread. The sink owns its buffer, which lives as long as the process.
 */
#include "core/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fork.h"

enum {
    FULL = 1 << 20
};

void sim_sink_open(struct sim_sink *sink, const char *path)
{
    char name[4096];
    const char *mark = strstr(path, "%p");

    if (mark) {
        snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - path), path, (int)getpid(), mark + 2);
    } else {
        snprintf(name, sizeof name, "%s", path);
    }
    sim_fork_hold(&sink->lock);
    sink->fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (sink->fd < 0) {
        fprintf(stderr, "simgpu: cannot write %s: %s\n", name, strerror(errno));
    }
}

static void write_out(struct sim_sink *sink)
{
    for (size_t at = 0; at < sink->n;) {
        ssize_t n = write(sink->fd, sink->text + at, sink->n - at);

        if (n < 0 && errno != EINTR) {
            fprintf(stderr, "simgpu: a result file cannot be written: %s\n", strerror(errno));
            break;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    sink->n = 0;
}

void sim_sink_begin(struct sim_sink *sink)
{
    pthread_mutex_lock(&sink->lock);
}

void sim_sink_addv(struct sim_sink *sink, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int need =
        vsnprintf(sink->text ? sink->text + sink->n : NULL, sink->cap - sink->n, format, args);

    if (need >= 0 && (size_t)need >= sink->cap - sink->n) {
        size_t cap = sink->cap * 2 + (size_t)need + FULL;
        char *text = realloc(sink->text, cap);

        if (text) {
            sink->text = text;
            sink->cap = cap;
            vsnprintf(text + sink->n, cap - sink->n, format, again);
        } else {
            need = 0;
        }
    }
    va_end(again);
    sink->n += need > 0 ? (size_t)need : 0;
}

void sim_sink_add(struct sim_sink *sink, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sim_sink_addv(sink, format, args);
    va_end(args);
}

void sim_sink_quote(struct sim_sink *sink, const char *text)
{
    sim_sink_add(sink, "\"");
    while (*text) {
        size_t plain = strcspn(text, "\"\\\n\t\r");

        sim_sink_add(sink, "%.*s", (int)plain, text);
        text += plain;
        if (*text) {
            sim_sink_add(sink, "\\u%04x", (unsigned char)*text++);
        }
    }
    sim_sink_add(sink, "\"");
}

void sim_sink_end(struct sim_sink *sink)
{
    sim_sink_add(sink, "\n");
    if (sink->n >= FULL) {
        write_out(sink);
    }
    pthread_mutex_unlock(&sink->lock);
}

void sim_sink_flush(struct sim_sink *sink)
{
    if (sink->fd < 0) {
        return;
    }
    pthread_mutex_lock(&sink->lock);
    write_out(sink);
    pthread_mutex_unlock(&sink->lock);
}
