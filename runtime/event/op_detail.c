/*
 * op_detail.c - packs and unpacks the details of an operator as one text. Pure functions.
 */
#include "event/op_detail.h"

#include <errno.h>
#include <string.h>

#define CUT 1

size_t sl_op_detail_pack(char *out, const struct sl_op_detail *detail)
{
    uint16_t more_length = (uint16_t)detail->more_length;

    memcpy(out, &more_length, sizeof(more_length));
    out[2] = detail->was_cut ? CUT : 0;
    out[3] = 0;
    if (more_length)
        memcpy(out + SL_OP_DETAIL_HEAD, detail->more, more_length);
    if (detail->inputs_length)
        memcpy(out + SL_OP_DETAIL_HEAD + more_length, detail->inputs, detail->inputs_length);
    return SL_OP_DETAIL_HEAD + more_length + detail->inputs_length;
}

int sl_op_detail_unpack(struct sl_op_detail *out, const char *text, size_t length)
{
    uint16_t more_length;

    if (!text || length < SL_OP_DETAIL_HEAD)
        return -EINVAL;
    memcpy(&more_length, text, sizeof(more_length));
    if (length < SL_OP_DETAIL_HEAD + (size_t)more_length)
        return -EINVAL;
    out->more = text + SL_OP_DETAIL_HEAD;
    out->more_length = more_length;
    out->inputs = (const uint8_t *)text + SL_OP_DETAIL_HEAD + more_length;
    out->inputs_length = length - SL_OP_DETAIL_HEAD - more_length;
    out->was_cut = text[2] & CUT;
    return 0;
}

/* ---- members ---- */

/* Returns the end of a value, or of a quoted name. */
static const char *skip(const char *at, const char *end)
{
    int is_text = 0, depth = 0;

    for (; at < end; at++) {
        if (is_text && *at == '\\')
            at++;
        else if (*at == '"')
            is_text = !is_text;
        else if (is_text)
            continue;
        else if (*at == '[' || *at == '{')
            depth++;
        else if (*at == ']' || *at == '}')
            depth--;
        else if (depth == 0 && (*at == ',' || *at == ':'))
            break;
    }
    return at < end ? at : end;
}

const char *sl_op_detail_member(const struct sl_op_detail *detail, const char *name, size_t *length)
{
    const char *at = detail->more, *end = at + detail->more_length, *value, *stop;
    size_t wanted = strlen(name);

    while (at < end) {
        value = skip(at, end);
        if (value == end)
            return NULL;
        stop = skip(value + 1, end);
        if ((size_t)(value - at) == wanted + 2 && memcmp(at + 1, name, wanted) == 0) {
            *length = (size_t)(stop - value - 1);
            return value + 1;
        }
        at = stop + 1;
    }
    return NULL;
}
