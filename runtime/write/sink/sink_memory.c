/*
 * sink_memory.c - writes bytes to memory, for tests and benchmarks.
 *
 * Threads: one owner. Memory: one buffer, which grows by doubling and is freed by close.
 */
#include "write/sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct memory_sink {
    struct sl_sink sink; /* must be first, because a sink is cast to this struct */
    char *data;
    size_t size, capacity;
    int error;
};

static int memory_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct memory_sink *m = (struct memory_sink *)sink;

    if (m->error)
        return m->error;
    if (m->capacity - m->size < size) {
        size_t capacity = m->capacity ? m->capacity : 65536;
        char *grown;

        while (capacity - m->size < size)
            capacity *= 2;
        grown = realloc(m->data, capacity);
        if (!grown)
            return m->error = -ENOMEM;
        m->data = grown;
        m->capacity = capacity;
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
    return 0;
}

static int memory_sync(struct sl_sink *sink)
{
    return ((struct memory_sink *)sink)->error;
}

static int memory_close(struct sl_sink *sink, int complete)
{
    struct memory_sink *m = (struct memory_sink *)sink;
    int error = m->error;

    (void)complete;
    free(m->data);
    free(m);
    return error;
}

int sl_sink_memory_open(struct sl_sink **out)
{
    struct memory_sink *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->sink.write = memory_write;
    m->sink.sync = memory_sync;
    m->sink.close = memory_close;
    *out = &m->sink;
    return 0;
}

void sl_sink_memory_get(const struct sl_sink *sink, const void **data, size_t *size)
{
    const struct memory_sink *m = (const struct memory_sink *)sink;

    *data = m->data;
    *size = m->size;
}
