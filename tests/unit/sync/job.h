/*
 * job.h - a job told call by call, and the edges that came of it.
 *
 * Times are in microseconds here. Each call takes the next correlation id, as CUDA's do.
 */
#ifndef SL_TEST_JOB_H
#define SL_TEST_JOB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sync/edge.h"

enum {
    LAUNCH = 211,
    DEVICE_SYNC = 165,
    STREAM_SYNC = 131,
    STREAM_QUERY = 132,
    EVENT_SYNC = 137,
    EVENT_QUERY = 138,
    STREAM_WAIT = 147,
    EVENT_RECORD = 135,
    MEMCPY = 31,
    MEMCPY_ASYNC = 41,
    MEMSET = 49,
    MEMCPY_PEER = 160,
    FREE = 22,
    DEVICE_RESET = 164,
    GRAPH_LAUNCH = 311,
    CAPTURE_BEGIN = 315,
    CAPTURE_END = 319,
    CONTEXT_RECORD = 543,
    CONTEXT_WAIT = 544
};

#define JOB_EDGES 4096
#define US        1000ull

struct job {
    struct sl_edges *edges;
    struct sl_shape_table *shapes;
    uint64_t correlation;
    uint32_t thread;
    struct sl_edge got[JOB_EDGES];
    size_t count, calls;
    struct sl_event kept[256]; /* instead of being told, while `keep` */
    size_t kept_count;
    int keep;
};

static void job_sink(void *user, const struct sl_edge *edges, size_t count)
{
    struct job *j = user;

    assert_true(count > 0);
    j->calls++;
    for (size_t i = 0; i < count; i++) {
        assert_true(j->count < JOB_EDGES);
        j->got[j->count++] = edges[i];
    }
}

static struct job *job_begin(struct sl_edges_options opt)
{
    struct job *j = calloc(1, sizeof *j);

    assert_non_null(j);
    assert_int_equal(sl_shape_create(&j->shapes, 1 << 20), 0);
    opt.sink = job_sink;
    opt.sink_user = j;
    opt.shapes = j->shapes;
    j->thread = 100;
    assert_int_equal(sl_edges_create(&j->edges, &opt), 0);
    return j;
}

static void job_end(struct job *j)
{
    sl_edges_destroy(j->edges);
    sl_shape_destroy(j->shapes);
    free(j);
}

static inline void job_tell(struct job *j, const struct sl_event *ev)
{
    if (j->keep) {
        assert_true(j->kept_count < 256);
        j->kept[j->kept_count++] = *ev;
    } else {
        sl_edges_event(j->edges, ev);
    }
}

static inline void job_stream(struct job *j, uint32_t stream, uint32_t flags)
{
    struct sl_event ev = {.kind = SL_EV_META_STREAM, .context = 1, .stream = stream};

    ev.u.meta.flags = flags;
    sl_edges_event(j->edges, &ev);
}

static inline int job_launches(uint32_t cbid)
{
    return cbid == LAUNCH || cbid == MEMCPY || cbid == MEMCPY_ASYNC || cbid == MEMSET ||
           cbid == MEMCPY_PEER || cbid == GRAPH_LAUNCH;
}

static inline uint64_t job_call(struct job *j, uint32_t cbid, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME,
                          .correlation = ++j->correlation,
                          .start_ns = from * US,
                          .end_ns = to * US,
                          .thread = j->thread,
                          .flags = job_launches(cbid) ? SL_EVF_LAUNCH : 0,
                          .stream = SL_STREAM_NONE};

    ev.u.call.cbid = cbid;
    job_tell(j, &ev);
    return j->correlation;
}

/* The GPU's part of the last call. */
static inline void job_ran(struct job *j, uint32_t stream, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL,
                          .correlation = j->correlation,
                          .start_ns = from * US,
                          .end_ns = to * US,
                          .context = 1,
                          .stream = stream};

    job_tell(j, &ev);
}

/* A kernel: a call of 2 us at `at`, and the time it ran. */
static inline uint64_t job_kernel(struct job *j, uint32_t stream, unsigned at, unsigned from,
                                  unsigned to)
{
    job_call(j, LAUNCH, at, at + 2);
    job_ran(j, stream, from, to);
    return j->correlation;
}

static inline void job_synced(struct job *j, enum sl_sync_type type, uint32_t stream,
                              uint32_t event, uint64_t sync_id, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_SYNC,
                          .correlation = j->correlation,
                          .start_ns = from * US,
                          .end_ns = to * US,
                          .context = 1,
                          .stream = stream};

    ev.u.sync.type = (uint8_t)type;
    ev.u.sync.event_id = event;
    ev.u.sync.event_sync_id = sync_id;
    job_tell(j, &ev);
}

static inline uint64_t job_device_sync(struct job *j, unsigned from, unsigned to)
{
    job_call(j, DEVICE_SYNC, from, to);
    job_synced(j, SL_SYNC_CONTEXT, SL_STREAM_NONE, 0, 0, from, to);
    return j->correlation;
}

static inline uint64_t job_stream_sync(struct job *j, uint32_t stream, unsigned from, unsigned to)
{
    job_call(j, STREAM_SYNC, from, to);
    job_synced(j, SL_SYNC_STREAM, stream, 0, 0, from, to);
    return j->correlation;
}

static inline uint64_t job_event_sync(struct job *j, uint32_t event, uint64_t sync_id,
                                      unsigned from, unsigned to)
{
    job_call(j, EVENT_SYNC, from, to);
    job_synced(j, SL_SYNC_EVENT, SL_STREAM_NONE, event, sync_id, from, to);
    return j->correlation;
}

static inline uint64_t job_record(struct job *j, uint32_t stream, uint32_t event, uint64_t sync_id,
                                  unsigned at)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = stream};

    ev.correlation = job_call(j, EVENT_RECORD, at, at + 1);
    ev.u.sync.event_id = event;
    ev.u.sync.event_sync_id = sync_id;
    job_tell(j, &ev);
    return j->correlation;
}

static inline uint64_t job_wait_event(struct job *j, uint32_t stream, uint32_t event,
                                      uint64_t sync_id, unsigned at)
{
    job_call(j, STREAM_WAIT, at, at + 1);
    job_synced(j, SL_SYNC_STREAM_WAIT, stream, event, sync_id, at, at + 1);
    return j->correlation;
}

/* The edge from one call's operation to another call or its operation; NULL if there is none. */
static inline const struct sl_edge *job_edge(const struct job *j, uint64_t source,
                                             uint64_t destination)
{
    const struct sl_edge *found = NULL;

    for (size_t i = 0; i < j->count; i++) {
        if (j->got[i].source.correlation == source && j->got[i].dst_correlation == destination) {
            assert_null(found);
            found = &j->got[i];
        }
    }
    return found;
}

static inline uint64_t job_lost(const struct job *j)
{
    uint64_t lost = 0;

    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        lost += sl_edges_lost(j->edges, (enum sl_edge_loss)i);
    return lost;
}

/* Everything was seen. */
static inline struct job *begin(void)
{
    return job_begin((struct sl_edges_options){0});
}

static inline void assert_wait(const struct sl_edge *edge, enum sl_edge_kind kind, unsigned wait_us,
                               unsigned wake_us, int released)
{
    assert_non_null(edge);
    assert_string_equal(sl_edge_kind_name(edge->kind), sl_edge_kind_name(kind));
    assert_int_equal(edge->basis, SL_BASIS_EXACT);
    assert_int_equal(edge->wait_ns, wait_us * US);
    assert_int_equal(edge->wake_ns, wake_us * US);
    assert_int_equal(edge->released, released);
}

/* One of graph 4's that ran; of the call that was told last. */
static inline void job_node(struct job *j, uint32_t stream, uint64_t id, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL,
                          .context = 1,
                          .stream = stream,
                          .graph = 4,
                          .correlation = j->correlation,
                          .start_ns = from * US,
                          .end_ns = to * US};

    ev.u.op.graph_node = id;
    job_tell(j, &ev);
}

#endif
