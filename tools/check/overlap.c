/*
 * overlap.c - a small heap per stream.
 *
 * Threads, memory: see overlap.h.
 */
#include "check/overlap.h"

#include <inttypes.h>
#include <stdlib.h>

#define HELD_MAX 1024u

struct operation {
    int64_t start_ns, end_ns;
    uint64_t at;
};

struct sl_overlap_stream {
    int64_t device, id;
    int64_t end_ns;   /* latest end of the operations that have left the buffer */
    int64_t start_ns; /* latest start of the operations that have left the buffer */
    unsigned held;
    struct operation heap[HELD_MAX]; /* earliest start first */
};

void sl_overlap_free(struct sl_overlap *o)
{
    for (unsigned i = 0; i < o->streams; i++)
        free(o->stream[i]);
}

static struct sl_overlap_stream *find_stream(struct sl_overlap *o, int64_t device, int64_t id)
{
    struct sl_overlap_stream *s;

    for (unsigned k = 0; k < o->streams; k++) {
        unsigned i = (o->last + k) % o->streams;

        if (o->stream[i]->id == id && o->stream[i]->device == device) {
            o->last = i;
            return o->stream[i];
        }
    }
    if (o->streams == SL_OVERLAP_STREAMS || !(s = malloc(sizeof(*s))))
        return NULL;
    s->device = device;
    s->id = id;
    s->start_ns = s->end_ns = INT64_MIN;
    s->held = 0;
    o->last = o->streams;
    o->stream[o->streams++] = s;
    return s;
}

static void push(struct sl_overlap_stream *s, struct operation op)
{
    unsigned i = s->held++;

    while (i > 0 && s->heap[(i - 1) / 2].start_ns > op.start_ns) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = op;
}

static struct operation pop(struct sl_overlap_stream *s)
{
    struct operation first = s->heap[0];
    struct operation last = s->heap[--s->held];
    unsigned i = 0;

    for (;;) {
        unsigned child = 2 * i + 1;

        if (child >= s->held)
            break;
        if (child + 1 < s->held && s->heap[child + 1].start_ns < s->heap[child].start_ns)
            child++;
        if (s->heap[child].start_ns >= last.start_ns)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return first;
}

/* Removes the earliest operation from the buffer and checks that it starts after the operations
 * that were removed before have ended. */
static void leave(struct sl_overlap *o, struct sl_overlap_stream *s)
{
    struct operation op = pop(s);
    /* A file with whole microseconds has rounded times, so an end may exceed the next start by one
     * microsecond. */
    int whole = op.start_ns % 1000 == 0 && s->end_ns % 1000 == 0;

    if (op.start_ns < s->start_ns)
        o->unchecked++;
    else if (s->end_ns != INT64_MIN && op.start_ns < s->end_ns - (whole ? 1000 : 0))
        sl_finding_add(o->findings, SL_FIND_GPU_OVERLAP, 1, op.at,
                       "device %" PRId64 ", stream %" PRId64 ": %" PRId64 " ns too early",
                       s->device, s->id, s->end_ns - op.start_ns);
    if (op.start_ns > s->start_ns)
        s->start_ns = op.start_ns;
    if (op.end_ns > s->end_ns)
        s->end_ns = op.end_ns;
}

void sl_overlap_row(struct sl_overlap *o, const struct sl_trace_row *row, uint64_t at)
{
    struct sl_overlap_stream *s = find_stream(o, row->device, row->stream);

    if (!s) {
        o->unchecked++;
        return;
    }
    if (s->held == HELD_MAX)
        leave(o, s);
    push(s, (struct operation){row->ts_ns, row->ts_ns + row->dur_ns, at});
}

void sl_overlap_end(struct sl_overlap *o)
{
    for (unsigned i = 0; i < o->streams; i++) {
        while (o->stream[i]->held)
            leave(o, o->stream[i]);
    }
    if (o->unchecked)
        sl_finding_add(o->findings, SL_FIND_NOT_CHECKED, o->unchecked, SL_FINDING_NO_PLACE,
                       "GPU operations far out of order");
}
