/*
 * scale.c - reads --scale NAME=FACTOR and compares names with it.
 *
 * Threads, memory: see critical.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "critical/critical.h"

#define FACTOR_MOST 1e6

int sl_critical_matches(const char *pattern, size_t size, const char *name)
{
    const char *end = pattern + size, *star = NULL, *from = NULL;

    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (pattern < end && *pattern == *name) {
            pattern++;
            name++;
        } else if (star) { /* the last star stands for one more byte */
            pattern = star;
            name = ++from;
        } else {
            return 0;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

int sl_critical_scale_read(struct sl_critical_scale *out, const char *text)
{
    const char *equals = strrchr(text, '=');
    char *end;
    double factor;

    if (!equals || equals == text || !strchr("0123456789.", equals[1]) || !equals[1])
        return -EINVAL;
    factor = strtod(equals + 1, &end);
    if (*end || !isfinite(factor) || factor < 0 || factor > FACTOR_MOST)
        return -EINVAL;
    *out =
        (struct sl_critical_scale){.name = text, .size = (size_t)(equals - text), .factor = factor};
    return 0;
}
