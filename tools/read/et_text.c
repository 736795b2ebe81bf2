/*
 * et_text.c - finds texts of a Chakra trace that are not UTF-8.
 *
 * Threads, memory: see et_text.h.
 */
#include "read/et_text.h"

#include "base/utf8.h"

/* Fields of AttributeProto. */
enum {
    NAME = 1,
    DOC_STRING = 2,
    STRING = 29,
    STRING_LIST = 30
};

static int is_refused(struct sl_et_span s)
{
    return !sl_utf8_valid((const char *)s.at, (size_t)(s.end - s.at));
}

int sl_et_text_of_strings(struct sl_et_span s, uint64_t last, int *refused)
{
    struct sl_et_field f;

    while (s.at < s.end) {
        if (!sl_et_take_field(&s, &f))
            return 0;
        if (f.wire == 2 && f.number >= 1 && f.number <= last && is_refused(f.bytes))
            *refused = 1;
    }
    return 1;
}

int sl_et_text_of_field(const struct sl_et_field *f, int *refused)
{
    if (f->wire != 2)
        return 1;
    if (f->number == STRING_LIST)
        return sl_et_text_of_strings(f->bytes, 1, refused);
    if ((f->number == NAME || f->number == DOC_STRING || f->number == STRING) &&
        is_refused(f->bytes))
        *refused = 1;
    return 1;
}

int sl_et_text_of_attribute(struct sl_et_span s, struct sl_et_span *name, int *refused)
{
    struct sl_et_field f;

    *name = (struct sl_et_span){s.at, s.at};
    while (s.at < s.end) {
        if (!sl_et_take_field(&s, &f) || !sl_et_text_of_field(&f, refused))
            return 0;
        if (f.number == NAME && f.wire == 2)
            *name = f.bytes;
    }
    return 1;
}

void sl_et_text_show(char out[SL_ET_TEXT_SHOWN], const void *text, size_t size)
{
    size_t n = sl_utf8_clean(out, SL_ET_TEXT_SHOWN - 1, text, size), i;

    for (i = 0; i < n; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            out[i] = '?';
    out[n] = '\0';
}
