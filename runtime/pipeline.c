/*
 * pipeline.c - from a full CUPTI buffer to the writer's file, for one process.
 *
 * The collector thread creates it and feeds it; the writer thread, which it starts, takes from its
 * ring. It owns all that lies between and is never freed: at exit the process ends, and before
 * that CUPTI may call at any time.
 */
#include "pipeline.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/ring.h"
#include "base/stats.h"
#include "collect/cuda_facts.h"
#include "collect/cupti_buffer.h"
#include "collect/cupti_decode.h"
#include "collect/graph_nodes.h"
#include "collect/nvtx_lane.h"
#include "collect/nvtx_read.h"
#include "control/window.h"
#include "event/assemble.h"
#include "event/device.h"
#include "event/range.h"
#include "event/shape.h"
#include "syncline/syncline.h"
#include "write/edge_rows.h"
#include "write/kineto.h"
#include "write/writer.h"

/* Shares of SYNCLINE_MEMORY, in sixteenths. The ring's holds, at the default, a quarter of a second
 * of a very busy process (a million events a second). What is left is for the writer's block and
 * the compressor's tables. */
enum share {
    RING_SHARE = 4,
    ASSEMBLE_SHARE = 3,
    EDGES_SHARE = 2,
    INTERN_SHARE = 1,
    SHAPE_SHARE = 1,
    TEXT_SHARE = 1,
    CHAKRA_SHARE = 3,
    ALL_SHARES = 16
};

/* The engine of edges takes 48 bytes of its share for each event, until it is told that all up to
 * then is in; it may have to be told twice as late as it is asked for. */
#define EVENTS_PER_DELIVERY_SHARE 256

/* Slots that metadata leaves free for the opening and closing of windows. */
#define WINDOW_SLOTS 4
#define EARLY_ROWS   32
#define NEVER        UINT64_MAX

struct sl_pipeline {
    struct sl_pipeline_options opt;
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table devices;
    struct sl_decode *decode;
    struct sl_assemble *assemble;
    struct sl_ranges *ranges;  /* NULL: NVTX is not wanted, or no memory for it */
    struct sl_nvtx_read *nvtx; /* the same */
    struct sl_ring *ring;
    struct sl_kineto *kineto;
    struct sl_et_window *et;    /* NULL: not wanted, or no memory for it */
    struct sl_edge_rows *edges; /* NULL: no memory for it */
    struct sl_writer *writer;

    /* The window, as rows are judged by it: nothing is in [NEVER, NEVER). */
    uint64_t from_ns, until_ns;
    uint64_t now_ns; /* monotonic: of the delivery in progress */

    int kinds_on;
    uint64_t since_delivery; /* events pushed */
    /* All that ended before complete_ns was decoded; the writer was told of told_ns, because some
     * of it was still held by assemble. */
    uint64_t complete_ns, told_ns;
    uint64_t lost; /* records, at the last delivery */

    /* A process that initialises CUDA and never uses it leaves no file, although some CUPTI makes
     * records of its devices: a window that nobody asked for by hand is opened for the writer only
     * once something was used. */
    int used;
    struct sl_event opening; /* kind 0: none is held back */
    struct sl_event gap;     /* one from before it was: the same */

    /* CUPTI tells of its own costs before anything else, of its buffer's request for one. Those
     * rows wait for the first other row, so that the devices are known when the file begins. */
    int any_row;
    struct sl_event node; /* of a graph; kind 0: none waits for room */
    unsigned early_count;
    struct sl_event early[EARLY_ROWS];
};

/* Static, so that leak checkers find what it holds. */
static struct sl_pipeline the_pipeline;

static size_t share_of(const struct sl_config *config, enum share sixteenths)
{
    return (size_t)(config->memory_bytes / ALL_SHARES * sixteenths);
}

/* The ring rounds up to a power of two; round down here, so that the share is kept. */
static size_t ring_slots(size_t bytes)
{
    size_t slots = 1;

    while (slots * 2 * sizeof(struct sl_event) <= bytes)
        slots *= 2;
    return slots;
}

/* ---- events ---- */

static int is_meta(const struct sl_event *ev)
{
    return ev->kind >= SL_EV_META_PROCESS && ev->kind <= SL_EV_META_STREAM;
}

static int in_window(const struct sl_pipeline *p, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_CUDA_EVENT)
        return 1;
    if (ev->kind == SL_EV_FLOW)
        return ev->start_ns >= p->from_ns && ev->end_ns < p->until_ns;
    if (ev->start_ns == 0 && ev->end_ns == 0)
        return p->from_ns != NEVER;
    return ev->start_ns >= p->from_ns && ev->start_ns < p->until_ns;
}

static int shows_use(const struct sl_event *ev)
{
    return ev->kind != SL_EV_META_PROCESS && ev->kind != SL_EV_META_THREAD &&
           ev->kind != SL_EV_META_DEVICE && ev->kind != SL_EV_OVERHEAD;
}

void sl_pipeline_use(struct sl_pipeline *p)
{
    p->used = 1;
    /* The ring holds little yet: the reserved slots are free. */
    if (p->opening.kind)
        sl_ring_push_control(p->ring, &p->opening);
    if (p->gap.kind)
        sl_ring_push_control(p->ring, &p->gap);
    p->opening.kind = p->gap.kind = SL_EV_NONE;
}

/* From outside the window, but part of what its waits wait for. */
static int orders_waits(const struct sl_pipeline *p, const struct sl_event *ev)
{
    return p->kinds_on && p->edges && ev->kind >= SL_EV_KERNEL && ev->kind <= SL_EV_SYNC &&
           ev->kind != SL_EV_OVERHEAD;
}

static void push(struct sl_pipeline *p, const struct sl_event *ev)
{
    p->since_delivery++;
    if (sl_ring_push(p->ring, ev))
        sl_stats_add(SL_STAT_DROPPED_RING, 1);
}

static void take_row(struct sl_pipeline *p, const struct sl_event *ev)
{
    struct sl_event marked;

    if (in_window(p, ev)) {
        push(p, ev);
        return;
    }
    /* Arrows are ours, not records. */
    sl_stats_add(SL_STAT_OUTSIDE_WINDOW, ev->kind != SL_EV_FLOW);
    if (!orders_waits(p, ev))
        return;
    marked = *ev;
    marked.flags |= SL_EVF_ONLY_EDGES;
    push(p, &marked);
}

static void take_early_rows(struct sl_pipeline *p)
{
    for (unsigned i = 0; i < p->early_count; i++)
        take_row(p, &p->early[i]);
    p->early_count = 0;
}

/* Rows of the user's ranges: all of them in the window. */
static void take_note(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;

    if (ev->kind == SL_EV_NOTE_MARK && !in_window(p, ev)) {
        sl_stats_add(SL_STAT_OUTSIDE_WINDOW, 1);
        return;
    }
    sl_stats_add(SL_STAT_RANGES, 1);
    push(p, ev);
}

/* PyTorch's name for the threads that run a backward pass. */
static void note_worker(struct sl_pipeline *p, const struct sl_event *ev)
{
    static const char worker[] = "pt_autograd";
    size_t length = 0;
    const char *name = sl_intern_get(p->intern, ev->name, &length);

    if (name && length >= sizeof(worker) - 1 && memcmp(name, worker, sizeof(worker) - 1) == 0)
        sl_ranges_worker(p->ranges, ev->thread);
}

static int take_meta(struct sl_pipeline *p, const struct sl_event *ev)
{
    if (p->ranges && ev->kind == SL_EV_META_THREAD)
        note_worker(p, ev);
    /* Rare, and every later row needs it: may use reserved slots, but not the last ones. */
    if (sl_ring_used(p->ring) + WINDOW_SLOTS >= sl_ring_slots(p->ring)) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return -ENOBUFS;
    }
    return sl_ring_push_control(p->ring, ev);
}

/* The assembler's sink. */
static int take_assembled(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;
    struct sl_event call;

    if (!p->used && shows_use(ev))
        sl_pipeline_use(p);
    if (is_meta(ev))
        return take_meta(p, ev);
    if (p->ranges && ev->kind == SL_EV_FLOW)
        sl_ranges_flow(p->ranges, ev);
    if (p->ranges && (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER)) {
        call = *ev;
        sl_ranges_call(p->ranges, &call);
        ev = &call;
    }
    if (!p->any_row) {
        if (ev->kind == SL_EV_OVERHEAD && p->early_count < EARLY_ROWS) {
            p->early[p->early_count++] = *ev;
            return 0;
        }
        p->any_row = 1;
        take_early_rows(p);
    }
    take_row(p, ev);
    return 0;
}

static void take_stamped(struct sl_pipeline *p, const struct sl_event *ev)
{
    if ((ev->flags & SL_EVF_LAUNCH) && !in_window(p, ev)) {
        /* Its GPU operation may never be recorded, between windows: the assembler must neither
         * wait for it nor count it as lost. */
        struct sl_event call = *ev;

        call.flags &= (uint8_t)~SL_EVF_LAUNCH;
        sl_assemble_event(p->assemble, &call, p->now_ns);
        return;
    }
    sl_assemble_event(p->assemble, ev, p->now_ns);
}

/* The decoder's sink. */
static void take_decoded(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;
    struct sl_event real;

    if (!p->opt.clock->is_mixed || is_meta(ev)) {
        take_stamped(p, ev);
        return;
    }
    real = *ev;
    if (sl_cupti_clock_to_real(p->opt.clock, &real.start_ns) ||
        sl_cupti_clock_to_real(p->opt.clock, &real.end_ns))
        sl_stats_add(SL_STAT_RECORDS_OTHER_CLOCK, 1);
    else
        take_stamped(p, &real);
}

/* ---- the user's ranges ---- */

/* The reader's sink: marks, and names of rows. */
static void take_read(void *user, const struct sl_event *ev)
{
    if (is_meta(ev))
        take_meta(user, ev);
    else
        take_note(user, ev);
}

static void meet_thread(void *user, uint32_t thread)
{
    struct sl_pipeline *p = user;

    sl_decode_meet_thread(p->decode, p->opt.identity->pid, thread, take_decoded, p);
}

static void take_named(void *user, const struct sl_nvtx_name *what, uint32_t name)
{
    static const enum sl_decode_object object[] = {[SL_NVTX_THREAD] = SL_DECODE_THREAD,
                                                   [SL_NVTX_DEVICE] = SL_DECODE_DEVICE,
                                                   [SL_NVTX_CONTEXT] = SL_DECODE_CONTEXT,
                                                   [SL_NVTX_STREAM] = SL_DECODE_STREAM};
    struct sl_pipeline *p = user;

    sl_decode_describe(p->decode, object[what->what], (uint32_t)what->key, what->within, name,
                       take_decoded, p);
}

static void count_ranges(const struct sl_pipeline *p)
{
    struct sl_ranges_counts counts;

    sl_ranges_get_counts(p->ranges, &counts);
    sl_stats_set(SL_STAT_RANGES_LOST,
                 counts.lost + sl_nvtx_lanes_lost() + sl_nvtx_read_texts_lost(p->nvtx));
    sl_stats_set(SL_STAT_RANGES_CUT, counts.cut);
}

/* What was called by now, before what CUPTI tells of it. A process that has not used the GPU has no
 * file to show it in: it stays where it is. */
static void read_ranges(struct sl_pipeline *p)
{
    if (!p->nvtx || !p->used)
        return;
    sl_nvtx_read(p->nvtx);
    count_ranges(p);
}

/* Ranges go first, and the file begins before them: whether the buffer shows that the GPU is used
 * must be known before it is decoded. */
static void note_use(struct sl_pipeline *p, const uint8_t *data, size_t valid)
{
    struct sl_decode_held held = {0, 0};

    if (p->used || !p->nvtx)
        return;
    sl_decode_look(p->opt.cupti->version, data, valid, &held);
    if (held.of_use)
        sl_pipeline_use(p);
}

static void tell_ranges_window(struct sl_pipeline *p)
{
    if (p->ranges)
        sl_ranges_window(p->ranges, p->from_ns, p->until_ns);
}

/* Of graphs that were built, before any record of their launches. What finds no room in the ring
 * goes next time. */
static void take_nodes(struct sl_pipeline *p)
{
    while (p->edges && (p->node.kind || sl_graph_nodes_next(&p->node))) {
        if (sl_ring_used(p->ring) + WINDOW_SLOTS >= sl_ring_slots(p->ring) ||
            sl_ring_push_control(p->ring, &p->node))
            return;
        p->node.kind = SL_EV_NONE;
    }
}

size_t sl_pipeline_buffer(struct sl_pipeline *p, const uint8_t *data, size_t valid)
{
    size_t records;

    p->now_ns = sl_clock_monotonic();
    note_use(p, data, valid);
    read_ranges(p);
    take_nodes(p);
    records = sl_decode_buffer(p->decode, data, valid, take_decoded, p);
    sl_writer_wake(p->writer);
    return records;
}

const struct sl_device_table *sl_pipeline_devices(const struct sl_pipeline *p)
{
    return &p->devices;
}

uint64_t sl_pipeline_waiting(const struct sl_pipeline *p)
{
    return sl_assemble_waiting(p->assemble);
}

/* What assemble has let go since the last delivery. */
static void deliver_rest(struct sl_pipeline *p)
{
    if (p->told_ns < p->complete_ns && p->told_ns < sl_assemble_held_ns(p->assemble))
        sl_pipeline_delivered(p, p->complete_ns);
}

void sl_pipeline_tick(struct sl_pipeline *p)
{
    struct sl_assemble_counts counts;

    read_ranges(p);
    sl_assemble_tick(p->assemble, sl_clock_monotonic());
    deliver_rest(p);
    sl_assemble_get_counts(p->assemble, &counts);
    sl_stats_set(SL_STAT_NESTED_DROPPED, counts.nested_dropped);
    sl_stats_set(SL_STAT_LATE_OUTER, counts.late_outer);
    sl_stats_set(SL_STAT_NOT_READY, counts.not_ready);
    sl_stats_set(SL_STAT_DUPLICATES, counts.duplicates);
    sl_stats_set(SL_STAT_GPU_WITHOUT_CALL, counts.gpu_without_call);
    sl_stats_set(SL_STAT_CALL_WITHOUT_GPU, counts.call_without_gpu);
    sl_stats_set(SL_STAT_CORRELATION_WRAPS, counts.wraps);
    if (sl_ring_used(p->ring))
        sl_writer_wake(p->writer);
}

/* ---- how far all is in ---- */

/* Records whose absence may make another operation look like what was waited for. */
static uint64_t records_lost(void)
{
    static const enum sl_stat reasons[] = {
        SL_STAT_RECORDS_INVALID,           SL_STAT_DROPPED_CUPTI,
        SL_STAT_DROPPED_NO_BUFFER,         SL_STAT_DROPPED_RING,
        SL_STAT_DROPPED_RECORDS_DISCARDED, SL_STAT_UNDELIVERED_BUFFERS,
        SL_STAT_UNDELIVERED_AT_EXIT,       SL_STAT_RECORDS_OTHER_CLOCK,
    };
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        sum += sl_stats_get(reasons[i]);
    return sum;
}

void sl_pipeline_kinds_on(struct sl_pipeline *p, int anew)
{
    const struct sl_event ev = {.kind = SL_EV_KINDS_ON, .start_ns = sl_clock_now()};

    if (anew && p->edges && sl_ring_push(p->ring, &ev))
        sl_stats_add(SL_STAT_DROPPED_RING, 1); /* a loss, which has the same effect */
    p->kinds_on = 1;
}

void sl_pipeline_kinds_off(struct sl_pipeline *p)
{
    p->kinds_on = 0;
}

void sl_pipeline_gap(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns)
{
    const struct sl_event ev = {.kind = SL_EV_GAP, .start_ns = from_ns, .end_ns = until_ns};

    if (p->opening.kind)
        p->gap = ev;
    else if (sl_ring_push_control(p->ring, &ev))
        sl_stats_add(SL_STAT_DROPPED_RING, 1);
    sl_writer_wake(p->writer);
}

int sl_pipeline_delivered(struct sl_pipeline *p, uint64_t complete_ns)
{
    sl_decode_settle(p->decode, complete_ns, take_decoded, p);
    uint64_t lost = records_lost(), held_ns = sl_assemble_held_ns(p->assemble);
    struct sl_event ev = {.kind = SL_EV_DELIVERED,
                          .end_ns = complete_ns < held_ns ? complete_ns : held_ns};

    if (p->ranges)
        sl_ranges_complete(p->ranges, ev.end_ns);
    if (!p->edges)
        return 0;
    if (p->complete_ns < complete_ns)
        p->complete_ns = complete_ns;
    if (lost != p->lost || sl_cupti_pool_is_discarding())
        ev.flags = SL_EVF_RECORDS_LOST;
    if (sl_ring_push(p->ring, &ev))
        return -ENOBUFS;
    p->lost = lost;
    p->since_delivery = 0;
    if (p->told_ns < ev.end_ns)
        p->told_ns = ev.end_ns;
    sl_writer_wake(p->writer);
    return 0;
}

int sl_pipeline_wants_delivery(const struct sl_pipeline *p)
{
    return p->edges &&
           p->since_delivery > share_of(p->opt.config, EDGES_SHARE) / EVENTS_PER_DELIVERY_SHARE;
}

/* ---- windows ---- */

int sl_pipeline_open(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t opened_ns)
{
    struct sl_event ev = {.kind = SL_EV_WINDOW_OPEN, .start_ns = opened_ns};

    ev.u.window.number = number;
    ev.u.window.reason = reason;
    if (!p->used && reason != SL_REASON_API)
        p->opening = ev;
    else if (sl_ring_push_control(p->ring, &ev))
        return -ENOBUFS;
    p->from_ns = opened_ns;
    p->until_ns = NEVER;
    tell_ranges_window(p);
    sl_writer_wake(p->writer);
    return 0;
}

int sl_pipeline_is_open(const struct sl_pipeline *p)
{
    return p->from_ns != NEVER;
}

void sl_pipeline_without_cupti(struct sl_pipeline *p)
{
    sl_decode_without_library(p->decode);
}

void sl_pipeline_bound(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns)
{
    p->from_ns = from_ns;
    p->until_ns = until_ns;
    tell_ranges_window(p);
}

void sl_pipeline_limit(struct sl_pipeline *p, uint64_t closed_ns)
{
    p->until_ns = closed_ns;
    tell_ranges_window(p);
}

void sl_pipeline_flush(struct sl_pipeline *p)
{
    sl_decode_settle(p->decode, NEVER, take_decoded, p);
    sl_assemble_flush(p->assemble);
    sl_pipeline_tick(p);
}

int sl_pipeline_close(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t closed_ns)
{
    struct sl_event ev = {.kind = SL_EV_WINDOW_CLOSE, .end_ns = closed_ns};

    sl_pipeline_flush(p);
    if (p->used)
        take_early_rows(p);
    read_ranges(p);
    if (p->ranges && p->used) {
        sl_ranges_close(p->ranges, closed_ns);
        count_ranges(p);
    }
    /* The window's end decides what is left of its waits: what was lost must be known by then. */
    if (sl_pipeline_delivered(p, 0))
        return -ENOBUFS;
    ev.u.window.number = number;
    ev.u.window.reason = reason;
    if (p->opening.kind)
        p->opening.kind = p->gap.kind = SL_EV_NONE;
    else if (sl_ring_push_control(p->ring, &ev))
        return -ENOBUFS;
    p->from_ns = p->until_ns = NEVER;
    tell_ranges_window(p);
    sl_writer_wake(p->writer);
    return 0;
}

/* ---- life ---- */

static int start_writer(struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_identity *who = p->opt.identity;
    struct sl_writer_options opt = {
        .ring = p->ring,
        .kineto = p->kineto,
        .edges = p->edges,
        .et = p->edges ? p->et : NULL,
        .compression = config->compression,
        .level = config->level,
        .folder = who->folder,
        .meta =
            {
                .pid = who->pid,
                .rank = who->rank,
                .world_size = who->world_size,
                .host = who->host,
                .job = who->job,
                .process_name = who->process_name,
                .syncline_version = SYNCLINE_VERSION,
                .cupti_version = p->opt.cupti->version,
            },
    };

    sl_cuda_facts_versions(&opt.meta.cuda_driver_version, &opt.meta.cuda_runtime_version);
    return sl_writer_start(&p->writer, &opt);
}

static int create_kineto(struct sl_pipeline *p)
{
    const struct sl_kineto_options opt = {
        .detail = p->opt.config->detail,
        .intern = p->intern,
        .shapes = p->shapes,
        .devices = &p->devices,
        .cap_bytes = share_of(p->opt.config, TEXT_SHARE),
        .api_name = sl_decode_api_name,
    };

    return sl_kineto_create(&p->kineto, &opt);
}

/* A job without execution traces is better than none. */
static void create_et(struct sl_pipeline *p)
{
    static const enum sl_compression compression[] = {[SL_CHAKRA_RAW] = SL_COMPRESS_NONE,
                                                      [SL_CHAKRA_GZIP] = SL_COMPRESS_GZIP,
                                                      [SL_CHAKRA_ZSTD] = SL_COMPRESS_ZSTD};
    const struct sl_config *config = p->opt.config;
    const struct sl_et_window_options opt = {
        .chakra =
            {
                .intern = p->intern,
                .shapes = p->shapes,
                .cap_bytes = share_of(config, CHAKRA_SHARE),
                .api_name = sl_decode_api_name,
            },
        .compression = compression[config->chakra],
        .folder = p->opt.identity->folder,
    };
    int error = config->chakra == SL_CHAKRA_OFF ? 0 : sl_et_window_create(&p->et, &opt);

    if (error == -EINVAL)
        sl_log(SL_LOG_WARN, "SYNCLINE_MEMORY is too small for Chakra execution traces: none are "
                            "written; give it 64MiB, or set SYNCLINE_CHAKRA to off");
    else if (error)
        sl_log(SL_LOG_WARN, "no memory for Chakra execution traces: none are written; lower "
                            "SYNCLINE_MEMORY, or set SYNCLINE_CHAKRA to off");
}

/* So is one without edges. */
static void create_edges(struct sl_pipeline *p)
{
    const struct sl_edge_rows_options opt = {
        .cap_bytes = share_of(p->opt.config, EDGES_SHARE),
        .shapes = p->shapes,
        .kineto = p->kineto,
        .et = p->et,
    };

    if (sl_edge_rows_create(&p->edges, &opt) != 0) {
        p->edges = NULL;
        sl_log(SL_LOG_WARN, "no memory for sync edges: the trace will not say what waits waited "
                            "for; lower SYNCLINE_MEMORY");
    } else if (!(p->opt.config->kinds & SL_CUPTI_SYNC)) {
        sl_log(SL_LOG_INFO, "synchronization is not recorded (SYNCLINE_KINDS): no sync edges but "
                            "those of copies and frees");
    }
}

static int create_decode(struct sl_pipeline *p)
{
    const struct sl_decode_options opt = {
        .version = p->opt.cupti->version,
        .get_next_record = p->opt.cupti->fn.ActivityGetNextRecord,
        .filter_api = p->opt.filter_api,
        .intern = p->intern,
        .shapes = p->shapes,
        .devices = &p->devices,
        .query_device = sl_cuda_facts_device,
    };

    return sl_decode_create(&p->decode, &opt);
}

static int create_assemble(struct sl_pipeline *p)
{
    const struct sl_assemble_options opt = {
        .cap_bytes = share_of(p->opt.config, ASSEMBLE_SHARE),
        .flows = p->opt.config->detail != SL_DETAIL_LEAN,
        .sink = take_assembled,
        .sink_user = p,
    };

    return sl_assemble_create(&p->assemble, &opt);
}

/* A job without its ranges is better than none. */
static void create_ranges(struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_ranges_options ranges = {
        .cap_bytes = (size_t)(config->nvtx_memory_bytes / 3), .sink = take_note, .sink_user = p};
    struct sl_nvtx_read_options read = {.intern = p->intern,
                                        .texts_bytes = share_of(config, INTERN_SHARE) / 2,
                                        .user = p,
                                        .sink = take_read,
                                        .thread = meet_thread,
                                        .named = take_named};

    if (!config->nvtx)
        return;
    if (sl_ranges_create(&p->ranges, &ranges) == 0) {
        read.ranges = p->ranges;
        if (sl_nvtx_read_create(&p->nvtx, &read) == 0) {
            tell_ranges_window(p);
            return;
        }
        sl_ranges_destroy(p->ranges);
    }
    p->ranges = NULL;
    sl_log(SL_LOG_WARN,
           "no memory for NVTX ranges: the trace has none; lower SYNCLINE_NVTX_MEMORY");
}

int sl_pipeline_create(struct sl_pipeline **out, const struct sl_pipeline_options *opt)
{
    struct sl_pipeline *p = &the_pipeline;
    int err;

    p->opt = *opt;
    p->from_ns = p->until_ns = NEVER;
    err = sl_intern_create(&p->intern, share_of(opt->config, INTERN_SHARE));
    if (err)
        goto fail_intern;
    err = sl_shape_create(&p->shapes, share_of(opt->config, SHAPE_SHARE));
    if (err)
        goto fail_shapes;
    err = create_decode(p);
    if (err)
        goto fail_decode;
    err = create_assemble(p);
    if (err)
        goto fail_assemble;
    err = sl_ring_create(&p->ring, ring_slots(share_of(opt->config, RING_SHARE)));
    if (err)
        goto fail_ring;
    err = create_kineto(p);
    if (err)
        goto fail_kineto;
    create_ranges(p);
    create_et(p);
    create_edges(p);
    err = start_writer(p);
    if (err)
        goto fail_writer;
    *out = p;
    return 0;

fail_writer:
    sl_nvtx_read_destroy(p->nvtx);
    sl_ranges_destroy(p->ranges);
    sl_edge_rows_destroy(p->edges);
    sl_et_window_destroy(p->et);
    sl_kineto_destroy(p->kineto);
fail_kineto:
    sl_ring_destroy(p->ring);
fail_ring:
    sl_assemble_destroy(p->assemble);
fail_assemble:
    sl_decode_destroy(p->decode);
fail_decode:
    sl_shape_destroy(p->shapes);
fail_shapes:
    sl_intern_destroy(p->intern);
fail_intern:
    return err;
}

int sl_pipeline_stop(struct sl_pipeline *p, uint64_t timeout_ns)
{
    return sl_writer_stop(p->writer, timeout_ns);
}

size_t sl_pipeline_queued(const struct sl_pipeline *p)
{
    return sl_ring_used(p->ring);
}

int sl_pipeline_is_crowded(const struct sl_pipeline *p)
{
    return sl_ring_used(p->ring) > sl_ring_slots(p->ring) / 2;
}

void sl_pipeline_last(struct sl_pipeline *p, char *path, size_t path_size, uint64_t *windows)
{
    sl_writer_last(p->writer, path, path_size, windows);
}

size_t sl_pipeline_bytes(const struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;

    return sl_ring_slots(p->ring) * sizeof(struct sl_event) + sl_intern_bytes(p->intern) +
           share_of(config, ASSEMBLE_SHARE) + share_of(config, SHAPE_SHARE) +
           share_of(config, TEXT_SHARE) + (p->edges ? share_of(config, EDGES_SHARE) : 0) +
           (p->et ? share_of(config, CHAKRA_SHARE) : 0);
}
