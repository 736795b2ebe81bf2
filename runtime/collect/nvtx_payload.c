/*
 * nvtx_payload.c - payloads of the extension as JSON, by the schemas that were registered for them.
 *
 * Threads, bounds: see nvtx_payload.h. What does not fit into the output is left out whole, member
 * by member, so that what is there is valid; "cut":true says so.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx_payload.h"

#include <string.h>

#include "collect/nvtx_names.h"
#include "collect/nvtx_schema.h"
#include "collect/nvtx_text.h"
#include "collect/nvtx_value.h"
#include "write/json.h"

enum {
    DEPTH = 8,
    ITEMS = 64,       /* of an array that are shown */
    TEXT_BYTES = 256, /* of a text */
    RAW_BYTES = 64,   /* of what has no schema */
    CLOSING = 48,     /* what still must fit when all else does not */
    PAYLOADS = 16,
    STEPS = 20000,
};

#define IS_ARRAY (7u << 4)

struct out {
    char *at, *end;
    int cut;
};

/* One payload: its bytes, and what its fields may refer to. */
struct blob {
    const char *data;
    size_t size;
    unsigned domain;
    const nvtxPayloadData_t *all; /* of the event */
    size_t count;
    unsigned *left; /* steps that may be taken for the event */
};

/* Schemas may refer to each other as they like: bounds the time. */
static int may_go_on(const struct blob *b)
{
    if (*b->left == 0)
        return 0;
    --*b->left;
    return 1;
}

static void put_payload_of(struct out *o, const struct blob *b, uint64_t type, unsigned depth);

/* ---- output ---- */

/* Room for a piece: 1, or 0 and the output is cut. */
static int has_room(struct out *o, size_t bytes)
{
    if (bytes <= (size_t)(o->end - o->at))
        return 1;
    o->cut = 1;
    return 0;
}

static void put(struct out *o, const char *text, size_t length)
{
    if (has_room(o, length))
        o->at = sl_json_raw(o->at, text, length);
}

#define PUT(o, literal) put(o, literal, sizeof(literal) - 1)

static void put_text(struct out *o, const char *text, size_t length)
{
    if (length > TEXT_BYTES)
        length = TEXT_BYTES;
    if (!has_room(o, length * SL_JSON_ESCAPE_MAX + 2))
        return;
    o->at = sl_json_escape(SL_JSON_LITERAL(o->at, "\""), text, length);
    o->at = SL_JSON_LITERAL(o->at, "\"");
}

static void put_bytes(struct out *o, const char *bytes, size_t count)
{
    static const char digit[] = "0123456789abcdef";

    if (!has_room(o, 2 * RAW_BYTES + 2))
        return;
    *o->at++ = '"';
    for (size_t i = 0; i < count && i < RAW_BYTES; i++) {
        *o->at++ = digit[(unsigned char)bytes[i] >> 4];
        *o->at++ = digit[bytes[i] & 15];
    }
    *o->at++ = '"';
}

/* ---- texts ---- */

/* `most` characters, or up to a 0. */
static void put_characters(struct out *o, size_t each, const char *from, size_t most)
{
    char text[TEXT_BYTES];

    if (each == 1)
        put_text(o, from, strnlen(from, most < TEXT_BYTES ? most : TEXT_BYTES));
    else if (each == 2)
        put_text(o, text, sl_nvtx_text_utf16(text, sizeof(text), from, most));
    else
        put_text(o, text, sl_nvtx_text_utf32(text, sizeof(text), from, most));
}

/* ---- places ---- */

/* An enum's values have the size that it was registered with. */
static size_t size_of(const struct blob *b, uint64_t type)
{
    const struct sl_nvtx_schema *s;

    if (sl_nvtx_value_size(type))
        return sl_nvtx_value_size(type);
    if (sl_nvtx_value_is_string(type))
        return sizeof(char *);
    s = sl_nvtx_schema_find(b->domain, type);
    return s ? s->size : 0;
}

static size_t field_align(const struct blob *b, const struct sl_nvtx_schema *in,
                          const struct sl_nvtx_field *f)
{
    const struct sl_nvtx_schema *s;
    size_t align = sl_nvtx_value_align(f->type), most = 1;

    if (f->flags & (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                    NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE)) {
        align = sizeof(void *);
    } else if (sl_nvtx_value_is_string(f->type) && (f->flags & IS_ARRAY || f->detail)) {
        align = sl_nvtx_value_character(f->type);
    } else if (!sl_nvtx_value_size(f->type) && !sl_nvtx_value_is_string(f->type)) {
        s = sl_nvtx_schema_find(b->domain, f->type);
        if (s && s->kind == SL_NVTX_ENUM)
            align = s->size;
        for (size_t i = 0; s && s->kind != SL_NVTX_ENUM && i < s->fields; i++) {
            size_t a = sl_nvtx_value_align(sl_nvtx_schema_field(s, i)->type);

            most = a > most ? a : most;
            align = most;
        }
    }
    return in->pack_align && align > in->pack_align ? in->pack_align : align;
}

static int is_indirect(const struct sl_nvtx_field *f)
{
    return (f->flags & (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                        NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE)) != 0 ||
           (sl_nvtx_value_is_string(f->type) && !(f->flags & IS_ARRAY) && !f->detail);
}

static size_t find_offset(const struct blob *b, const struct sl_nvtx_schema *s, size_t i);

/* The integer in field `i` of the struct; 0: none. */
static int integer_in(const struct blob *b, const struct sl_nvtx_schema *s, size_t i, int64_t *out)
{
    const struct sl_nvtx_field *f = i < s->fields ? sl_nvtx_schema_field(s, i) : NULL;
    const struct sl_nvtx_schema *e = f ? sl_nvtx_schema_find(b->domain, f->type) : NULL;
    uint64_t type = f ? f->type : 0;
    size_t offset = f ? find_offset(b, s, i) : 0, size;

    if (e && e->kind == SL_NVTX_ENUM)
        type = e->size == 8   ? NVTX_PAYLOAD_ENTRY_TYPE_INT64
               : e->size == 4 ? NVTX_PAYLOAD_ENTRY_TYPE_INT32
               : e->size == 2 ? NVTX_PAYLOAD_ENTRY_TYPE_INT16
                              : NVTX_PAYLOAD_ENTRY_TYPE_INT8;
    size = sl_nvtx_value_size(type);
    return f && size && offset <= b->size && size <= b->size - offset &&
           sl_nvtx_value_integer(type, b->data + offset, out);
}

/* Items of an array, or characters of a text, as far as the field tells. */
static size_t count_in(const struct blob *b, const struct sl_nvtx_schema *s,
                       const struct sl_nvtx_field *f, const char *from, size_t room)
{
    size_t each =
        sl_nvtx_value_character(f->type) ? sl_nvtx_value_character(f->type) : size_of(b, f->type);
    static const char zero[16];
    int64_t count = 0;
    size_t n = 0;

    switch (f->flags & IS_ARRAY) {
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED:
        while (each && each <= sizeof(zero) && (n + 1) * each <= room &&
               memcmp(from + n * each, zero, each) != 0)
            n++;
        return n;
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX:
        /* A length stands before what it is the length of. */
        return f->detail < (size_t)(f - sl_nvtx_schema_field(s, 0)) &&
                       integer_in(b, s, (size_t)f->detail, &count) && count > 0
                   ? (size_t)count
                   : 0;
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX:
        if (f->detail < b->count && b->all[f->detail].payload) {
            const nvtxPayloadData_t *p = &b->all[f->detail];
            const struct sl_nvtx_schema *of = sl_nvtx_schema_find(b->domain, p->schemaId);
            const struct blob other = {p->payload, p->size, b->domain, b->all, b->count, b->left};

            if (of ? integer_in(&other, of, 0, &count)
                   : sl_nvtx_value_integer(p->schemaId, p->payload, &count))
                return count > 0 ? (size_t)count : 0;
        }
        return 0;
    default:
        return (size_t)f->detail;
    }
}

/* Bytes that a field takes where it stands. */
static size_t field_size(const struct blob *b, const struct sl_nvtx_schema *s,
                         const struct sl_nvtx_field *f, size_t offset)
{
    size_t each =
        sl_nvtx_value_is_string(f->type) ? sl_nvtx_value_character(f->type) : size_of(b, f->type);
    size_t count, terminator;

    if (is_indirect(f))
        return sizeof(void *);
    if (!(f->flags & IS_ARRAY) && !sl_nvtx_value_is_string(f->type))
        return each;
    if (offset > b->size)
        return 0;
    terminator = (f->flags & IS_ARRAY) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
    count = count_in(b, s, f, b->data + offset, b->size - offset) + terminator;
    return count > b->size / (each ? each : 1) ? b->size : count * each;
}

/* The given one, else by alignment behind the field before. */
static size_t find_offset(const struct blob *b, const struct sl_nvtx_schema *s, size_t i)
{
    size_t offset = 0, at = i, align;

    if (s->kind == SL_NVTX_UNION || s->kind == SL_NVTX_SELECTED_UNION)
        return (size_t)sl_nvtx_schema_field(s, i)->offset;
    while (at > 0 && !sl_nvtx_schema_field(s, at)->offset)
        at--;
    for (; may_go_on(b); at++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, at);

        align = field_align(b, s, f);
        offset = f->offset ? (size_t)f->offset : (offset + align - 1) / align * align;
        if (offset > b->size || at == i)
            return offset;
        offset += field_size(b, s, f, offset);
    }
    return SIZE_MAX;
}

/* ---- values ---- */

static void put_enum(struct out *o, const struct sl_nvtx_schema *s, const char *from)
{
    uint64_t value = 0, left;
    int any = 0;
    size_t length;
    const char *name;

    memcpy(&value, from, s->size < sizeof(value) ? s->size : sizeof(value));
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
        uint64_t mask = s->size < 8 ? (1ull << 8 * s->size) - 1 : UINT64_MAX;

        name = sl_nvtx_string_get(f->name, &length);
        if (!f->flags && (f->detail & mask) == value && name) {
            put_text(o, name, length);
            return;
        }
    }
    left = value;
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);

        name = sl_nvtx_string_get(f->name, &length);
        if (!f->flags || !f->detail || (left & f->detail) != f->detail || !name ||
            !has_room(o, length * SL_JSON_ESCAPE_MAX + 2))
            continue;
        o->at = SL_JSON_LITERAL(o->at, "\"");
        o->at -= any; /* over the quote of the one before */
        if (any)
            o->at[-1] = '|';
        o->at = sl_json_escape(o->at, name, length);
        o->at = SL_JSON_LITERAL(o->at, "\"");
        left &= ~f->detail;
        any = 1;
    }
    if (!any && has_room(o, SL_JSON_NUMBER_MAX))
        o->at = sl_json_u64(o->at, value);
}

static void put_one(struct out *o, const struct blob *b, uint64_t type, const char *from,
                    size_t room, unsigned depth)
{
    const struct sl_nvtx_schema *s = sl_nvtx_schema_find(b->domain, type);
    size_t size = size_of(b, type);
    uint64_t handle;
    size_t length;
    const char *text;

    if (s && s->kind != SL_NVTX_ENUM) {
        const struct blob inner = {
            from, s->size && s->size < room ? s->size : room, b->domain, b->all, b->count, b->left};

        put_payload_of(o, &inner, type, depth + 1);
    } else if (!size || size > room || !has_room(o, SL_NVTX_VALUE_MAX)) {
        PUT(o, "null");
    } else if (s) {
        put_enum(o, s, from);
    } else if (type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        memcpy(&handle, from, sizeof(handle));
        text = sl_nvtx_string_get((uint32_t)handle, &length);
        put_text(o, text ? text : "", text ? length : 0);
    } else if (type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR) {
        put_text(o, from, 1);
    } else {
        o->at = sl_nvtx_value_json(o->at, type, from);
    }
}

/* Where an indirect field's value stands; NULL: nowhere that is known. */
static const char *follow(const struct blob *b, const struct sl_nvtx_field *f, size_t offset,
                          size_t *room)
{
    uint64_t word;
    size_t to;

    if (offset > b->size || sizeof(word) > b->size - offset)
        return NULL;
    memcpy(&word, b->data + offset, sizeof(word));
    if (!(f->flags &
          (NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE))) {
        *room = SIZE_MAX / 2;
        return (const char *)(uintptr_t)word;
    }
    to = (size_t)word +
         (f->flags & NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE ? offset + sizeof(word) : 0);
    if (word > b->size || to > b->size)
        return NULL;
    *room = b->size - to;
    return b->data + to;
}

static void put_array(struct out *o, const struct blob *b, const struct sl_nvtx_field *f,
                      const char *from, size_t room, size_t count, unsigned depth)
{
    size_t each = size_of(b, f->type);

    PUT(o, "[");
    for (size_t i = 0; i < count && each && i < ITEMS && (i + 1) * each <= room && !o->cut; i++) {
        o->cut |= !may_go_on(b);
        if (i)
            PUT(o, ",");
        put_one(o, b, f->type, from + i * each, each, depth);
    }
    if (count > ITEMS && room >= each && each)
        PUT(o, ",\"...\"");
    PUT(o, "]");
}

/* The member of a union that another field names. */
static void put_union(struct out *o, const struct blob *b, const struct sl_nvtx_schema *in,
                      const struct sl_nvtx_field *f, const struct sl_nvtx_schema *u,
                      const char *from, size_t room, unsigned depth)
{
    const struct sl_nvtx_field *member;
    int64_t which;

    if (!integer_in(b, in, (size_t)f->detail, &which) || which < 0 ||
        (uint64_t)which >= u->fields) {
        PUT(o, "null");
        return;
    }
    member = sl_nvtx_schema_field(u, (size_t)which);
    put_one(o, b, member->type, from, room, depth);
}

static void put_field(struct out *o, const struct blob *b, const struct sl_nvtx_schema *s, size_t i,
                      unsigned depth)
{
    const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
    const struct sl_nvtx_schema *inner = sl_nvtx_schema_find(b->domain, f->type);
    size_t offset = find_offset(b, s, i), room, count;
    const char *from;

    if (is_indirect(f)) {
        from = follow(b, f, offset, &room);
    } else {
        room = offset < b->size ? b->size - offset : 0;
        from = room ? b->data + offset : NULL;
    }
    if (!from) {
        PUT(o, "null");
    } else if (sl_nvtx_value_character(f->type) &&
               (sl_nvtx_value_is_string(f->type) || f->flags & IS_ARRAY)) {
        size_t each = sl_nvtx_value_character(f->type);

        count = f->flags & IS_ARRAY || f->detail ? count_in(b, s, f, from, room) : SIZE_MAX;
        put_characters(o, each, from, count < room / each ? count : room / each);
    } else if (f->flags & IS_ARRAY) {
        put_array(o, b, f, from, room, count_in(b, s, f, from, room), depth);
    } else if (inner && inner->kind == SL_NVTX_UNION) {
        put_union(o, b, s, f, inner, from, room, depth);
    } else {
        put_one(o, b, f->type, from, room, depth);
    }
}

static void put_name(struct out *o, const struct sl_nvtx_field *f, size_t i)
{
    size_t length = 0;
    const char *name = sl_nvtx_string_get(f->name, &length);

    if (name) {
        put_text(o, name, length);
    } else if (has_room(o, 32)) {
        o->at = sl_json_u64(SL_JSON_LITERAL(o->at, "\"field "), i);
        o->at = SL_JSON_LITERAL(o->at, "\"");
    }
    PUT(o, ":");
}

static int is_shown(const struct sl_nvtx_field *f)
{
    return f->type != NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR &&
           !(f->flags & NVTX_PAYLOAD_ENTRY_FLAG_HIDE);
}

/* Of a union that names its member itself, the fields that are not it. */
static int is_selected(const struct blob *b, const struct sl_nvtx_schema *s, size_t i)
{
    int64_t which;

    for (size_t at = 0; s->kind == SL_NVTX_SELECTED_UNION && at < s->fields; at++) {
        if (sl_nvtx_schema_field(s, at)->type == NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR)
            return integer_in(b, s, at, &which) && which >= 0 && (size_t)which == i;
    }
    return s->kind != SL_NVTX_UNION;
}

static void put_members(struct out *o, const struct blob *b, const struct sl_nvtx_schema *s,
                        unsigned depth)
{
    int any = 0;

    PUT(o, "{");
    o->end -= 1;
    for (size_t i = 0; i < s->fields && !o->cut; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
        char *before = o->at;

        if (!is_shown(f) || !is_selected(b, s, i))
            continue;
        o->cut |= !may_go_on(b);
        if (any)
            PUT(o, ",");
        put_name(o, f, i);
        put_field(o, b, s, i, depth);
        if (o->cut)
            o->at = before;
        any = 1;
    }
    o->end += 1;
    *o->at++ = '}';
}

static void put_payload_of(struct out *o, const struct blob *b, uint64_t type, unsigned depth)
{
    const struct sl_nvtx_schema *s = sl_nvtx_schema_find(b->domain, type);

    if (!b->data || depth > DEPTH)
        PUT(o, "null");
    else if (s && s->kind != SL_NVTX_ENUM && has_room(o, 2))
        put_members(o, b, s, depth);
    else if (sl_nvtx_value_is_string(type))
        put_characters(o, sl_nvtx_value_character(type), b->data,
                       b->size == SIZE_MAX ? TEXT_BYTES : b->size / sl_nvtx_value_character(type));
    else if (s || sl_nvtx_value_size(type))
        put_one(o, b, type, b->data, b->size, depth);
    else
        put_bytes(o, b->data, b->size == SIZE_MAX ? 0 : b->size);
}

/* A size that is not told is the schema's. */
static struct blob blob_of(unsigned domain, const nvtxPayloadData_t *all, size_t count, size_t i,
                           unsigned *left)
{
    struct blob b = {all[i].payload, all[i].size, domain, all, count, left};
    const struct sl_nvtx_schema *s;

    if (b.size == SIZE_MAX && !sl_nvtx_value_is_string(all[i].schemaId)) {
        s = sl_nvtx_schema_find(domain, all[i].schemaId);
        b.size = s ? s->size : sl_nvtx_value_size(all[i].schemaId);
    }
    return b;
}

size_t sl_nvtx_payload_json(char *out, size_t room, const char *key, unsigned domain,
                            const void *payloads, size_t count)
{
    const nvtxPayloadData_t *all = payloads;
    struct out o = {out, out + room - CLOSING, 0};
    size_t before_all = strlen(key);
    unsigned shown = 0, left = STEPS;

    if (count > PAYLOADS)
        count = PAYLOADS;
    for (size_t i = 0; i < count && !o.cut; i++) {
        const struct blob b = blob_of(domain, all, count, i, &left);
        char *before = o.at;

        if (all[i].schemaId == NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED)
            continue;
        if (shown)
            PUT(&o, ",");
        put_payload_of(&o, &b, all[i].schemaId, 0);
        if (o.cut && o.at == before + (shown != 0))
            o.at = before;
        shown++;
    }
    if (!shown)
        return 0;
    /* One payload stands for itself, several are a list. */
    memmove(out + before_all + (shown > 1), out, (size_t)(o.at - out));
    o.at += before_all + (shown > 1);
    sl_json_raw(out, key, before_all);
    if (shown > 1) {
        out[before_all] = '[';
        *o.at++ = ']';
    }
    if (o.cut)
        o.at = SL_JSON_LITERAL(o.at, ",\"cut payload\":true");
    return (size_t)(o.at - out);
}

/* ---- what an event's payloads say about the event ---- */

static void take_message(struct sl_nvtx_payload_event *e, const struct blob *b,
                         const struct sl_nvtx_schema *s, const struct sl_nvtx_field *f,
                         size_t offset)
{
    size_t room = offset < b->size ? b->size - offset : 0, each, most;
    const char *from = is_indirect(f) ? follow(b, f, offset, &room) : b->data + offset;
    uint64_t handle;

    if (!from || !room)
        return;
    if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE && room >= 8) {
        memcpy(&handle, from, sizeof(handle));
        e->string = (uint32_t)handle;
        e->has_message = 1;
        return;
    }
    each = sl_nvtx_value_character(f->type);
    if (!each)
        return;
    most = f->flags & IS_ARRAY || f->detail ? count_in(b, s, f, from, room) : SIZE_MAX;
    if (most > room / each)
        most = room / each;
    if (each == 1) {
        e->length = strnlen(from, most < sizeof(e->text) ? most : sizeof(e->text));
        memcpy(e->text, from, e->length);
    } else {
        e->length = each == 2 ? sl_nvtx_text_utf16(e->text, sizeof(e->text), from, most)
                              : sl_nvtx_text_utf32(e->text, sizeof(e->text), from, most);
    }
    e->has_message = 1;
}

static void take_time(struct sl_nvtx_payload_event *e, const struct sl_nvtx_field *f, int64_t ns)
{
    if ((f->flags & 7u << 12) == NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END) {
        e->end = ns;
        e->has_end = 1;
    } else {
        e->start = ns;
        e->has_start = 1;
    }
}

static void take_fields(struct sl_nvtx_payload_event *e, const struct blob *b,
                        const struct sl_nvtx_schema *s)
{
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
        int64_t value = 0;
        int known = !(f->flags & IS_ARRAY) && integer_in(b, s, i, &value);

        if (f->flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) {
            take_message(e, b, s, f, find_offset(b, s, i));
        } else if (f->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) {
            if (known)
                take_time(e, f, value);
        } else if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY && known) {
            e->category = (uint32_t)value;
            e->has_category = 1;
        } else if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB && known) {
            e->color = (uint32_t)value;
            e->has_color = 1;
        }
    }
}

void sl_nvtx_payload_event(struct sl_nvtx_payload_event *out, unsigned domain, const void *payloads,
                           size_t count)
{
    const nvtxPayloadData_t *all = payloads;
    unsigned left = STEPS;

    out->has_message = out->has_category = out->has_color = out->has_start = out->has_end = 0;
    out->string = 0;
    for (size_t i = 0; i < count && i < PAYLOADS; i++) {
        const struct blob b = blob_of(domain, all, count, i, &left);
        const struct sl_nvtx_schema *s = sl_nvtx_schema_find(domain, all[i].schemaId);

        if (s && s->kind != SL_NVTX_ENUM && b.data)
            take_fields(out, &b, s);
    }
}
