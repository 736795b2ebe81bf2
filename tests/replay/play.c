/*
 * play.c - plays the lines of a replay stream as records of the simulated CUPTI.
 *
 * One thread. A real CUPTI creates the record of a kernel or copy at the launch and completes it at
 * the end of the operation. Here, the record is created at its line, and is completed before the
 * first line that is later than the operation's end. If the recording has no end of the operation,
 * its record never becomes complete.
 */
#include "play.h"

#include <errno.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "stream.h"

struct play {
    const struct sim_probe *probe;
    void (*wait_until)(uint64_t ns);
    struct replay_heap running;
    void *names;            /* a search tree of names; equal names are stored once */
    struct sim_guise maker; /* the recorded thread that created the contexts and streams that are
                               being delivered */
    uint64_t ops;
};

struct survey {
    struct sim_device_info *devices;
    uint32_t cap, count;
    struct replay_span span;
};

static uint32_t number(const struct replay_line *line, enum replay_field field)
{
    return (uint32_t)line->value[field][0];
}

static void three(uint32_t out[3], const struct replay_line *line, enum replay_field field)
{
    for (int i = 0; i < 3; i++) {
        out[i] = (uint32_t)line->value[field][i];
    }
}

/* ---- devices and times that the player needs before the first record ---- */

static int survey_device(struct survey *s, const struct replay_line *line)
{
    uint32_t id = number(line, F_DEVICE);

    if (id >= s->cap) {
        fprintf(stderr, "replay: line %u: there is no room for a device %u\n", line->number, id);
        return -EINVAL;
    }
    struct sim_device_info *d = &s->devices[id];

    *d = (struct sim_device_info){
        .major = (uint32_t)line->value[F_CAPABILITY][0],
        .minor = (uint32_t)line->value[F_CAPABILITY][1],
        .multiprocessors = number(line, F_SMS),
        .max_threads_per_block = (uint32_t)line->value[F_THREADS][0],
        .max_threads_per_sm = (uint32_t)line->value[F_THREADS][1],
        .max_blocks_per_sm = number(line, F_BLOCKS),
        .max_registers_per_block = (uint32_t)line->value[F_REGISTERS][0],
        .max_registers_per_sm = (uint32_t)line->value[F_REGISTERS][1],
        .max_shared_per_block = (uint32_t)line->value[F_SHARED][0],
        .max_shared_per_sm = (uint32_t)line->value[F_SHARED][1],
        .warp_size = number(line, F_WARP),
        .core_clock_khz = number(line, F_CLOCK),
        .memory_bytes = line->value[F_BYTES][0],
        .memory_bandwidth_kbps = line->value[F_BANDWIDTH][0],
    };
    d->max_warps_per_sm = d->warp_size ? d->max_threads_per_sm / d->warp_size : 0;
    snprintf(d->name, sizeof d->name, "%s", line->name ? line->name : "");
    s->count = id >= s->count ? id + 1 : s->count;
    return 0;
}

static void widen(struct replay_span *span, uint64_t ns)
{
    if (ns && (!span->first_ns || ns < span->first_ns)) {
        span->first_ns = ns;
    }
    span->last_ns = ns > span->last_ns ? ns : span->last_ns;
}

static int survey_line(void *user, const struct replay_line *line)
{
    struct survey *s = user;

    widen(&s->span, line->value[F_AT][0]);
    widen(&s->span, line->value[F_START][0]);
    widen(&s->span, line->value[F_END][0]);
    return line->word == REPLAY_DEVICE ? survey_device(s, line) : 0;
}

int replay_play_survey(const char *text, size_t size, struct sim_device_info *devices, uint32_t cap,
                       uint32_t *count, struct replay_span *span)
{
    struct survey s = {.devices = devices, .cap = cap};
    int err = replay_stream_read(text, size, survey_line, &s);

    *count = s.count;
    *span = s.span;
    return err;
}

/* ---- playing of records ---- */

/* Names live until the end of the recording, because CUPTI keeps the pointer of a kernel's name.
 * Equal texts get the same pointer, because the driver also returns one pointer for equal names. */
static const char *keep_name(struct play *p, const char *name)
{
    char *copy = strdup(name ? name : "");
    char **found =
        copy ? tsearch(copy, &p->names, (int (*)(const void *, const void *))strcmp) : NULL;

    if (!found || *found != copy) {
        free(copy);
    }
    return found ? *found : NULL;
}

static void fill_kernel(struct play *p, struct sim_op *op, const struct replay_line *line)
{
    op->kind = SIM_OP_KERNEL;
    op->name = keep_name(p, line->name);
    three(op->grid, line, F_GRID);
    three(op->block, line, F_BLOCK);
    three(op->cluster, line, F_CLUSTER);
    op->registers = number(line, F_REGS);
    op->static_shared = number(line, F_STATIC);
    op->dynamic_shared = number(line, F_DYNAMIC);
    op->local_per_thread = number(line, F_LOCAL);
    op->queued_ns = line->value[F_QUEUED][0];
    op->submitted_ns = line->value[F_SUBMITTED][0];
}

static void fill_copy(struct sim_op *op, const struct replay_line *line)
{
    op->kind = SIM_OP_MEMCPY;
    op->copy_kind = number(line, F_KIND);
    op->src_memory = number(line, F_SRC);
    op->dst_memory = number(line, F_DST);
    /* source and destination: device and context */
    op->is_peer = line->value[F_FROM][1] != 0 || line->value[F_TO][1] != 0;
    op->src_device = (uint32_t)line->value[F_FROM][0];
    op->src_context = (uint32_t)line->value[F_FROM][1];
    op->dst_device = (uint32_t)line->value[F_TO][0];
    op->dst_context = (uint32_t)line->value[F_TO][1];
}

static void fill_set(struct sim_op *op, const struct replay_line *line)
{
    op->kind = SIM_OP_MEMSET;
    op->value = number(line, F_VALUE);
    op->dst_memory = number(line, F_MEMORY);
}

static int play_op(struct play *p, const struct replay_line *line)
{
    struct sim_op *op = sim_replay_op();

    if (!op) {
        return -ENOMEM;
    }
    op->id = ++p->ops;
    op->start_ns = line->value[F_START][0];
    op->end_ns = line->value[F_END][0];
    op->correlation = number(line, F_CORR);
    op->correlation_wide = op->correlation;
    op->device = number(line, F_DEVICE);
    op->context = number(line, F_CONTEXT);
    op->stream = number(line, F_STREAM);
    op->graph = number(line, F_GRAPH);
    op->graph_node = line->value[F_NODE][0];
    op->thread = number(line, F_TID);
    op->priority = (int32_t)line->value[F_PRIORITY][0];
    op->channel = (uint32_t)line->value[F_CHANNEL][0];
    op->channel_type = (uint32_t)line->value[F_CHANNEL][1];
    op->bytes = line->value[F_BYTES][0];
    op->flags = number(line, F_FLAGS);
    if (line->word == REPLAY_KERNEL) {
        fill_kernel(p, op, line);
    } else if (line->word == REPLAY_MEMCPY) {
        fill_copy(op, line);
    } else {
        fill_set(op, line);
    }
    p->probe->op_enqueued(op);
    if (!op->end_ns) {
        sim_op_unref(op); /* CUPTI keeps its reference, because the operation never ends */
        return 0;
    }
    return replay_heap_push(&p->running, op);
}

static void play_call(struct play *p, const struct replay_line *line)
{
    enum sim_domain domain = line->word == REPLAY_RUNTIME ? SIM_RUNTIME : SIM_DRIVER;

    p->probe->api_enter(domain, number(line, F_CBID), number(line, F_CORR),
                        line->value[F_START][0]);
    p->probe->api_exit(domain, number(line, F_CBID), number(line, F_CORR), line->value[F_START][0],
                       line->value[F_END][0], (int)number(line, F_RESULT));
}

static void play_sync(struct play *p, const struct replay_line *line)
{
    const struct sim_sync sync = {
        .type = number(line, F_TYPE),
        .correlation = number(line, F_CORR),
        .context = number(line, F_CONTEXT),
        .stream = number(line, F_STREAM),
        .event_id = number(line, F_EVENT),
        .event_sync_id = line->value[F_SYNC_ID][0],
        .result = number(line, F_RESULT),
        .start_ns = line->value[F_START][0],
        .end_ns = line->value[F_END][0],
    };

    p->probe->synchronized(&sync);
}

static void play_event(struct play *p, const struct replay_line *line)
{
    const struct sim_event_record event = {
        .correlation = number(line, F_CORR),
        .context = number(line, F_CONTEXT),
        .stream = number(line, F_STREAM),
        .event_id = number(line, F_EVENT),
        .event_sync_id = line->value[F_SYNC_ID][0],
        .device_ns = line->value[F_DEVICE_NS][0],
    };

    p->probe->event_recorded(&event);
}

static void play_object(struct play *p, const struct replay_line *line)
{
    const struct sim_object object = {
        .kind = line->word == REPLAY_DEVICE    ? SIM_OBJ_DEVICE
                : line->word == REPLAY_CONTEXT ? SIM_OBJ_CONTEXT
                                               : SIM_OBJ_STREAM,
        .created = 1,
        .device = number(line, F_DEVICE),
        .context = number(line, F_CONTEXT),
        .stream = number(line, F_STREAM),
        .null_stream = number(line, F_NULL_STREAM),
        .flags = number(line, F_FLAGS),
        .priority = (int32_t)line->value[F_PRIORITY][0],
        .correlation = number(line, F_CORR),
    };

    p->probe->object(&object);
}

/* Completes the operations that have ended by `ns`. */
static void end_ops(struct play *p, uint64_t ns)
{
    struct sim_op *op;

    while ((op = replay_heap_pop(&p->running, ns))) {
        /* The release order pairs with the acquire order in CUPTI's thread, so that this thread
         * sees the times. */
        atomic_store_explicit(&op->done, 1, memory_order_release);
        p->probe->op_done(op);
        sim_op_unref(op);
    }
}

static bool is_object(const struct replay_line *line)
{
    return line->word == REPLAY_DEVICE || line->word == REPLAY_CONTEXT ||
           line->word == REPLAY_STREAM;
}

/* Delivers the records of the contexts and streams that one recorded thread created. */
static void hand_over_objects(struct play *p)
{
    p->probe->guise(&p->maker);
    p->probe->hand_over(0);
}

static int play_object_line(void *user, const struct replay_line *line)
{
    const struct sim_guise guise = {number(line, F_PID), number(line, F_TID)};
    struct play *p = user;

    if (!is_object(line)) {
        return 0;
    }
    if (guise.thread != p->maker.thread) {
        hand_over_objects(p);
        p->maker = guise;
    }
    p->probe->guise(&guise);
    play_object(p, line);
    return 0;
}

static int play_line(void *user, const struct replay_line *line)
{
    const struct sim_guise guise = {number(line, F_PID), number(line, F_TID)};
    struct play *p = user;

    if (is_object(line)) {
        return 0; /* contexts and streams were played before all other lines */
    }
    if (line->value[F_AT][0]) {
        p->wait_until(line->value[F_AT][0]);
        end_ops(p, line->value[F_AT][0]);
    }
    p->probe->guise(&guise);
    switch (line->word) {
    case REPLAY_RUNTIME:
    case REPLAY_DRIVER:
        play_call(p, line);
        return 0;
    case REPLAY_KERNEL:
    case REPLAY_MEMCPY:
    case REPLAY_MEMSET:
        return play_op(p, line);
    case REPLAY_SYNC:
        play_sync(p, line);
        return 0;
    case REPLAY_EVENT:
        play_event(p, line);
        return 0;
    case REPLAY_DEVICE:
    case REPLAY_CONTEXT:
    case REPLAY_STREAM:
    case REPLAY_WORDS:
        break;
    }
    return -EINVAL;
}

int replay_play(const char *text, size_t size, const struct sim_probe *probe,
                void (*wait_until)(uint64_t ns))
{
    struct play p = {.probe = probe, .wait_until = wait_until};
    /* In CUPTI 13.0 and older, the priority of a kernel is only in the record of its stream. With
     * one buffer per thread, the kernel's record could be delivered before the stream's record.
     * Therefore the records of contexts and streams are delivered first. */
    int err = replay_stream_read(text, size, play_object_line, &p);

    hand_over_objects(&p);
    if (!err) {
        err = replay_stream_read(text, size, play_line, &p);
    }
    end_ops(&p, UINT64_MAX);
    probe->guise(&(struct sim_guise){0, 0});
    replay_heap_free(&p.running);
    tdestroy(p.names, free);
    return err;
}
