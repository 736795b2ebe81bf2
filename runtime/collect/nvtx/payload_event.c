/*
 * payload_event.c - reads an event's message, category, color and times from the payload fields
 * that a schema marks for this purpose.
 *
 * Threads, bounds: see payload.h. Memory: the caller's.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <string.h>

#include "base/utf8.h"
#include "collect/nvtx/layout.h"
#include "collect/nvtx/payload.h"
#include "collect/nvtx/schema.h"
#include "collect/nvtx/value.h"

static void take_message(struct sl_nvtx_payload_event *e, const struct sl_nvtx_blob *b,
                         const struct sl_nvtx_schema *s, const struct sl_nvtx_field *f,
                         size_t offset)
{
    size_t room = offset < b->size ? b->size - offset : 0, each, most, length;
    const char *from = sl_nvtx_layout_is_indirect(f) ? sl_nvtx_layout_follow(b, f, offset, &room)
                                                     : b->data + offset;
    uint64_t handle;

    if (!from || !room)
        return;
    if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE && room >= 8) {
        memcpy(&handle, from, sizeof(handle));
        if ((uint32_t)handle)
            e->ev.message = (struct sl_nvtx_message){(uint32_t)handle, NULL, 0};
        return;
    }
    each = sl_nvtx_value_character(f->type);
    if (!each)
        return;
    most = f->flags & SL_NVTX_IS_ARRAY || f->detail ? sl_nvtx_layout_count(b, s, f, from, room)
                                                    : SIZE_MAX;
    if (most > room / each)
        most = room / each;
    if (each == 1) {
        length = strnlen(from, most < sizeof(e->text) ? most : sizeof(e->text));
        memcpy(e->text, from, length);
    } else {
        length = each == 2 ? sl_utf8_from_utf16(e->text, sizeof(e->text), from, most)
                           : sl_utf8_from_utf32(e->text, sizeof(e->text), from, most);
    }
    /* The message may be a registered string in another payload. */
    if (!e->ev.message.string)
        e->ev.message = (struct sl_nvtx_message){0, e->text, length};
}

static void take_time(struct sl_nvtx_payload_event *e, const struct sl_nvtx_field *f, int64_t at)
{
    const struct sl_nvtx_moment moment = {at, f->clock};

    if ((f->flags & 7u << 12) == NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END) {
        e->end = moment;
        e->has_end = 1;
    } else {
        e->start = moment;
        e->has_start = 1;
    }
}

static void take_fields(struct sl_nvtx_payload_event *e, const struct sl_nvtx_blob *b,
                        const struct sl_nvtx_schema *s)
{
    for (size_t i = 0; i < s->fields; i++) {
        const struct sl_nvtx_field *f = sl_nvtx_schema_field(s, i);
        int64_t value = 0;
        int known = !(f->flags & SL_NVTX_IS_ARRAY) && sl_nvtx_layout_integer(b, s, i, &value);

        if (f->flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) {
            take_message(e, b, s, f, sl_nvtx_layout_offset(b, s, i));
        } else if (f->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) {
            if (known)
                take_time(e, f, value);
        } else if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY && known) {
            e->ev.category = (uint32_t)value;
            e->ev.has_category = 1;
        } else if (f->type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB && known) {
            e->ev.color = (uint32_t)value;
            e->ev.has_color = 1;
        }
    }
}

const struct sl_nvtx_event *sl_nvtx_payload_event(struct sl_nvtx_payload_event *out,
                                                  unsigned domain, const void *payloads,
                                                  size_t count)
{
    const nvtxPayloadData_t *all = payloads;
    unsigned left = SL_NVTX_PAYLOAD_STEPS;

    if (!payloads)
        count = 0;
    out->ev = (struct sl_nvtx_event){.payloads = payloads, .payload_count = count};
    out->has_start = out->has_end = 0;
    for (size_t i = 0; i < count && i < SL_NVTX_PAYLOADS; i++) {
        const struct sl_nvtx_blob b = sl_nvtx_blob(domain, all, count, i, &left);
        const struct sl_nvtx_schema *s = sl_nvtx_schema_find(domain, all[i].schemaId);

        if (s && s->kind != SL_NVTX_ENUM && b.data)
            take_fields(out, &b, s);
    }
    return &out->ev;
}
