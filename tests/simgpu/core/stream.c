/*
 * stream.c - streams: creation, lookup by handle, and the predecessors of new work. The
 * predecessors are the stream's tail (its last operations), awaited events, and operations of the
 * legacy default stream.
 *
 * Any thread. A destroyed stream completes its queue; then its memory is reused.
 *
 * Legacy order: the next operation of the legacy stream follows the tails of all blocking streams
 * that got new work since the legacy stream's last operation (context->fresh). The next operation
 * of a blocking stream follows the legacy stream's tail, if this tail has changed since the
 * stream's last operation (version, legacy_seen).
 */
#include "core/sim.h"

enum {
    MAGIC = 0x57ea3001,
    PER_THREAD = 16,
    FLAG_DEFAULT = 1, /* CUpti_ActivityStreamFlag */
    FLAG_NONBLOCKING = 2
};

static struct sim_stream *spare;

static struct sim_stream *take(struct sim_context *context)
{
    struct sim_stream *stream = spare;

    if (stream) {
        spare = stream->ctx_next;
    } else {
        stream = sim_keep(sizeof *stream);
    }
    if (stream) {
        *stream = (struct sim_stream){.magic = MAGIC, .context = context};
        stream->last = &stream->head;
        /* The first operation of a new stream must follow the legacy stream's current tail. */
        stream->legacy_seen = UINT64_MAX;
    }
    return stream;
}

static void link_in(struct sim_context *context, struct sim_stream *stream)
{
    stream->ctx_next = context->streams;
    context->streams = stream;
}

int sim_stream_create_legacy(struct sim_context *context)
{
    struct sim_stream *stream = take(context);

    if (!stream) {
        return SIM_E_MEMORY;
    }
    stream->id = SIM_LEGACY_STREAM;
    stream->legacy = true;
    context->legacy = stream;
    link_in(context, stream);
    return SIM_OK;
}

static void announce(const struct sim_stream *stream, int created)
{
    const struct sim_probe *probe = sim_probe_get();
    struct sim_object object = {.kind = SIM_OBJ_STREAM,
                                .created = created,
                                .device = stream->context->device,
                                .context = stream->context->id,
                                .stream = stream->id,
                                .null_stream = SIM_LEGACY_STREAM,
                                .flags = stream->blocking ? FLAG_DEFAULT : FLAG_NONBLOCKING,
                                .priority = stream->priority,
                                .correlation = sim_correlation_of_thread()};

    if (probe && probe->object) {
        probe->object(&object);
    }
    if (sim_truth_on) {
        sim_truth_object(&object);
    }
}

int sim_stream_create(struct sim_context *context, uint32_t flags, int priority,
                      struct sim_stream **out)
{
    if (flags & ~(uint32_t)SIM_STREAM_NONBLOCKING) {
        return SIM_E_VALUE;
    }
    sim_lock();
    struct sim_stream *stream = take(context);

    if (!stream) {
        sim_unlock();
        return SIM_E_MEMORY;
    }
    stream->id = context->next_stream++;
    stream->flags = flags;
    stream->blocking = !(flags & SIM_STREAM_NONBLOCKING);
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    link_in(context, stream);
    sim_unlock();
    announce(stream, 1);
    *out = stream;
    return SIM_OK;
}

/* Creates a lane, that is an internal stream, for a branch of a graph. A lane has no handle and is
 * not ordered with the legacy default stream. It is not in the context's list of streams either,
 * because the tail of the launch stream contains the last nodes of the graph. */
struct sim_stream *sim_stream_lane(struct sim_context *context)
{
    struct sim_stream *stream = take(context);

    if (stream) {
        stream->id = context->next_stream++;
        stream->lane = true;
        stream->magic = 0;
    }
    return stream;
}

static void unlink_from(struct sim_stream **list, struct sim_stream *stream, bool fresh)
{
    while (*list && *list != stream) {
        list = fresh ? &(*list)->fresh_next : &(*list)->ctx_next;
    }
    if (*list) {
        *list = fresh ? stream->fresh_next : stream->ctx_next;
    }
}

/* The legacy stream may still have to follow the tail of a destroyed stream. */
static void hand_tail_to_legacy(struct sim_stream *stream)
{
    if (stream->fresh) {
        sim_set_merge(&stream->context->gone, &stream->tail, SIM_VIA_LEGACY, 0);
        unlink_from(&stream->context->fresh, stream, true);
    }
}

void sim_stream_drained(struct sim_stream *stream)
{
    if (!stream->destroyed || stream->head) {
        return;
    }
    if (!stream->lane) {
        hand_tail_to_legacy(stream);
        unlink_from(&stream->context->streams, stream, false);
    }
    sim_set_clear(&stream->tail);
    stream->ctx_next = spare;
    spare = stream;
}

int sim_stream_destroy(struct sim_stream *stream)
{
    if (stream->legacy) {
        return SIM_E_HANDLE;
    }
    if (!stream->lane) {
        announce(stream, 0);
    }
    sim_lock();
    stream->magic = 0;
    stream->destroyed = true;
    sim_stream_drained(stream);
    sim_unlock();
    return SIM_OK;
}

static int per_thread(struct sim_context *context, struct sim_stream **out)
{
    struct sim_thread *self = sim_thread_self();

    for (int i = 0; i < PER_THREAD; i++) {
        struct sim_stream **slot = &self->per_thread[i];

        if (*slot && (*slot)->context == context && (*slot)->magic == MAGIC) {
            *out = *slot;
            return SIM_OK;
        }
        if (!*slot || !sim_context_valid((*slot)->context)) {
            int error = sim_stream_create(context, 0, 0, slot);

            *out = *slot;
            return error;
        }
    }
    return SIM_E_MEMORY;
}

int sim_stream_resolve(void *handle, struct sim_stream **out)
{
    uintptr_t value = (uintptr_t)handle;
    struct sim_context *context;

    if (value > 2) {
        struct sim_stream *stream = handle;

        if (stream->magic != MAGIC) {
            return SIM_E_HANDLE;
        }
        *out = stream;
        return SIM_OK;
    }
    int error = sim_context_current(&context);

    if (error) {
        return error;
    }
    if (value == 2 || (value == 0 && sim_thread_self()->call->per_thread)) {
        return per_thread(context, out);
    }
    *out = context->legacy;
    return SIM_OK;
}

void sim_stream_collect(struct sim_stream *stream, struct sim_set *set)
{
    static const enum sim_via legacy_order = SIM_VIA_LEGACY;
    struct sim_stream *legacy = stream->context->legacy;

    if (stream->legacy) {
        for (struct sim_stream *s = stream->context->fresh; s; s = s->fresh_next) {
            sim_set_merge_tail(set, &s->tail, s, true, &legacy_order);
        }
        for (struct sim_stream *s = stream->context->fresh; s; s = s->fresh_next) {
            sim_set_merge_tail(set, &s->tail, s, false, &legacy_order);
        }
        sim_set_merge_as_is(set, &stream->context->gone);
        sim_set_merge_before(set, &stream->tail);
        return;
    }
    sim_set_merge_as_is(set, &stream->tail);
    if (stream->blocking && stream->legacy_seen != legacy->version) {
        sim_set_merge(set, &legacy->tail, SIM_VIA_LEGACY, 0);
    }
}

/* Called when the tail of a stream has changed. Later work of the legacy stream must follow the
 * tail. If `stream` is the legacy stream itself, later work of the blocking streams must follow the
 * tail. */
static void touched(struct sim_stream *stream)
{
    if (stream->legacy) {
        stream->version++;
    } else if (stream->blocking && !stream->fresh) {
        stream->fresh = true;
        stream->fresh_next = stream->context->fresh;
        stream->context->fresh = stream;
    }
}

void sim_stream_follow(struct sim_stream *stream, const struct sim_set *set, enum sim_via via,
                       uint64_t call)
{
    sim_set_merge(&stream->tail, set, via, call);
    if (set->n) {
        touched(stream);
    }
}

void sim_stream_take_tail(struct sim_stream *stream, struct sim_set *set)
{
    sim_set_clear(&stream->tail);
    sim_set_merge_as_is(&stream->tail, set);
    sim_set_clear(set);
    if (stream->legacy) {
        sim_set_clear(&stream->context->gone);
        while (stream->context->fresh) {
            stream->context->fresh->fresh = false;
            stream->context->fresh = stream->context->fresh->fresh_next;
        }
    } else if (stream->blocking) {
        stream->legacy_seen = stream->context->legacy->version;
    }
    touched(stream);
}

void sim_stream_replace_tail(struct sim_stream *stream, struct op *op)
{
    struct sim_set set = {0};

    sim_set_add(&set, op, SIM_VIA_STREAM, 0);
    sim_stream_take_tail(stream, &set);
}
