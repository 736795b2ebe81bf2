/*
 * text.c - wide characters as UTF-8.
 *
 * Pure functions; any thread.
 */
#include "collect/nvtx/text.h"

#include <string.h>

#define REPLACEMENT 0xfffd

/* Bytes written, 0: no room. */
static size_t put(char *out, size_t room, uint32_t c)
{
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

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

static int is_surrogate(uint32_t c)
{
    return c >= 0xd800 && c < 0xe000;
}

size_t sl_nvtx_text_utf16(char *out, size_t size, const void *text, size_t most)
{
    const char *from = text;
    size_t used = 0, written;

    for (size_t i = 0; text && i < most; i++) {
        uint16_t unit, low;
        uint32_t c;

        memcpy(&unit, from + 2 * i, sizeof(unit));
        if (!unit)
            break;
        c = unit;
        if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < most) {
            memcpy(&low, from + 2 * (i + 1), sizeof(low));
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (low - 0xdc00u);
                i++;
            }
        }
        written = put(out + used, size - used, is_surrogate(c) ? REPLACEMENT : c);
        if (!written)
            break;
        used += written;
    }
    return used;
}

size_t sl_nvtx_text_utf32(char *out, size_t size, const void *text, size_t most)
{
    const char *from = text;
    size_t used = 0, written;

    for (size_t i = 0; text && i < most; i++) {
        uint32_t c;

        memcpy(&c, from + 4 * i, sizeof(c));
        if (!c)
            break;
        written = put(out + used, size - used, c > 0x10ffff || is_surrogate(c) ? REPLACEMENT : c);
        if (!written)
            break;
        used += written;
    }
    return used;
}
