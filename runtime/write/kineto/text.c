/*
 * text.c - makes the constant part of a row, which all events of one shape share.
 *
 * The numbers that differ (sizes, ids, times) are at the end of a row and close together. So the
 * compressor finds the text before these numbers as one long repetition.
 *
 * Threads: one owner. Memory: the caller's scratch buffer, and the writer's name area for a
 * demangled name.
 */
#include "write/copy_name.h"
#include "write/demangle.h"
#include "write/kineto/kineto_internal.h"
#include "write/occupancy.h"

/* Writes "key":value. */
#define PUT_FIELD(at, key, value) sl_json_i64(SL_JSON_LITERAL(at, "\"" key "\":"), (value))

static char *put_text(char *at, const char *text)
{
    return sl_json_raw(at, text, strlen(text));
}

/* Writes the inside of a JSON string for an interned name; kernel names are demangled. */
static char *put_name(struct sl_kineto *k, char *at, uint32_t id, int mangled)
{
    size_t length = 0;
    const char *name = k->opt.intern ? sl_intern_get(k->opt.intern, id, &length) : NULL;

    if (!name)
        return SL_JSON_LITERAL(at, "unknown");
    if (mangled)
        name = sl_demangled(k->name, SL_KINETO_NAME_MAX, name, &length);
    return sl_json_escape(at, name, length < SL_KINETO_NAME_MAX ? length : SL_KINETO_NAME_MAX);
}

static char *put_operation_name(struct sl_kineto *k, char *at, uint8_t kind,
                                const struct sl_shape *s)
{
    return kind == SL_EV_KERNEL ? put_name(k, at, s->name, 1) : at + sl_copy_name_put(at, kind, s);
}

/* Returns the shape with this number. Returns `other` if there is no such shape. If the shape has
 * no name, the result has the name `name`. */
static struct sl_shape named_shape(const struct sl_kineto *k, uint32_t shape, uint32_t name,
                                   struct sl_shape other)
{
    const struct sl_shape *known = k->opt.shapes ? sl_shape_get(k->opt.shapes, shape) : NULL;

    if (known)
        other = *known;
    if (!other.name)
        other.name = name;
    return other;
}

char *sl_kineto_operation_name(struct sl_kineto *k, char *at, uint8_t kind, uint32_t shape,
                               uint32_t name)
{
    const struct sl_shape s = named_shape(k, shape, name, (struct sl_shape){0});

    return put_operation_name(k, at, kind, &s);
}

/* Writes the members of a row from "pid" to the stream. The stream is a member of the args, and the
 * first member of the args is `first`. */
static char *put_row_of_stream(char *at, const struct sl_shape *s, const char *first)
{
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\","), "pid", s->device);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "tid", s->stream);
    at = put_text(SL_JSON_LITERAL(at, ",\"args\":{"), first);
    at = PUT_FIELD(at, "device", s->device);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "context", s->context);
    return PUT_FIELD(SL_JSON_LITERAL(at, ","), "stream", s->stream);
}

static char *put_triple(char *at, const uint32_t v[3])
{
    *at++ = '[';
    at = sl_json_u32(at, v[0]);
    at = sl_json_u32(SL_JSON_LITERAL(at, ","), v[1]);
    at = sl_json_u32(SL_JSON_LITERAL(at, ","), v[2]);
    *at++ = ']';
    return at;
}

/* Writes six decimals. A launch can have 2^63 blocks, which need no decimals. */
static char *put_ratio(char *at, double v)
{
    const double large = 1e12;

    return v < large ? sl_json_millionths(at, (uint64_t)(v * 1e6 + 0.5))
                     : sl_json_u64(at, v < 1e19 ? (uint64_t)v : UINT64_MAX);
}

static char *put_occupancy(char *at, const struct sl_device *device, const struct sl_shape *s)
{
    double blocks = sl_occupancy_blocks_per_sm(device, s);
    double warps = blocks * s->block[0] * s->block[1] * s->block[2] / 32;

    at = put_ratio(SL_JSON_LITERAL(at, ",\"blocks per SM\":"), blocks);
    at = put_ratio(SL_JSON_LITERAL(at, ",\"warps per SM\":"), warps);
    return PUT_FIELD(SL_JSON_LITERAL(at, ","), "est. achieved occupancy %",
                     sl_occupancy_percent(device, s));
}

static char *text_of_kernel(struct sl_kineto *k, char *at, const struct sl_event *ev,
                            const struct sl_shape *s)
{
    const struct sl_device *device = sl_kineto_device(k, s->device);

    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"");
    at = put_operation_name(k, at, ev->kind, s);
    at = put_row_of_stream(at, s, "\"queued\":0,");
    if (s->priority != SL_PRIORITY_UNKNOWN)
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "priority", s->priority);
    if (ev->kind == SL_EV_KERNEL && ev->shape) {
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "registers per thread", s->registers);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "shared memory",
                       (int64_t)s->static_shared + s->dynamic_shared);
        at = put_triple(SL_JSON_LITERAL(at, ",\"grid\":"), s->grid);
        at = put_triple(SL_JSON_LITERAL(at, ",\"block\":"), s->block);
        if (device && k->opt.detail != SL_DETAIL_LEAN)
            at = put_occupancy(at, device, s);
        if (k->opt.detail == SL_DETAIL_FULL) {
            at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "static shared memory", s->static_shared);
            at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "dynamic shared memory", s->dynamic_shared);
            at = put_triple(SL_JSON_LITERAL(at, ",\"cluster\":"), s->cluster);
            at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "channel", s->channel);
            at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "channel type", s->channel_type);
        }
    }
    if (k->collective)
        at = sl_kineto_put_detail(k, SL_JSON_LITERAL(at, ","), k->collective, 0) - 1;
    return SL_JSON_LITERAL(at, ",\"correlation\":");
}

static char *text_of_copy(struct sl_kineto *k, char *at, const struct sl_shape *s)
{
    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"");
    at = put_row_of_stream(put_operation_name(k, at, SL_EV_MEMCPY, s), s, "");
    if (s->is_peer) {
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "fromDevice", s->src_device);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "inDevice", s->device);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "toDevice", s->dst_device);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "fromContext", s->src_context);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "inContext", s->context);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "toContext", s->dst_context);
    }
    if (k->opt.detail == SL_DETAIL_FULL) {
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "channel", s->channel);
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "channel type", s->channel_type);
    }
    return SL_JSON_LITERAL(at, ",\"bytes\":");
}

static char *text_of_memset(struct sl_kineto *k, char *at, const struct sl_shape *s)
{
    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"");
    at = put_row_of_stream(put_operation_name(k, at, SL_EV_MEMSET, s), s, "");
    if (k->opt.detail == SL_DETAIL_FULL)
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "value", s->memset_value);
    return SL_JSON_LITERAL(at, ",\"bytes\":");
}

static char *text_of_gpu_operation(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    /* The event may have no shape, because the table of shapes was full or because its kind has no
     * shapes. */
    const struct sl_shape s = named_shape(k, ev->shape, ev->name,
                                          (struct sl_shape){.device = ev->device,
                                                            .context = ev->context,
                                                            .stream = ev->stream,
                                                            .priority = SL_PRIORITY_UNKNOWN});

    if (ev->kind == SL_EV_MEMCPY)
        return text_of_copy(k, at, &s);
    if (ev->kind == SL_EV_MEMSET)
        return text_of_memset(k, at, &s);
    return text_of_kernel(k, at, ev, &s);
}

char *sl_kineto_call_name(struct sl_kineto *k, char *at, uint8_t domain, uint32_t cbid,
                          uint32_t name)
{
    const char *known = k->opt.api_name ? k->opt.api_name((enum sl_event_kind)domain, cbid) : NULL;

    if (name)
        return put_name(k, at, name, 0);
    if (known)
        return put_text(at, known);
    return sl_json_u32(put_text(at, domain == SL_EV_DRIVER ? "driver call " : "runtime call "),
                       cbid);
}

static char *text_of_call(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    int driver = ev->kind == SL_EV_DRIVER;

    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"");
    at = put_text(at, driver ? "cuda_driver" : "cuda_runtime");
    at = SL_JSON_LITERAL(at, "\",\"name\":\"");
    at = sl_kineto_call_name(k, at, ev->kind, ev->u.call.cbid, ev->name);
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\","), "pid", k->meta.pid);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "tid", ev->thread);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ",\"args\":{"), "cbid", ev->u.call.cbid);
    return SL_JSON_LITERAL(at, ",\"correlation\":");
}

static char *text_of_overhead(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"");
    at = put_name(k, at, ev->name, 0);
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\",\"pid\":-1,"), "tid",
                   ev->thread ? ev->thread : k->meta.pid);
    return at;
}

static char *text_of_sync(char *at, const struct sl_event *ev)
{
    static const char *const names[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    uint32_t type = ev->u.sync.type;
    const char *name = names[type < sizeof(names) / sizeof(names[0]) ? type : SL_SYNC_UNKNOWN];
    int none = ev->stream == SL_STREAM_NONE;
    int64_t stream = none ? -1 : (int64_t)ev->stream;
    int64_t tid = none ? SL_KINETO_SYNC_ROWS : stream;

    if (type == SL_SYNC_STREAM && !none)
        tid += SL_KINETO_SYNC_ROWS;
    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"");
    at = PUT_FIELD(SL_JSON_LITERAL(put_text(at, name), "\","), "pid", ev->device);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "tid", tid);
    at = put_text(SL_JSON_LITERAL(at, ",\"args\":{\"cuda_sync_kind\":\""), name);
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\","), "stream", stream);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "device", ev->device);
    return PUT_FIELD(SL_JSON_LITERAL(at, ","), "context", ev->context);
}

/* Writes the text for one end of an arrow. If `ev` is a call, this end is the start of the arrow.
 * If `ev` is a GPU operation, this end is the head. An arrow from a forward to a backward operator
 * has both ends on threads. */
static char *text_of_arrow(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    int tail = ev->flags & SL_EVF_FLOW_FIRST, back = ev->kind == SL_EV_FLOW_BACK;
    const char *name = back ? "fwdbwd" : "ac2g";

    at = put_text(at, tail ? "{\"ph\":\"s\",\"cat\":\"" : "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"");
    at = put_text(SL_JSON_LITERAL(put_text(at, name), "\",\"name\":\""), name);
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\","), "pid",
                   tail || back ? (int64_t)k->meta.pid : ev->device);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "tid", tail || back ? ev->thread : ev->stream);
    return SL_JSON_LITERAL(at, ",\"id\":");
}

char *sl_kineto_text(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        return text_of_call(k, at, ev);
    case SL_EV_CPU_OP:
        return sl_kineto_op_text(k, at, ev);
    case SL_EV_OVERHEAD:
        return text_of_overhead(k, at, ev);
    case SL_EV_SYNC:
        return text_of_sync(at, ev);
    case SL_EV_FLOW:
    case SL_EV_FLOW_BACK:
        return text_of_arrow(k, at, ev);
    default:
        return text_of_gpu_operation(k, at, ev);
    }
}
