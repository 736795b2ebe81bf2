/*
 * json.c - writes JSON numbers and strings.
 *
 * Threads: any; no state. Memory: the caller's.
 */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

/* "000" to "999" */
#define ONE(h, t, o)                                                                               \
    {                                                                                              \
        h, t, o                                                                                    \
    }
#define ONES(h, t)                                                                                 \
    ONE(h, t, '0'), ONE(h, t, '1'), ONE(h, t, '2'), ONE(h, t, '3'), ONE(h, t, '4'),                \
        ONE(h, t, '5'), ONE(h, t, '6'), ONE(h, t, '7'), ONE(h, t, '8'), ONE(h, t, '9')
#define TENS(h)                                                                                    \
    ONES(h, '0'), ONES(h, '1'), ONES(h, '2'), ONES(h, '3'), ONES(h, '4'), ONES(h, '5'),            \
        ONES(h, '6'), ONES(h, '7'), ONES(h, '8'), ONES(h, '9')

const char sl_json_digits3[1000][4] = {TENS('0'), TENS('1'), TENS('2'), TENS('3'), TENS('4'),
                                       TENS('5'), TENS('6'), TENS('7'), TENS('8'), TENS('9')};

/* Writes nine digits with leading zeros, by three independent table look-ups. */
static char *nine(char *at, uint32_t v)
{
    at = sl_json_three(at, v / 1000000);
    at = sl_json_three(at, v / 1000 % 1000);
    return sl_json_three(at, v % 1000);
}

char *sl_json_u64(char *at, uint64_t v)
{
    const uint64_t billion = 1000000000;

    if (v >= billion * billion) {
        at = sl_json_u32(at, (uint32_t)(v / (billion * billion)));
        at = nine(at, (uint32_t)(v / billion % billion));
        return nine(at, (uint32_t)(v % billion));
    }
    if (v >= billion) {
        at = sl_json_u64(at, v / billion);
        return nine(at, (uint32_t)(v % billion));
    }
    if (v >= 1000000) {
        at = sl_json_u32(at, (uint32_t)v / 1000000);
        at = sl_json_three(at, (uint32_t)v / 1000 % 1000);
        return sl_json_three(at, (uint32_t)v % 1000);
    }
    if (v >= 1000) {
        at = sl_json_u32(at, (uint32_t)v / 1000);
        return sl_json_three(at, (uint32_t)v % 1000);
    }
    return sl_json_u32(at, (uint32_t)v);
}

char *sl_json_i64(char *at, int64_t v)
{
    if (v < 0) {
        *at++ = '-';
        return sl_json_u64(at, (uint64_t)0 - (uint64_t)v);
    }
    return sl_json_u64(at, (uint64_t)v);
}

static char *without_trailing_zeros(char *at)
{
    while (at[-1] == '0')
        at--;
    return at[-1] == '.' ? at - 1 : at;
}

char *sl_json_millis(char *at, uint64_t thousandths)
{
    at = sl_json_u64(at, thousandths / 1000);
    *at++ = '.';
    return without_trailing_zeros(sl_json_three(at, (uint32_t)(thousandths % 1000)));
}

char *sl_json_millionths(char *at, uint64_t millionths)
{
    at = sl_json_u64(at, millionths / 1000000);
    *at++ = '.';
    at = sl_json_three(at, (uint32_t)(millionths / 1000 % 1000));
    return without_trailing_zeros(sl_json_three(at, (uint32_t)(millionths % 1000)));
}

char *sl_json_hex(char *at, uint64_t v, unsigned digits)
{
    static const char hex[] = "0123456789abcdef";

    while (digits--)
        *at++ = hex[v >> 4 * digits & 15];
    return at;
}

static char *put_byte(char *at, unsigned char byte)
{
    at = SL_JSON_LITERAL(at, "\\\\x");
    return sl_json_hex(at, byte, 2);
}

static char *put_control(char *at, unsigned char c)
{
    switch (c) {
    case '\n':
        return SL_JSON_LITERAL(at, "\\n");
    case '\t':
        return SL_JSON_LITERAL(at, "\\t");
    case '\r':
        return SL_JSON_LITERAL(at, "\\r");
    default:
        at = SL_JSON_LITERAL(at, "\\u00");
        return sl_json_hex(at, c, 2);
    }
}

char *sl_json_escape(char *at, const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text, *end = s + length;

    while (s < end) {
        size_t n;

        if (*s == '"') {
            at = SL_JSON_LITERAL(at, "\\\"");
            s++;
        } else if (*s == '\\') {
            at = end - s > 1 && s[1] == 'x' ? put_byte(at, *s) : SL_JSON_LITERAL(at, "\\\\");
            s++;
        } else if (*s < 0x20) {
            at = put_control(at, *s++);
        } else if ((n = *s < 0x80 ? 1 : sl_utf8_length((const char *)s, (size_t)(end - s))) != 0) {
            at = sl_json_raw(at, (const char *)s, n);
            s += n;
        } else {
            at = put_byte(at, *s++);
        }
    }
    return at;
}

char *sl_json_string(char *at, const char *text)
{
    *at++ = '"';
    if (text)
        at = sl_json_escape(at, text, strlen(text));
    *at++ = '"';
    return at;
}

/* Replaces the decimal point of the host's locale, which may have several bytes, by '.'. */
static char *put_digits(char *at, const char *text)
{
    int in_point = 0;

    for (const char *c = text; *c; c++) {
        int is_point = !strchr("0123456789+-e", *c);

        if (!is_point)
            *at++ = *c;
        else if (!in_point)
            *at++ = '.';
        in_point = is_point;
    }
    return at;
}

char *sl_json_digits(char *at, double v, int digits)
{
    char text[40];

    snprintf(text, sizeof(text), "%.*g", digits, v);
    return put_digits(at, text);
}

char *sl_json_double(char *at, double v, int digits)
{
    char text[40] = "";

    if (v != v)
        return SL_JSON_LITERAL(at, "\"nan\"");
    if (v - v != 0)
        return v > 0 ? SL_JSON_LITERAL(at, "\"inf\"") : SL_JSON_LITERAL(at, "\"-inf\"");
    /* Use the fewest digits that distinguish the value from its neighbours. */
    for (int some = 6; some <= digits; some++) {
        snprintf(text, sizeof(text), "%.*g", some, v);
        if (digits > 9 ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v)
            break;
    }
    return put_digits(at, text);
}
