/*
 * note.c - writes the rows of the user's ranges and marks.
 *
 * Similar ranges on one thread share a cached text. A name or payload with numbers that differ from
 * row to row is written after the cached text.
 *
 * Threads: one owner. Memory: the writer's block and text cache (kineto_internal.h).
 */
#include <string.h>

#include "event/pattern.h"
#include "write/kineto/kineto_internal.h"

/* Maximum length, in bytes, of names and payloads, which were truncated when they were recorded.
 * Even with JSON escapes, these texts fit into SL_KINETO_TAIL_MAX. */
#define NAME_MOST    1024
#define PAYLOAD_MOST 5200

struct text {
    const char *text; /* the text; NULL: none */
    size_t length;
};

static struct text text_of(const struct sl_kineto *k, uint32_t id, size_t most)
{
    struct text t = {NULL, 0};

    t.text = id && k->opt.intern ? sl_intern_get(k->opt.intern, id, &t.length) : NULL;
    if (t.length > most)
        t.text = NULL;
    return t;
}

static int varies(struct text t)
{
    return t.text && sl_pattern_varies(t.text, t.length);
}

static char *put_name(char *at, struct text name, uint64_t numbers)
{
    at = SL_JSON_LITERAL(at, ",\"name\":\"");
    at = name.text ? sl_pattern_expand(at, name.text, name.length, numbers, sl_json_escape)
                   : SL_JSON_LITERAL(at, "unknown");
    return SL_JSON_LITERAL(at, "\"");
}

char *sl_kineto_put_range_name(struct sl_kineto *k, char *at, uint32_t name, uint64_t numbers)
{
    struct text t = text_of(k, name, NAME_MOST);

    if (!t.text)
        return at;
    at = SL_JSON_LITERAL(at, ",\"wait_in\":\"");
    at = sl_pattern_expand(at, t.text, t.length, numbers, sl_json_escape);
    return SL_JSON_LITERAL(at, "\"");
}

/* Writes the row up to the last member of the args. The name is included if it is the same for all
 * rows of this kind. */
static char *put_constant(struct sl_kineto *k, char *at, const struct sl_event *ev,
                          struct text name)
{
    struct text more = text_of(k, ev->more, SIZE_MAX);
    int gpu = ev->kind == SL_EV_NVTX_RANGE_GPU;

    switch (ev->kind) {
    case SL_EV_NVTX_RANGE_MARK:
        at = SL_JSON_LITERAL(at, "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"user_annotation\"");
        break;
    case SL_EV_NVTX_RANGE_GPU:
        at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\"");
        break;
    default:
        at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"user_annotation\"");
        break;
    }
    if (!varies(name))
        at = put_name(at, name, 0);
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"pid\":"), gpu ? ev->device : k->meta.pid);
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"tid\":"), gpu ? ev->stream : ev->thread);
    at = SL_JSON_LITERAL(at, ",\"args\":{");
    if (more.text)
        at = sl_json_raw(at, more.text, more.length);
    return at;
}

static char *put_value(char *at, const struct sl_event *ev)
{
    uint64_t bits = ev->u.note.value;
    uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;

    switch (ev->value_type) {
    case SL_NOTE_U64:
        return sl_json_u64(at, bits);
    case SL_NOTE_I64:
        return sl_json_i64(at, (int64_t)bits);
    case SL_NOTE_F64:
        memcpy(&wide, &bits, sizeof(wide));
        return sl_json_double(at, wide, 17);
    default:
        memcpy(&narrow, &low, sizeof(narrow));
        return sl_json_double(at, narrow, 9);
    }
}

/* Writes a scope of PyTorch's record_function() as a row in the form of an operator's row. */
static char *put_record_function(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    uint64_t id = ev->u.note.value;

    at = sl_kineto_u32(k, SL_JSON_LITERAL(at, "\"External id\":"), (uint32_t)id);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"Record function id\":"), id);
    return ev->flags & SL_EVF_ASYNC ? SL_JSON_LITERAL(at, ",\"async\":true") : at;
}

static char *put_waits(char *at, uint64_t value)
{
    at = sl_json_u32(SL_JSON_LITERAL(at, "\"GPU wait [us]\":"), (uint32_t)value);
    return sl_json_u32(SL_JSON_LITERAL(at, ",\"network wait [us]\":"), (uint32_t)(value >> 32));
}

/* Writes a comma, except before the first member. */
static char *next_member(char *at, int *any)
{
    if (*any)
        *at++ = ',';
    *any = 1;
    return at;
}

/* Writes the part that differs from row to row, and the end of the args. */
static char *put_varying(struct sl_kineto *k, char *at, const struct sl_event *ev, struct text name)
{
    struct text payload = ev->kind == SL_EV_NVTX_RANGE_GPU ? (struct text){NULL, 0}
                                                           : text_of(k, ev->payload, PAYLOAD_MOST);
    int any = ev->more != 0;

    if (ev->kind == SL_EV_NVTX_RANGE && ev->value_type == SL_NOTE_RECORD_FUNCTION)
        at = put_record_function(k, next_member(at, &any), ev);
    else if (ev->value_type == SL_NOTE_NCCL_WAITS)
        at = put_waits(next_member(at, &any), ev->u.note.value);
    else if (ev->kind != SL_EV_NVTX_RANGE_GPU && ev->value_type)
        at = put_value(SL_JSON_LITERAL(next_member(at, &any), "\"payload\":"), ev);
    if (payload.text)
        at = sl_pattern_expand(next_member(at, &any), payload.text, payload.length,
                               ev->u.note.payload_numbers, sl_json_raw);
    if (ev->flags & SL_EVF_CUT_START)
        at = SL_JSON_LITERAL(next_member(at, &any), "\"cut start\":true");
    if (ev->flags & SL_EVF_CUT_END)
        at = SL_JSON_LITERAL(next_member(at, &any), "\"cut end\":true");
    at = SL_JSON_LITERAL(at, "}");
    return varies(name) ? put_name(at, name, ev->name_numbers) : at;
}

void sl_kineto_note(struct sl_kineto *k, const struct sl_event *ev)
{
    const uint64_t key[2] = {(uint64_t)ev->name << 32 | ev->kind,
                             ev->kind == SL_EV_NVTX_RANGE_GPU
                                 ? (uint64_t)ev->more << 40 ^ (uint64_t)ev->device << 32 ^
                                       ev->stream
                                 : (uint64_t)ev->more << 32 | ev->thread};
    struct sl_text *text = sl_text_cache_find(&k->cache, key[0], key[1]);
    struct text name = text_of(k, ev->name, NAME_MOST);
    char *at;

    if (!text || text->file != k->file)
        sl_kineto_introduce(k, ev);
    if (!text)
        text = sl_kineto_keep(k, key, put_constant(k, sl_kineto_loose(k), ev, name));
    text->file = k->file;
    at = sl_kineto_row_begin(k, text);
    at = put_varying(k, at, ev, name);
    sl_kineto_row_end(k, ev->kind == SL_EV_NVTX_RANGE_MARK ? sl_kineto_end_at(k, at, ev->start_ns)
                                                           : sl_kineto_times(k, at, ev));
}
