/*
 * unescape.c - decodes the escapes of RFC 8259, section 7.
 *
 * Threads, memory: see unescape.h.
 */
#include "read/unescape.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static uint32_t hex(const char *p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    return v;
}

/* Decodes the \u escape at `p`. If it is the first half of a surrogate pair, also decodes the
 * second half. Returns the number of bytes that were decoded. */
static size_t read_unicode(const char *p, size_t left, uint32_t *out)
{
    *out = hex(p + 2);
    if (left >= 12 && p[6] == '\\' && p[7] == 'u' && sl_utf8_join(out, hex(p + 8)))
        return 12;
    if (*out - 0xd800 < 0x800)
        *out = '?';
    return 6;
}

size_t sl_unescape(char *to, const char *text, size_t size)
{
    static const char letters[] = "bfnrt", means[] = "\b\f\n\r\t";
    const char *end = text + size, *letter;
    char *at = to;
    uint32_t c;

    while (text < end) {
        if (*text != '\\' || end - text < 2) {
            *at++ = *text++;
        } else if (text[1] == 'u' && end - text >= 6) {
            text += read_unicode(text, (size_t)(end - text), &c);
            at += sl_utf8_put(at, 4, c);
        } else {
            letter = strchr(letters, text[1]);
            *at++ = letter && *letter ? means[letter - letters] : text[1];
            text += 2;
        }
    }
    return (size_t)(at - to);
}

struct sl_text sl_unescaped(struct sl_text text, char *room, size_t room_size)
{
    if (text.size == 0 || text.size > room_size || !memchr(text.data, '\\', text.size))
        return text;
    return (struct sl_text){room, sl_unescape(room, text.data, text.size)};
}
