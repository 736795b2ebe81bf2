/*
 * payload.c - writes payloads of NVTX's payload extension as JSON, according to their registered
 * schemas.
 *
 * Threads, bounds: see payload.h. Memory: the caller's. A member that does not fit into the output
 * is left out as a whole, so that the output is valid JSON. The member "cut payload":true marks an
 * output in which something was left out.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/payload.h"

#include <string.h>

#include "base/json.h"
#include "base/text_table.h"
#include "base/utf8.h"
#include "collect/nvtx/layout.h"
#include "collect/nvtx/names.h"
#include "collect/nvtx/schema.h"
#include "collect/nvtx/value.h"

enum {
    DEPTH = 8,
    ITEMS = 64,       /* maximum number of array items that are written */
    TEXT_BYTES = 256, /* maximum length of a text */
    RAW_BYTES = 64,   /* maximum number of bytes that are written of a payload without a schema */
    CLOSING = 48,     /* bytes kept free for the end of the output */
};

struct out {
    char *at, *end;
    int cut;
};

static void put_payload_of(struct out *o, const struct sl_nvtx_blob *b, uint64_t type,
                           unsigned depth);

/* ---- output ---- */

/* Returns 1 if there is room for a piece. Otherwise returns 0 and marks the output as truncated. */
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
    if (!has_room(o, 2 * RAW_BYTES + 2))
        return;
    *o->at++ = '"';
    for (size_t i = 0; i < count && i < RAW_BYTES; i++)
        o->at = sl_json_hex(o->at, (unsigned char)bytes[i], 2);
    *o->at++ = '"';
}

/* ---- texts ---- */

/* Writes up to `most` characters of a text, or up to a 0 character. */
static void put_characters(struct out *o, size_t each, const char *from, size_t most)
{
    char text[TEXT_BYTES];

    if (each == 1)
        put_text(o, from, strnlen(from, most < TEXT_BYTES ? most : TEXT_BYTES));
    else if (each == 2)
        put_text(o, text, sl_utf8_from_utf16(text, sizeof(text), from, most));
    else
        put_text(o, text, sl_utf8_from_utf32(text, sizeof(text), from, most));
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

        name = sl_text_table_get(f->name, &length);
        if (!f->flags && (f->detail & mask) == value && name) {
            put_text(o, name, length);
            return;
        }
    }
    left = value;
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);

        name = sl_text_table_get(f->name, &length);
        if (!f->flags || !f->detail || (left & f->detail) != f->detail || !name ||
            !has_room(o, length * SL_JSON_ESCAPE_MAX + 2))
            continue;
        o->at = SL_JSON_LITERAL(o->at, "\"");
        o->at -= any; /* the next write overwrites the closing quote of the previous name */
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

static void put_one(struct out *o, const struct sl_nvtx_blob *b, uint64_t type, const char *from,
                    size_t room, unsigned depth)
{
    const struct sl_nvtx_schema *s = sl_nvtx_schema_find(b->domain, type);
    size_t size = sl_nvtx_layout_size(b, type);
    uint64_t handle;
    size_t length;
    const char *text;

    if (s && s->kind != SL_NVTX_ENUM) {
        const struct sl_nvtx_blob inner = {
            from, size && size < room ? size : room, b->domain, b->all, b->count, b->left};

        put_payload_of(o, &inner, type, depth + 1);
    } else if (!size || size > room || !has_room(o, SL_NVTX_VALUE_MAX)) {
        PUT(o, "null");
    } else if (s) {
        put_enum(o, s, from);
    } else if (type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        memcpy(&handle, from, sizeof(handle));
        text = sl_text_table_get((uint32_t)handle, &length);
        put_text(o, text ? text : "", text ? length : 0);
    } else if (type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR) {
        put_text(o, from, 1);
    } else {
        o->at = sl_nvtx_value_json(o->at, type, from);
    }
}

static void put_array(struct out *o, const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                      const char *from, size_t room, size_t count, unsigned depth)
{
    size_t each = sl_nvtx_layout_size(b, f->type);

    PUT(o, "[");
    for (size_t i = 0; i < count && each && i < ITEMS && (i + 1) * each <= room && !o->cut; i++) {
        o->cut |= !sl_nvtx_layout_may_go_on(b);
        if (i)
            PUT(o, ",");
        put_one(o, b, f->type, from + i * each, each, depth);
    }
    if (count > ITEMS && room >= each && each)
        PUT(o, ",\"...\"");
    PUT(o, "]");
}

/* Writes the member of a union that another field selects. */
static void put_union(struct out *o, const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *in,
                      const struct sl_nvtx_field *f, const struct sl_nvtx_schema *u,
                      const char *from, size_t room, unsigned depth)
{
    const struct sl_nvtx_field *member;
    int64_t which;

    if (!sl_nvtx_layout_integer(b, in, (size_t)f->detail, &which) || which < 0 ||
        (uint64_t)which >= u->fields) {
        PUT(o, "null");
        return;
    }
    member = sl_nvtx_schema_field(u, (size_t)which);
    put_one(o, b, member->type, from, room, depth);
}

static void put_field(struct out *o, const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                      size_t i, unsigned depth)
{
    const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
    const struct sl_nvtx_schema *inner = sl_nvtx_schema_find(b->domain, f->type);
    size_t offset = sl_nvtx_layout_offset(b, s, i), room, count;
    const char *from;

    if (sl_nvtx_layout_is_indirect(f)) {
        from = sl_nvtx_layout_follow(b, f, offset, &room);
    } else {
        room = offset < b->size ? b->size - offset : 0;
        from = room ? b->data + offset : NULL;
    }
    if (!from) {
        PUT(o, "null");
    } else if (sl_nvtx_value_character(f->type) &&
               (sl_nvtx_value_is_string(f->type) || f->flags & SL_NVTX_IS_ARRAY)) {
        size_t each = sl_nvtx_value_character(f->type);

        count = f->flags & SL_NVTX_IS_ARRAY || f->detail ? sl_nvtx_layout_count(b, s, f, from, room)
                                                         : SIZE_MAX;
        put_characters(o, each, from, count < room / each ? count : room / each);
    } else if (f->flags & SL_NVTX_IS_ARRAY) {
        put_array(o, b, f, from, room, sl_nvtx_layout_count(b, s, f, from, room), depth);
    } else if (inner && inner->kind == SL_NVTX_UNION) {
        put_union(o, b, s, f, inner, from, room, depth);
    } else {
        put_one(o, b, f->type, from, room, depth);
    }
}

static void put_name(struct out *o, const struct sl_nvtx_field *f, size_t i)
{
    size_t length = 0;
    const char *name = sl_text_table_get(f->name, &length);

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

/* Returns whether to show the field. A union that selects one of its members shows only that
 * member. */
static int is_selected(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i)
{
    int64_t which;

    for (size_t at = 0; s->kind == SL_NVTX_SELECTED_UNION && at < s->fields; at++) {
        if (sl_nvtx_schema_field(s, at)->type == NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR)
            return sl_nvtx_layout_integer(b, s, at, &which) && which >= 0 && (size_t)which == i;
    }
    return s->kind != SL_NVTX_UNION;
}

static void put_members(struct out *o, const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
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
        o->cut |= !sl_nvtx_layout_may_go_on(b);
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

static void put_payload_of(struct out *o, const struct sl_nvtx_blob *b, uint64_t type,
                           unsigned depth)
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

size_t sl_nvtx_payload_json(char *out, size_t room, const char *key, unsigned domain,
                            const void *payloads, size_t count)
{
    const nvtxPayloadData_t *all = payloads;
    struct out o = {out, out + room - CLOSING, 0};
    size_t before_all = strlen(key);
    unsigned shown = 0, left = SL_NVTX_PAYLOAD_STEPS;

    if (count > SL_NVTX_PAYLOADS)
        count = SL_NVTX_PAYLOADS;
    for (size_t i = 0; i < count && !o.cut; i++) {
        const struct sl_nvtx_blob b = sl_nvtx_blob(domain, all, count, i, &left);
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
    /* A single payload is written alone, several payloads as a list. */
    memmove(out + before_all + (shown > 1), out, (size_t)(o.at - out));
    o.at += before_all + (shown > 1);
    sl_json_raw(out, key, before_all);
    if (shown > 1) {
        out[before_all] = '[';
        *o.at++ = ']';
    }
    /* The mark contains the key, because the payloads of a range's start and end may both be
     * truncated. */
    if (o.cut) {
        o.at = sl_json_raw(SL_JSON_LITERAL(o.at, ",\"cut "), key + 1, before_all - 1);
        o.at = SL_JSON_LITERAL(o.at, "true");
    }
    return (size_t)(o.at - out);
}
