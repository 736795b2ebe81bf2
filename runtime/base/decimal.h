/*
 * decimal.h - reads decimal numbers from text. Pure; any thread.
 */
#ifndef SL_DECIMAL_H
#define SL_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* Reads digits up to `end` or to another character, and returns the place where it stopped. Returns
 * NULL if there is no digit, or if the number is above `most`. */
static inline const char *sl_decimal_read(const char *at, const char *end, uint64_t most,
                                          uint64_t *out)
{
    const char *from = at;
    uint64_t value = 0, digit;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        digit = (uint64_t)(*at - '0');
        if (value > most / 10 || digit > most - value * 10)
            return NULL;
        value = value * 10 + digit;
    }
    *out = value;
    return at == from ? NULL : at;
}

#endif
