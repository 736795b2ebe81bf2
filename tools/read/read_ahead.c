/*
 * read_ahead.c - a ring of decoded blocks between two threads.
 *
 * Threads: the helper thread fills blocks, and the owner empties them. `lock` guards the counts. A
 * block belongs to the owner while it is filled, and otherwise to the helper. Decoding a block
 * takes about a millisecond, so the cost of a mutex is negligible. Memory: the ring owns the
 * blocks.
 */
#include "read/read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct block {
    size_t size; /* size of the text in bytes; 0 at the end of the text */
    size_t taken;
    struct sl_input_status status; /* input status after this block */
    char data[SL_READ_AHEAD_BLOCK_BYTES];
};

struct sl_read_ahead {
    struct sl_input *input;
    struct block block[SL_READ_AHEAD_BLOCKS];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned filled; /* number of blocks that the helper has filled so far */
    unsigned freed;  /* number of blocks that the owner has emptied so far */
    int stop;
    struct sl_input_status status; /* used by the owner only */
};

/* Fills one block. Returns its size. */
static size_t fill(struct sl_read_ahead *a, struct block *b)
{
    b->size = 0;
    b->taken = 0;
    while (b->size < SL_READ_AHEAD_BLOCK_BYTES) {
        size_t n = sl_input_read(a->input, b->data + b->size, SL_READ_AHEAD_BLOCK_BYTES - b->size);

        if (n == 0)
            break;
        b->size += n;
    }
    sl_input_get_status(a->input, &b->status);
    return b->size;
}

static void *run(void *arg)
{
    struct sl_read_ahead *a = arg;
    size_t n = 1;

    pthread_mutex_lock(&a->lock);
    while (n > 0) {
        while (!a->stop && a->filled - a->freed == SL_READ_AHEAD_BLOCKS)
            pthread_cond_wait(&a->changed, &a->lock);
        if (a->stop)
            break;
        pthread_mutex_unlock(&a->lock);
        n = fill(a, &a->block[a->filled % SL_READ_AHEAD_BLOCKS]);
        pthread_mutex_lock(&a->lock);
        a->filled++;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void destroy(struct sl_read_ahead *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

int sl_read_ahead_start(struct sl_read_ahead **out, struct sl_input *input)
{
    struct sl_read_ahead *a = calloc(1, sizeof(*a));
    int rc;

    if (!a)
        return -ENOMEM;
    a->input = input;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    sl_input_get_status(input, &a->status); /* from now on only the helper uses the input */
    rc = -pthread_create(&a->thread, NULL, run, a);
    if (rc)
        destroy(a);
    else
        *out = a;
    return rc;
}

void sl_read_ahead_stop(struct sl_read_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = 1;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    destroy(a);
}

size_t sl_read_ahead_read(void *ahead, void *data, size_t size)
{
    struct sl_read_ahead *a = ahead;
    struct block *b = &a->block[a->freed % SL_READ_AHEAD_BLOCKS];
    size_t n;

    pthread_mutex_lock(&a->lock);
    while (a->filled == a->freed)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    if (b->taken == 0)
        a->status = b->status;
    n = b->size - b->taken;
    if (n > size)
        n = size;
    memcpy(data, b->data + b->taken, n);
    b->taken += n;
    if (b->size > 0 && b->taken == b->size) {
        pthread_mutex_lock(&a->lock);
        a->freed++;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    return n;
}

void sl_read_ahead_get_status(struct sl_read_ahead *a, struct sl_input_status *out)
{
    *out = a->status;
}
