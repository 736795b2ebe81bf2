/*
 * et_text.c - finds texts of a Chakra trace that are not UTF-8.
 *
 * Threads, memory: see et_text.h.
 */
#include "read/et_text.h"

#include "base/utf8.h"
#include "write/chakra/wire.h"

/* Field numbers of AttributeProto that only this file uses. */
enum {
    DOC_STRING = 2,
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
        if (f.wire == 2 && f.number >= 1 && f.number <= last)
            *refused |= is_refused(f.bytes);
    }
    return 1;
}

int sl_et_text_of_attribute(struct sl_et_span s, struct sl_et_span *name, struct sl_et_field *value,
                            int *refused)
{
    struct sl_et_field f;

    *name = (struct sl_et_span){s.at, s.at};
    *value = (struct sl_et_field){0};
    while (s.at < s.end) {
        if (!sl_et_take_field(&s, &f) ||
            (f.wire == 2 && f.number == STRING_LIST && !sl_et_text_of_strings(f.bytes, 1, refused)))
            return 0;
        if (f.wire == 2 &&
            (f.number == SL_CHAKRA_NAME || f.number == DOC_STRING || f.number == SL_CHAKRA_STRING))
            *refused |= is_refused(f.bytes);
        if (f.wire == 2 && f.number == SL_CHAKRA_NAME)
            *name = f.bytes;
        else if (f.number > DOC_STRING)
            *value = f;
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
