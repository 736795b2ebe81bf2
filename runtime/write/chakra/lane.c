/*
 * lane.c - the tables of threads and of streams.
 *
 * A job may create any number of threads, many of them short-lived, and a stream for each task. If
 * a table is full, the threads (or streams) that have been idle for longer than the average are
 * removed. If a removed thread becomes active again, it looks like a new thread. The first gap of a
 * new thread begins at the window's opening, so this thread's time would be in the file twice.
 * Therefore, once a thread was removed, each new thread begins after the last node of all removed
 * threads. An operation on a removed stream depends only on its call, because the earlier
 * operations of that stream ended long before.
 *
 * Threads: one owner. Memory: fixed tables.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

/* ---- threads ---- */

/* Returns the entry of the hash table that has the thread's index, or the free entry where the
 * index belongs. */
static uint16_t *place_of(const struct sl_chakra *c, uint32_t id)
{
    size_t at = (id * 2654435761u >> 8) & (SL_CHAKRA_THREAD_PLACES - 1);

    while (c->thread_at[at] && c->thread[c->thread_at[at] - 1].id != id)
        at = (at + 1) & (SL_CHAKRA_THREAD_PLACES - 1);
    return &c->thread_at[at];
}

int sl_chakra_is_in(const struct sl_chakra_thread *t, uint64_t ns,
                    int (*is)(const struct sl_event *row))
{
    if (t->pending && t->row.end_ns > ns && (!is || is(&t->row)))
        return 1;
    for (const struct sl_chakra_open *o = t->open; o; o = o->around)
        if (o->row.end_ns > ns && (!is || is(&o->row)))
            return 1;
    return 0;
}

struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id)
{
    uint16_t index = *place_of(c, id);

    return index ? &c->thread[index - 1] : NULL;
}

/* Returns 1 if all rows of the thread are written, and the thread neither waits for other threads
 * nor works for another thread. */
static int is_idle(const struct sl_chakra_thread *t, uint64_t ns)
{
    return !t->pending && !t->open && !t->waits_for && !t->has_caller && t->frontier_ns <= ns;
}

/* Returns the average time for which the idle threads have been idle. */
static uint64_t usual_idle_ns(const struct sl_chakra *c, uint64_t ns)
{
    uint64_t sum_ns = 0, idle = 0;

    for (size_t i = 0; i < c->threads; i++) {
        if (!is_idle(&c->thread[i], ns))
            continue;
        sum_ns += ns - c->thread[i].frontier_ns;
        idle++;
    }
    return idle ? sum_ns / idle : 0;
}

static void forget_thread(struct sl_chakra *c, const struct sl_chakra_thread *t)
{
    c->count.lanes_forgotten++;
    if (t->last && t->frontier_ns >= c->forgotten.end_ns)
        c->forgotten = (struct sl_chakra_forgotten){t->last, t->frontier_ns};
}

static void forget_idle(struct sl_chakra *c, uint64_t ns)
{
    uint64_t usual_ns;
    size_t i, kept = 0;

    sl_chakra_settle_idle(c, ns);
    usual_ns = usual_idle_ns(c, ns);
    memset(c->thread_at, 0, SL_CHAKRA_THREAD_PLACES * sizeof(*c->thread_at));
    for (i = 0; i < c->threads; i++) {
        const struct sl_chakra_thread *t = &c->thread[i];

        if (is_idle(t, ns) && ns - t->frontier_ns >= usual_ns) {
            forget_thread(c, t);
            continue;
        }
        c->thread[kept] = *t;
        *place_of(c, t->id) = (uint16_t)(kept + 1);
        kept++;
    }
    c->threads = kept;
}

struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id, uint64_t ns)
{
    uint16_t index = *place_of(c, id);
    struct sl_chakra_thread *t;

    if (index)
        return &c->thread[index - 1];
    if (c->threads == SL_CHAKRA_THREADS)
        forget_idle(c, ns);
    if (c->threads == SL_CHAKRA_THREADS)
        return NULL;
    t = &c->thread[c->threads++];
    *t = (struct sl_chakra_thread){.id = id, .frontier_ns = c->from_ns, .after = c->offset_id};
    if (c->forgotten.id) {
        t->after = c->forgotten.id;
        t->frontier_ns = c->forgotten.end_ns;
    }
    *place_of(c, id) = (uint16_t)c->threads;
    return t;
}

/* ---- streams ---- */

static int is_of(const struct sl_chakra_stream *s, uint32_t device, uint32_t context,
                 uint32_t stream)
{
    return s->device == device && s->context == context && s->stream == stream;
}

/* Returns the entry of the hash table that has the stream's index, or the free entry where the
 * index belongs. */
static uint16_t *place_of_stream(const struct sl_chakra *c, uint32_t device, uint32_t context,
                                 uint32_t stream)
{
    uint64_t h = ((uint64_t)context << 32 | stream) * 0x9e3779b97f4a7c15u + device;
    size_t at = (h ^ h >> 32) & (SL_CHAKRA_STREAM_PLACES - 1);

    while (c->stream_at[at] && !is_of(&c->stream[c->stream_at[at] - 1], device, context, stream))
        at = (at + 1) & (SL_CHAKRA_STREAM_PLACES - 1);
    return &c->stream_at[at];
}

const struct sl_chakra_stream *sl_chakra_find_stream(const struct sl_chakra *c, uint32_t device,
                                                     uint32_t context, uint32_t stream)
{
    uint16_t index = *place_of_stream(c, device, context, stream);

    return index ? &c->stream[index - 1] : NULL;
}

static uint64_t idle_ns(const struct sl_chakra_stream *s, uint64_t ns)
{
    return ns > s->last_end_ns ? ns - s->last_end_ns : 0;
}

static void forget_idle_streams(struct sl_chakra *c, uint64_t ns)
{
    uint64_t usual_ns = 0;
    size_t i, kept = 0;

    for (i = 0; i < c->streams; i++)
        usual_ns += idle_ns(&c->stream[i], ns) / c->streams;
    memset(c->stream_at, 0, SL_CHAKRA_STREAM_PLACES * sizeof(*c->stream_at));
    for (i = 0; i < c->streams; i++) {
        const struct sl_chakra_stream *s = &c->stream[i];

        if (idle_ns(s, ns) >= usual_ns)
            continue;
        c->stream[kept] = *s;
        *place_of_stream(c, s->device, s->context, s->stream) = (uint16_t)(kept + 1);
        kept++;
    }
    c->count.lanes_forgotten += c->streams - kept;
    c->streams = kept;
}

struct sl_chakra_stream *sl_chakra_get_stream(struct sl_chakra *c, const struct sl_event *op)
{
    uint16_t index = *place_of_stream(c, op->device, op->context, op->stream);
    struct sl_chakra_stream *s;

    if (index)
        return &c->stream[index - 1];
    if (c->streams == SL_CHAKRA_STREAMS)
        forget_idle_streams(c, op->start_ns);
    s = &c->stream[c->streams++];
    *s = (struct sl_chakra_stream){
        .device = op->device, .context = op->context, .stream = op->stream};
    *place_of_stream(c, op->device, op->context, op->stream) = (uint16_t)c->streams;
    return s;
}
