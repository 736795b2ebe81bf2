/*
 * layout.c - finds the fields of a payload by its schema.
 *
 * Threads, bounds: see payload.h. Memory: none.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/layout.h"

#include <string.h>

#include "collect/nvtx/schema.h"
#include "collect/nvtx/value.h"

int sl_nvtx_layout_may_go_on(const struct sl_nvtx_blob *b)
{
    if (*b->left == 0)
        return 0;
    --*b->left;
    return 1;
}

/* Maximum number of levels of nested structs that are examined. */
#define DEPTH 8

static size_t field_align(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *in,
                          const struct sl_nvtx_field *f, unsigned depth);

/* Returns an enum's alignment, or for a struct the strictest alignment of its fields. */
static size_t schema_align(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                           unsigned depth)
{
    size_t most = 1, align;

    if (s->kind == SL_NVTX_ENUM)
        return s->size ? s->size : 1;
    if (depth == DEPTH || !sl_nvtx_layout_may_go_on(b))
        return 1;
    for (size_t i = 0; i < s->fields; i++) {
        align = field_align(b, s, sl_nvtx_schema_field(s, i), depth + 1);
        most = align > most ? align : most;
    }
    return most;
}

static size_t field_align(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *in,
                          const struct sl_nvtx_field *f, unsigned depth)
{
    const struct sl_nvtx_schema *s;
    size_t align = sl_nvtx_value_align(f->type);

    if (sl_nvtx_layout_is_indirect(f)) {
        align = sizeof(void *);
    } else if (sl_nvtx_value_is_string(f->type)) {
        align = sl_nvtx_value_character(f->type);
    } else if (!sl_nvtx_value_size(f->type)) {
        s = sl_nvtx_schema_find(b->domain, f->type);
        align = s ? schema_align(b, s, depth) : align;
    }
    return in->pack_align && align > in->pack_align ? in->pack_align : align;
}

static size_t size_of(const struct sl_nvtx_blob *b, uint64_t type, unsigned depth);

/* Returns the number of bytes that a field takes, or SIZE_MAX if the number depends on the field's
 * content. */
static size_t static_size(const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                          unsigned depth)
{
    uint64_t is_array = f->flags & SL_NVTX_IS_ARRAY;
    size_t each, count = 1;

    if (sl_nvtx_layout_is_indirect(f))
        return sizeof(void *);
    each = sl_nvtx_value_is_string(f->type) ? sl_nvtx_value_character(f->type)
                                            : size_of(b, f->type, depth);
    if (is_array || sl_nvtx_value_is_string(f->type))
        count = (size_t)f->detail;
    if (each == 0 || (is_array && is_array != NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) ||
        count > UINT32_MAX / each)
        return SIZE_MAX;
    return each * count;
}

/* Returns the size of a struct or union that was registered without a size. This is the size that a
 * compiler would choose, or 0 if the size is not known. */
static size_t schema_size(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                          unsigned depth)
{
    size_t end = 0, most = 0, strictest = 1, align, size;

    if (s->size || s->kind == SL_NVTX_DYNAMIC || s->kind == SL_NVTX_ENUM)
        return s->size;
    if (depth == DEPTH)
        return 0;
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);

        if (!sl_nvtx_layout_may_go_on(b))
            return 0;
        align = field_align(b, s, f, depth);
        size = static_size(b, f, depth + 1);
        if (size == SIZE_MAX || f->offset > UINT32_MAX)
            return 0;
        if (f->offset || s->kind != SL_NVTX_STRUCT)
            end = (size_t)f->offset;
        end = (end + align - 1) / align * align + size;
        most = end > most ? end : most;
        strictest = align > strictest ? align : strictest;
    }
    return (most + strictest - 1) / strictest * strictest;
}

/* An enum has the size with which it was registered. */
static size_t size_of(const struct sl_nvtx_blob *b, uint64_t type, unsigned depth)
{
    const struct sl_nvtx_schema *s;

    if (sl_nvtx_value_size(type))
        return sl_nvtx_value_size(type);
    if (sl_nvtx_value_is_string(type))
        return sizeof(char *);
    s = sl_nvtx_schema_find(b->domain, type);
    return s ? schema_size(b, s, depth) : 0;
}

size_t sl_nvtx_layout_size(const struct sl_nvtx_blob *b, uint64_t type)
{
    return size_of(b, type, 0);
}

int sl_nvtx_layout_is_indirect(const struct sl_nvtx_field *f)
{
    return (f->flags & (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                        NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE)) != 0 ||
           (sl_nvtx_value_is_string(f->type) && !(f->flags & SL_NVTX_IS_ARRAY) && !f->detail);
}

/* Reads item `item` of field `i`. A field that is not an array has one item. */
static int integer_at(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i,
                      size_t item, int64_t *out)
{
    const struct sl_nvtx_field *f = i < s->fields ? sl_nvtx_schema_field(s, i) : NULL;
    const struct sl_nvtx_schema *e = f ? sl_nvtx_schema_find(b->domain, f->type) : NULL;
    uint64_t type = f ? f->type : 0;
    size_t offset = f ? sl_nvtx_layout_offset(b, s, i) : SIZE_MAX, size, room;
    const char *from = offset < b->size ? b->data + offset : NULL;

    if (e && e->kind == SL_NVTX_ENUM)
        type = e->size == 8   ? NVTX_PAYLOAD_ENTRY_TYPE_INT64
               : e->size == 4 ? NVTX_PAYLOAD_ENTRY_TYPE_INT32
               : e->size == 2 ? NVTX_PAYLOAD_ENTRY_TYPE_INT16
                              : NVTX_PAYLOAD_ENTRY_TYPE_INT8;
    size = sl_nvtx_value_size(type);
    room = b->size - offset;
    if (from && sl_nvtx_layout_is_indirect(f))
        from = sl_nvtx_layout_follow(b, f, offset, &room);
    return from && size && item < room / size &&
           sl_nvtx_value_integer(type, from + item * size, out);
}

int sl_nvtx_layout_integer(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i,
                           int64_t *out)
{
    return integer_at(b, s, i, 0, out);
}

/* Returns the value of a length field, or 0 if the field holds no length. An array of lengths has
 * an item for each dimension. */
static size_t told_length(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i)
{
    const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
    size_t offset = sl_nvtx_layout_offset(b, s, i), dimensions = 1, length = 1;
    int64_t count;

    if (offset > b->size)
        return 0;
    if (f->flags & SL_NVTX_IS_ARRAY)
        dimensions = sl_nvtx_layout_count(b, s, f, b->data + offset, b->size - offset);
    for (size_t at = 0; at < dimensions; at++) {
        if (!sl_nvtx_layout_may_go_on(b) || !integer_at(b, s, i, at, &count) || count <= 0 ||
            (uint64_t)count > SIZE_MAX / 2 / length)
            return 0;
        length *= (size_t)count;
    }
    return dimensions ? length : 0;
}

size_t sl_nvtx_layout_count(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                            const struct sl_nvtx_field *f, const char *from, size_t room)
{
    size_t each = sl_nvtx_value_character(f->type) ? sl_nvtx_value_character(f->type)
                                                   : sl_nvtx_layout_size(b, f->type);
    static const char zero[16];
    int64_t count = 0;
    size_t n = 0;

    switch (f->flags & SL_NVTX_IS_ARRAY) {
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED:
        while (each && each <= sizeof(zero) && (n + 1) * each <= room &&
               memcmp(from + n * each, zero, each) != 0)
            n++;
        return n;
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX:
        /* A length field is accepted only if it precedes its array, so that fields cannot refer to
         * each other in a circle. */
        return f->detail < (size_t)(f - sl_nvtx_schema_field(s, 0))
                   ? told_length(b, s, (size_t)f->detail)
                   : 0;
    case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX:
        if (f->detail < b->count && b->all[f->detail].payload) {
            const nvtxPayloadData_t *p = &b->all[f->detail];
            const struct sl_nvtx_schema *of = sl_nvtx_schema_find(b->domain, p->schemaId);
            const struct sl_nvtx_blob other = {p->payload, p->size,  b->domain,
                                               b->all,     b->count, b->left};

            if (of ? sl_nvtx_layout_integer(&other, of, 0, &count)
                   : sl_nvtx_value_size(p->schemaId) <= p->size &&
                         sl_nvtx_value_integer(p->schemaId, p->payload, &count))
                return count > 0 ? (size_t)count : 0;
        }
        return 0;
    default:
        return (size_t)f->detail;
    }
}

/* Returns the number of bytes that a field takes inside the payload. */
static size_t field_size(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                         const struct sl_nvtx_field *f, size_t offset)
{
    size_t each = sl_nvtx_value_is_string(f->type) ? sl_nvtx_value_character(f->type)
                                                   : sl_nvtx_layout_size(b, f->type);
    size_t count, terminator;

    if (sl_nvtx_layout_is_indirect(f))
        return sizeof(void *);
    if (!(f->flags & SL_NVTX_IS_ARRAY) && !sl_nvtx_value_is_string(f->type))
        return each;
    if (offset > b->size)
        return 0;
    terminator = (f->flags & SL_NVTX_IS_ARRAY) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
    count = sl_nvtx_layout_count(b, s, f, b->data + offset, b->size - offset) + terminator;
    return count > b->size / (each ? each : 1) ? b->size : count * each;
}

/* Returns the registered offset. A field without a registered offset starts at the aligned end of
 * the previous field. */
size_t sl_nvtx_layout_offset(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i)
{
    size_t offset = 0, at = i, align;

    if (s->kind == SL_NVTX_UNION || s->kind == SL_NVTX_SELECTED_UNION)
        return (size_t)sl_nvtx_schema_field(s, i)->offset;
    while (at > 0 && !sl_nvtx_schema_field(s, at)->offset)
        at--;
    for (; sl_nvtx_layout_may_go_on(b); at++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, at);

        align = field_align(b, s, f, 0);
        offset = f->offset ? (size_t)f->offset : (offset + align - 1) / align * align;
        if (offset > b->size || at == i)
            return offset;
        offset += field_size(b, s, f, offset);
    }
    return SIZE_MAX;
}

const char *sl_nvtx_layout_follow(const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                                  size_t offset, size_t *room)
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

struct sl_nvtx_blob sl_nvtx_blob(unsigned domain, const nvtxPayloadData_t *all, size_t count,
                                 size_t i, unsigned *left)
{
    struct sl_nvtx_blob b = {all[i].payload, all[i].size, domain, all, count, left};

    if (b.size == SIZE_MAX && !sl_nvtx_value_is_string(all[i].schemaId)) {
        b.size = 0; /* size 0: the payload counts as empty until the size of its schema is
                     * computed */
        b.size = sl_nvtx_layout_size(&b, all[i].schemaId);
    }
    return b;
}
