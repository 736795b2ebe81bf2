/*
 * streams.h - a store and streams for the tests of what stands on them. Times are in microseconds.
 */
#ifndef SL_TEST_STREAMS_H
#define SL_TEST_STREAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sync/stream_state.h"

#define US 1000ull

struct rig {
    struct sl_store store;
    struct sl_streams streams;
};

static inline int rig_make(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    r->store.cap_bytes = 1 << 20;
    sl_streams_init(&r->streams, &r->store);
    *state = r;
    return 0;
}

/* The bound holds for what was counted, so all of it must be given back. */
static inline int rig_drop(void **state)
{
    struct rig *r = *state;

    sl_streams_free(&r->streams);
    int left = r->store.used_bytes != 0;

    free(r);
    return left;
}

static inline struct sl_stream *rig_stream(struct rig *r, uint32_t id, uint32_t flags)
{
    struct sl_stream *stream = sl_streams_get(&r->streams, 0, 1, id);

    assert_non_null(stream);
    sl_streams_flags(&r->streams, 0, 1, id, flags);
    return stream;
}

/* A call of thread 100 that takes 2 us. */
static inline struct sl_moment rig_call(uint64_t correlation, unsigned at)
{
    return (struct sl_moment){
        .correlation = correlation, .from_ns = at * US, .to_ns = (at + 2) * US, .thread = 100};
}

static inline struct sl_op *rig_push_by(struct rig *r, struct sl_stream *stream,
                                        struct sl_moment by, unsigned from, unsigned to,
                                        struct sl_set *before)
{
    struct sl_edge_op pub = {.correlation = by.correlation,
                             .start_ns = from * US,
                             .end_ns = to * US,
                             .stream = stream->id};
    struct sl_set unwanted = {0};
    uint64_t previous;
    struct sl_op *op;

    assert_int_equal(
        sl_stream_push(&r->streams, stream, &pub, &by, before ? before : &unwanted, &previous, &op),
        0);
    sl_set_clear(&r->streams, &unwanted);
    return op;
}

/* An operation whose call has its id for a time. */
static inline struct sl_op *rig_push(struct rig *r, struct sl_stream *stream, uint64_t correlation,
                                     unsigned from, unsigned to)
{
    return rig_push_by(r, stream, rig_call(correlation, (unsigned)correlation), from, to, NULL);
}

/* The member of the set that call `correlation` enqueued; NULL: none. */
static inline const struct sl_link *rig_member(const struct sl_set *set, uint64_t correlation)
{
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->pub.correlation == correlation)
            return at;
    return NULL;
}

static inline size_t set_size(const struct sl_set *set)
{
    size_t size = 0;

    for (const struct sl_link *at = set->first; at; at = at->next)
        size++;
    return size;
}

#endif
