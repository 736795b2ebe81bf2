/*
 * stream.c - the table of streams.
 *
 * A program may make a stream for each thing it does. Where there is no room for one more, those
 * are forgotten that have run nothing for longer than the average: what comes on such a one again
 * follows its call, and nothing that had ended long before.
 *
 * Threads: one owner. Memory: a fixed table.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

static int is_of(const struct sl_chakra_stream *s, uint32_t device, uint32_t context,
                 uint32_t stream)
{
    return s->device == device && s->context == context && s->stream == stream;
}

/* Where the stream stands, or its index would. */
static uint16_t *place_of(const struct sl_chakra *c, uint32_t device, uint32_t context,
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
    uint16_t index = *place_of(c, device, context, stream);

    return index ? &c->stream[index - 1] : NULL;
}

static uint64_t idle_ns(const struct sl_chakra_stream *s, uint64_t ns)
{
    return ns > s->last_end_ns ? ns - s->last_end_ns : 0;
}

static void forget_idle(struct sl_chakra *c, uint64_t ns)
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
        *place_of(c, s->device, s->context, s->stream) = (uint16_t)(kept + 1);
        kept++;
    }
    c->count.lanes_forgotten += c->streams - kept;
    c->streams = kept;
}

struct sl_chakra_stream *sl_chakra_get_stream(struct sl_chakra *c, const struct sl_event *op)
{
    uint16_t index = *place_of(c, op->device, op->context, op->stream);
    struct sl_chakra_stream *s;

    if (index)
        return &c->stream[index - 1];
    if (c->streams == SL_CHAKRA_STREAMS)
        forget_idle(c, op->start_ns);
    s = &c->stream[c->streams++];
    *s = (struct sl_chakra_stream){
        .device = op->device, .context = op->context, .stream = op->stream};
    *place_of(c, op->device, op->context, op->stream) = (uint16_t)c->streams;
    return s;
}
