/*
 * number.c - reads JSON numbers exactly from their text.
 *
 * Threads: pure functions. Memory: none.
 */
#include "read/number.h"

#include <errno.h>

/* 19 digits are enough for every int64. Later digits affect only rounding. */
#define DIGITS_MAX 19

struct decimal {
    uint64_t digits; /* the first DIGITS_MAX significant digits */
    int count;       /* number of these digits */
    int64_t point;   /* value = digits * 10^point */
    int round_up;    /* not 0 if the first omitted digit is >= 5 */
    int rest;        /* not 0 if an omitted digit is not 0 */
    int negative;
};

static void put_digit(struct decimal *d, int digit, int fraction)
{
    if (d->count < DIGITS_MAX) {
        d->digits = d->digits * 10 + (uint64_t)digit;
        d->count += d->digits != 0;
        d->point -= fraction;
        return;
    }
    if (d->count == DIGITS_MAX) {
        d->round_up = digit >= 5;
        d->count++;
    }
    d->rest |= digit != 0;
    d->point += !fraction;
}

static int is_digit(const char *p, const char *end)
{
    return p < end && (unsigned char)(*p - '0') < 10;
}

int sl_number_valid(const char *text, size_t size)
{
    const char *p = text, *end = text + size, *first;

    p += p < end && *p == '-';
    for (first = p; is_digit(p, end); p++)
        ;
    if (p == first || (*first == '0' && p - first > 1)) /* leading zeros are invalid */
        return 0;
    if (p < end && *p == '.') {
        for (first = ++p; is_digit(p, end); p++)
            ;
        if (p == first)
            return 0;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        for (first = p; is_digit(p, end); p++)
            ;
        if (p == first)
            return 0;
    }
    return p == end;
}

/* Parses a valid number digit by digit. */
static void parse(const char *p, const char *end, struct decimal *d)
{
    *d = (struct decimal){.negative = *p == '-'};
    p += d->negative;
    for (; is_digit(p, end); p++)
        put_digit(d, *p - '0', 0);
    if (p < end && *p == '.') {
        for (p++; is_digit(p, end); p++)
            put_digit(d, *p - '0', 1);
    }
    if (p < end) { /* e */
        int64_t exponent = 0;
        int minus = p[1] == '-';

        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        for (; p < end; p++)
            exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
        d->point += minus ? -exponent : exponent;
    }
}

/* Parses a number with few digits, no exponent and nothing to round. Nearly all numbers of a trace
 * are of this kind. Returns 0 for other numbers, which the caller parses digit by digit. Without
 * this function `check` spent a third of its time on numbers. */
static int parse_short(const char *p, const char *end, int shift, int64_t *out)
{
    const char *first;
    uint64_t value = 0;
    int negative = p < end && *p == '-';
    long digits;

    p += negative;
    if (end - p > DIGITS_MAX)
        return 0;
    for (first = p; is_digit(p, end); p++)
        value = value * 10 + (uint64_t)(*p - '0');
    digits = p - first;
    if (digits == 0 || (*first == '0' && digits > 1))
        return 0;
    if (p < end && *p == '.') {
        for (first = ++p; is_digit(p, end); p++)
            value = value * 10 + (uint64_t)(*p - '0');
        if (p == first)
            return 0;
        shift -= (int)(p - first);
        digits += p - first;
    }
    if (p != end || shift < 0 || digits + shift >= DIGITS_MAX)
        return 0;
    for (; shift > 0; shift--)
        value *= 10;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return 1;
}

int sl_number_scaled(const char *text, size_t size, int shift, int64_t *out, int *exact)
{
    struct decimal d;
    int range = 0;

    if (parse_short(text, text + size, shift, out)) {
        *exact = 1;
        return 0;
    }
    if (!sl_number_valid(text, size))
        return -EINVAL;
    parse(text, text + size, &d);
    d.point += shift;
    for (; d.point < 0 && (d.digits || d.round_up); d.point++) {
        d.rest |= d.round_up || d.digits % 10 != 0;
        d.round_up = d.digits % 10 >= 5;
        d.digits /= 10;
    }
    for (; d.point > 0 && d.digits && !range; d.point--)
        range = __builtin_mul_overflow(d.digits, 10u, &d.digits);
    d.digits += d.round_up && !range;
    *exact = !d.rest && !range;
    if (range || d.digits > INT64_MAX) {
        *out = d.negative ? INT64_MIN : INT64_MAX;
        return -ERANGE;
    }
    *out = d.negative ? -(int64_t)d.digits : (int64_t)d.digits;
    return 0;
}
