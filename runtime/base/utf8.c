/*
 * utf8.c - is this text UTF-8, and if not, what comes nearest?
 *
 * Pure functions; any thread.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence at `s`, 0 if it is none: no overlong form, surrogate or more than
 * U+10FFFF (Unicode 15, table 3-7). */
static size_t sequence(const unsigned char *s, size_t left)
{
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

size_t sl_utf8_clean(char *out, size_t size, const char *text, size_t length)
{
    size_t at = 0, done = 0, n;

    while (at < length) {
        n = sequence((const unsigned char *)text + at, length - at);
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
        /* Most text is ASCII, and goes eight bytes at a time. */
        if (length - at >= sizeof(eight)) {
            memcpy(&eight, text + at, sizeof(eight));
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof(eight);
                continue;
            }
        }
        n = sequence((const unsigned char *)text + at, length - at);
        if (!n)
            return 0;
        at += n;
    }
    return 1;
}
