/*
 * et_wire.h - reads the protobuf wire format, field by field.
 *
 * Threads: any; no state. Memory: none; spans point into the caller's message. Files are untrusted,
 * so each length is checked against the bytes left before it is used.
 */
#ifndef SL_ET_WIRE_H
#define SL_ET_WIRE_H

#include <stdint.h>

struct sl_et_span {
    const unsigned char *at, *end;
};

struct sl_et_field {
    uint64_t number;
    unsigned wire; /* wire type: 0 a varint, 1 eight bytes, 2 a length and that many bytes, 5 four
                      bytes */
    uint64_t value;
    struct sl_et_span bytes;
};

/* Returns 1 and the value, or 0 if the varint is truncated or too long. */
static inline int sl_et_take_varint(struct sl_et_span *s, uint64_t *out)
{
    uint64_t v = 0;
    unsigned shift;

    for (shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        unsigned char byte = *s->at++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = v;
            return 1;
        }
    }
    return 0;
}

/* Reads a field. Returns 1, or 0 if the bytes are not a valid field. */
static inline int sl_et_take_field(struct sl_et_span *s, struct sl_et_field *f)
{
    uint64_t tag, size;

    if (!sl_et_take_varint(s, &tag))
        return 0;
    *f = (struct sl_et_field){.number = tag >> 3, .wire = tag & 7};
    if (f->wire == 0)
        return sl_et_take_varint(s, &f->value);
    if (f->wire == 1)
        size = 8;
    else if (f->wire == 5)
        size = 4;
    else if (f->wire != 2 || !sl_et_take_varint(s, &size))
        return 0;
    if (size > (uint64_t)(s->end - s->at))
        return 0;
    f->bytes = (struct sl_et_span){s->at, s->at + size};
    s->at += size;
    return 1;
}

#endif
