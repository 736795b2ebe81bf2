/*
 * idle_client.c - an injected CUPTI client that requests the same records as syncline and discards
 * them. It shows the cost of recording alone.
 *
 * Threads: CUPTI chooses the threads of the two callbacks. A separate thread flushes CUPTI as often
 * as syncline does, and fills returned buffers with zeros. Memory: buffers are kept until the
 * process ends.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/cupti/api.h"

#define BUFFER_BYTES (512u << 10)
#define FLUSH_NS     250000000

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

struct buffer {
    struct buffer *next;
    uint8_t *data;
    size_t valid;
};

static struct sl_cupti_api cupti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *clean, *used, *out; /* lists of buffers: ready for CUPTI, returned by CUPTI,
                                             and owned by CUPTI */
static _Atomic int ended;

/* Moves the buffer whose memory is `memory` from one list to another. If `memory` is NULL, moves
 * the first buffer. */
static struct buffer *move(struct buffer **from, const uint8_t *data, struct buffer **to)
{
    while (*from && data && (*from)->data != data)
        from = &(*from)->next;
    struct buffer *b = *from;

    if (b) {
        *from = b->next;
        b->next = *to;
        *to = b;
    }
    return b;
}

static void give(uint8_t **data, size_t *size, size_t *max_records)
{
    pthread_mutex_lock(&lock);
    struct buffer *b = move(&clean, NULL, &out);

    if (!b && (b = calloc(1, sizeof(*b)))) {
        b->data = calloc(1, BUFFER_BYTES);
        b->next = out;
        out = b;
    }
    pthread_mutex_unlock(&lock);
    *data = b ? b->data : NULL;
    *size = BUFFER_BYTES;
    *max_records = 0;
}

static void take(void *context, uint32_t stream, uint8_t *data, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&lock);
    struct buffer *b = move(&out, data, &used);

    if (b)
        b->valid = valid;
    pthread_mutex_unlock(&lock);
}

static void clean_up(void)
{
    struct buffer *b;

    pthread_mutex_lock(&lock);
    b = used;
    used = NULL;
    pthread_mutex_unlock(&lock);
    while (b) {
        struct buffer *next = b->next;

        memset(b->data, 0, b->valid);
        pthread_mutex_lock(&lock);
        b->next = clean;
        clean = b;
        pthread_mutex_unlock(&lock);
        b = next;
    }
}

static void *flush(void *unused)
{
    const struct timespec nap = {.tv_nsec = FLUSH_NS};

    (void)unused;
    pthread_setname_np(pthread_self(), "idle-client");
    while (!ended) {
        nanosleep(&nap, NULL);
        if (!ended)
            cupti.fn.ActivityFlushAll(0);
        clean_up();
    }
    return NULL;
}

static void end(void)
{
    ended = 1;
}

EXPORT int InitializeInjection(void)
{
    const uint32_t kinds = SL_CUPTI_KERNEL | SL_CUPTI_MEMCPY | SL_CUPTI_MEMSET | SL_CUPTI_RUNTIME |
                           SL_CUPTI_DRIVER | SL_CUPTI_SYNC | SL_CUPTI_OVERHEAD | SL_CUPTI_NAMES;
    pthread_t thread;
    char why[256];
    int filter;

    if (sl_cupti_api_open(&cupti, why, sizeof(why))) {
        fprintf(stderr, "idle_client: %s\n", why);
        return 1;
    }
    if (sl_cupti_attach(&cupti, give, take) || !sl_cupti_enable(&cupti, kinds, 0, &filter) ||
        pthread_create(&thread, NULL, flush, NULL)) {
        fprintf(stderr, "idle_client: CUPTI cannot be used\n");
        return 1;
    }
    pthread_detach(thread);
    atexit(end);
    return 1;
}
