/*
 * distributed.c - stores the job's description of its ranks and process groups.
 *
 * There are three buffers. One buffer has the last text. One buffer has the text that the reader is
 * using. The third buffer is free for the next write. Threads, memory: see distributed.h.
 */
#include "write/distributed.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 3
#define NONE   PLACES

static struct {
    struct {
        char text[SL_DISTRIBUTED_MOST];
        size_t length;
        uint32_t version;
    } place[PLACES];
    _Atomic unsigned last, reading;
    _Atomic uint64_t rank; /* world size << 32 | rank; 0: not known */
    uint32_t version;      /* used only by the thread that sets the text */
} told = {.last = NONE, .reading = NONE};

/* Returns the number of a member of the object, or -1. The package writes both numbers before any
 * text that the job chooses. */
static long long number_of(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    char *end;
    long long value = at ? strtoll(at + strlen(key), &end, 10) : -1;

    return at && end > at + strlen(key) && value <= INT_MAX ? value : -1;
}

static void set_rank(const char *json)
{
    long long rank = number_of(json, "\"rank\": "), size = number_of(json, "\"world_size\": ");

    if (rank >= 0 && size > rank)
        atomic_store_explicit(&told.rank, (uint64_t)size << 32 | (uint64_t)rank,
                              memory_order_relaxed);
}

int sl_distributed_set(const char *json)
{
    size_t length = json ? strnlen(json, SL_DISTRIBUTED_MOST) : 0;
    unsigned at = 0;

    if (length < 2 || json[0] != '{' || json[length - 1] != '}' || strchr(json, '\n'))
        return length == SL_DISTRIBUTED_MOST ? -E2BIG : -EINVAL;
    /* Finds a buffer to write to. This must not be the buffer that the reader has announced. It
     * must not be the last buffer either, because the reader may be about to announce it. The loads
     * are sequentially consistent with sl_distributed_get(). A delayed reader may announce an old
     * buffer late, and change to another buffer while this loop runs. So the loop continues until
     * it finds a buffer that is neither announced nor the last one. */
    while (at == atomic_load(&told.last) || at == atomic_load(&told.reading))
        at = (at + 1) % PLACES;
    memcpy(told.place[at].text, json, length);
    told.place[at].length = length;
    told.place[at].version = ++told.version;
    set_rank(json);
    atomic_store(&told.last, at);
    return 0;
}

const char *sl_distributed_get(size_t *length, uint32_t *version)
{
    unsigned at;

    do {
        at = atomic_load(&told.last);
        atomic_store(&told.reading, at);
    } while (at != atomic_load(&told.last));
    *version = at == NONE ? 0 : told.place[at].version;
    *length = at == NONE ? 0 : told.place[at].length;
    return at == NONE ? NULL : told.place[at].text;
}

int sl_distributed_rank(int *rank, int *world_size)
{
    uint64_t both = atomic_load_explicit(&told.rank, memory_order_relaxed);

    if (!both)
        return 0;
    *rank = (int)(uint32_t)both;
    *world_size = (int)(both >> 32);
    return 1;
}
