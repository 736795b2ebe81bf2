/*
 * utf8.c - checks and repairs UTF-8, and converts UTF-16 and UTF-32 to UTF-8.
 *
 * Pure functions; any thread.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT 0xfffd

size_t sl_utf8_length(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    size_t i;

    if (length == 0 || s[0] > 0xf4 || length > left)
        return 0;
    for (i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

int sl_utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length)
{
    size_t at = 0, done = 0, n;

    while (at < length) {
        n = sl_utf8_length(text + at, length - at);
        if (done + (n ? n : 1) > size)
            break;
        if (n)
            memcpy(out + done, text + at, n);
        else
            out[done] = '?';
        done += n ? n : 1;
        at += n ? n : 1;
    }
    return done;
}

int sl_utf8_valid(const char *text, size_t length)
{
    size_t at = 0, n;
    uint64_t eight;

    while (at < length) {
        /* Eight bytes are checked at a time, because most text is ASCII. */
        if (length - at >= sizeof(eight)) {
            memcpy(&eight, text + at, sizeof(eight));
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof(eight);
                continue;
            }
        }
        n = sl_utf8_length(text + at, length - at);
        if (!n)
            return 0;
        at += n;
    }
    return 1;
}

size_t sl_utf8_put(char *out, size_t room, uint32_t c)
{
    size_t length;

    if (c > 0x10ffff || c - 0xd800 < 0x800)
        c = REPLACEMENT;
    length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (length > room)
        return 0;
    if (length == 1) {
        out[0] = (char)c;
        return 1;
    }
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(0xf00 >> length | c);
    return length;
}

static uint32_t unit_at(const char *text, size_t i, int is_utf32)
{
    uint16_t narrow;
    uint32_t wide;

    if (is_utf32) {
        memcpy(&wide, text + 4 * i, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, text + 2 * i, sizeof(narrow));
    return narrow;
}

static size_t from_units(char *out, size_t size, const char *text, size_t most, int is_utf32)
{
    size_t used = 0, written;
    uint32_t c;

    for (size_t i = 0; text && i < most && (c = unit_at(text, i, is_utf32)) != 0; i++) {
        if (!is_utf32 && i + 1 < most && sl_utf8_join(&c, unit_at(text, i + 1, 0)))
            i++;
        written = sl_utf8_put(out + used, size - used, c);
        if (!written)
            break;
        used += written;
    }
    return used;
}

int sl_utf8_join(uint32_t *high, uint32_t low)
{
    if (*high - 0xd800 >= 0x400 || low - 0xdc00 >= 0x400)
        return 0;
    *high = 0x10000 + ((*high & 0x3ff) << 10 | (low & 0x3ff));
    return 1;
}

size_t sl_utf8_from_utf16(char *out, size_t size, const void *text, size_t most)
{
    return from_units(out, size, text, most, 0);
}

size_t sl_utf8_from_utf32(char *out, size_t size, const void *text, size_t most)
{
    return from_units(out, size, text, most, 1);
}
