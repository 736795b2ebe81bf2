/*
 * capture.c - stream capture: turns work enqueued on capturing streams into graph nodes.
 *
 * Any thread; everything is under sim_lock(). A capture belongs to the stream where it began. Other
 * streams join the capture by waiting for an event that was recorded inside the capture, and leave
 * when the capture ends. An invalidated capture refuses further work and produces no graph.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph.h"

enum capture_mode { /* CUstreamCaptureMode */
    GLOBAL,
    THREAD_LOCAL,
    RELAXED
};

struct sim_capture {
    struct sim_capture *next; /* next capture in progress */
    struct sim_stream *origin;
    struct sim_graph *graph;
    struct sim_thread *thread; /* thread that began the capture; never dereferenced */
    uint64_t id;
    int mode;
    bool spoilt;
};

static struct sim_capture *captures;
static uint64_t last_id;

bool sim_nodes_add(struct sim_nodes *list, struct sim_node *node)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->node[i] == node) {
            return true;
        }
    }
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 4;
        struct sim_node **bigger = realloc(list->node, cap * sizeof *bigger);

        if (!bigger) {
            return false;
        }
        list->node = bigger;
        list->cap = cap;
    }
    list->node[list->n++] = node;
    return true;
}

bool sim_nodes_merge(struct sim_nodes *list, const struct sim_nodes *from)
{
    for (size_t i = 0; i < from->n; i++) {
        if (!sim_nodes_add(list, from->node[i])) {
            return false;
        }
    }
    return true;
}

void sim_nodes_clear(struct sim_nodes *list)
{
    free(list->node);
    *list = (struct sim_nodes){0};
}

bool sim_stream_capturing(const struct sim_stream *stream)
{
    sim_lock();
    bool capturing = stream->capture != NULL;

    sim_unlock();
    return capturing;
}

int sim_capture_begin(struct sim_stream *stream, int mode)
{
    struct sim_capture *capture = calloc(1, sizeof *capture);
    int error = capture ? sim_graph_create(&capture->graph) : SIM_E_MEMORY;

    if (error) {
        free(capture);
        return error;
    }
    sim_lock();
    if (stream->capture || stream->legacy || mode < GLOBAL || mode > RELAXED) {
        error = stream->legacy ? SIM_E_CAPTURE_UNSUPPORTED : SIM_E_VALUE;
    } else {
        capture->origin = stream;
        capture->thread = sim_thread_self();
        capture->id = ++last_id;
        capture->mode = mode;
        capture->next = captures;
        captures = capture;
        stream->capture = capture;
    }
    sim_unlock();
    if (error) {
        sim_graph_destroy(capture->graph);
        free(capture);
    }
    return error;
}

/* Removes all streams of the context from the capture. Returns true if the work of each stream that
 * joined the capture precedes the end of the origin stream. */
static bool dissolve(struct sim_capture *capture)
{
    struct sim_capture **at = &captures;
    struct sim_nodes *sinks = &capture->origin->captured;
    bool joined = true;

    for (struct sim_stream *s = capture->origin->context->streams; s; s = s->ctx_next) {
        if (s->capture != capture || s == capture->origin) {
            continue;
        }
        for (size_t i = 0; i < s->captured.n; i++) {
            joined = joined && sim_node_reaches(s->captured.node[i], sinks);
        }
        s->capture = NULL;
        sim_nodes_clear(&s->captured);
    }
    capture->origin->capture = NULL;
    sim_nodes_clear(sinks);
    while (*at != capture) {
        at = &(*at)->next;
    }
    *at = capture->next;
    sim_event_leave_capture(capture);
    return joined;
}

int sim_capture_end(struct sim_stream *stream, struct sim_graph **out)
{
    int error = SIM_OK;

    sim_lock();
    struct sim_capture *capture = stream->capture;

    if (!capture || capture->origin != stream) {
        sim_unlock();
        return capture ? SIM_E_CAPTURE_UNMATCHED : SIM_E_VALUE;
    }
    if (capture->mode != RELAXED && capture->thread != sim_thread_self()) {
        sim_unlock();
        return SIM_E_CAPTURE_THREAD;
    }
    bool joined = dissolve(capture);

    if (capture->spoilt) {
        error = SIM_E_CAPTURE_INVALIDATED;
    } else if (!joined) {
        error = SIM_E_CAPTURE_UNJOINED;
    }
    sim_unlock();
    *out = error ? NULL : capture->graph;
    if (error) {
        sim_graph_destroy(capture->graph);
    }
    free(capture);
    return error;
}

int sim_capture_info(struct sim_stream *stream, struct sim_capture_info *info)
{
    sim_lock();
    const struct sim_capture *capture = stream->capture;
    bool hurt = false;

    for (const struct sim_capture *c = captures; c && stream->legacy; c = c->next) {
        hurt = hurt || (c->origin->blocking && c->origin->context == stream->context);
    }
    info->status = !capture          ? SIM_CAPTURE_NONE
                   : capture->spoilt ? SIM_CAPTURE_INVALID
                                     : SIM_CAPTURE_ACTIVE;
    if (capture && !capture->spoilt) {
        info->id = capture->id;
        info->graph = capture->graph;
        info->nodes = stream->captured.node;
        info->count = stream->captured.n;
    }
    sim_unlock();
    return hurt ? SIM_E_CAPTURE_IMPLICIT : SIM_OK;
}

int sim_capture_update(struct sim_stream *stream, struct sim_node **nodes, size_t count, bool set)
{
    int error = SIM_OK;

    sim_lock();
    if (!stream->capture) {
        error = SIM_E_VALUE;
    } else if (set) {
        sim_nodes_clear(&stream->captured);
    }
    for (size_t i = 0; i < count && !error; i++) {
        error = sim_nodes_add(&stream->captured, nodes[i]) ? SIM_OK : SIM_E_MEMORY;
    }
    sim_unlock();
    return error;
}

int sim_capture_exchange_mode(int *mode)
{
    struct sim_thread *self = sim_thread_self();
    int old = self->capture_mode;

    if (*mode < GLOBAL || *mode > RELAXED) {
        return SIM_E_VALUE;
    }
    self->capture_mode = *mode;
    *mode = old;
    return SIM_OK;
}

/* Returns whether a call that is forbidden during captures invalidates this capture, if the calling
 * thread makes the call. */
static bool disturbs(const struct sim_capture *capture)
{
    const struct sim_thread *self = sim_thread_self();

    switch (self->capture_mode) {
    case GLOBAL:
        return capture->mode == GLOBAL ||
               (capture->mode == THREAD_LOCAL && capture->thread == self);
    case THREAD_LOCAL:
        return capture->mode != RELAXED && capture->thread == self;
    default:
        return false;
    }
}

int sim_capture_guard(struct sim_stream *stream)
{
    int error = SIM_OK;

    sim_lock();
    if (stream && stream->capture) {
        stream->capture->spoilt = true;
        error = SIM_E_CAPTURE_UNSUPPORTED;
    }
    for (struct sim_capture *c = captures; c; c = c->next) {
        if (stream && stream->legacy && c->origin->blocking &&
            c->origin->context == stream->context) {
            c->spoilt = true;
            error = SIM_E_CAPTURE_IMPLICIT;
        } else if (!stream && disturbs(c)) {
            c->spoilt = true;
            error = SIM_E_CAPTURE_UNSUPPORTED;
        }
    }
    sim_unlock();
    return error;
}

int sim_capture_implicit(struct sim_stream *stream)
{
    for (struct sim_capture *c = captures; c && stream->legacy; c = c->next) {
        if (c->origin->blocking && c->origin->context == stream->context) {
            c->spoilt = true;
            return SIM_E_CAPTURE_IMPLICIT;
        }
    }
    return SIM_OK;
}

int sim_capture_add(struct sim_stream *stream, const struct sim_work *work)
{
    struct sim_node *node;

    if (stream->capture->spoilt) {
        return SIM_E_CAPTURE_INVALIDATED;
    }
    int error = sim_graph_add_locked(stream->capture->graph, work, stream->captured.node,
                                     stream->captured.n, &node);

    if (!error) {
        stream->captured.n = 0;
        error = sim_nodes_add(&stream->captured, node) ? SIM_OK : SIM_E_MEMORY;
    }
    return error;
}

int sim_capture_record(struct sim_stream *stream, struct sim_event *event)
{
    sim_capture_forget(event);
    event->capture = stream->capture;
    return sim_nodes_merge(&event->nodes, &stream->captured) ? SIM_OK : SIM_E_MEMORY;
}

/* A stream that waits for an event of a capture joins the capture. A capturing stream cannot wait
 * for an event that was recorded outside the capture. */
int sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
    if (!event->capture) {
        stream->capture->spoilt = true;
        return SIM_E_CAPTURE_ISOLATION;
    }
    if (stream->legacy) {
        event->capture->spoilt = true;
        return SIM_E_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != event->capture) {
        stream->capture->spoilt = event->capture->spoilt = true;
        return 902; /* the wait would merge two captures */
    }
    stream->capture = event->capture;
    return sim_nodes_merge(&stream->captured, &event->nodes) ? SIM_OK : SIM_E_MEMORY;
}

void sim_capture_forget(struct sim_event *event)
{
    event->capture = NULL;
    sim_nodes_clear(&event->nodes);
}
