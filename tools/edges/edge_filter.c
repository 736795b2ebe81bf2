/*
 * edge_filter.c - parses and applies the options that select waits.
 *
 * Threads, memory: see edge_filter.h.
 */
#include "edges/edge_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"

static const struct {
    const char *name;
    double ns;
} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

int sl_edge_filter_time(const char *text, uint64_t *ns)
{
    char *end;
    double value;

    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (value * units[i].ns >= 1e19)
            return -EINVAL;
        *ns = (uint64_t)(value * units[i].ns + 0.5);
        return 0;
    }
    return -EINVAL;
}

int sl_edge_filter_steps(struct sl_edge_filter *f, const char *text)
{
    const char *dots = strstr(text, "..");
    char first[24];
    size_t size = dots ? (size_t)(dots - text) : strlen(text);

    if (size >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, size);
    first[size] = '\0';
    if (sl_args_number(first, UINT64_MAX, &f->first_step) != 0)
        return -EINVAL;
    f->last_step = f->first_step;
    f->has_steps = 1;
    if (dots && sl_args_number(dots + 2, UINT64_MAX, &f->last_step) != 0)
        return -EINVAL;
    return f->last_step < f->first_step ? -EINVAL : 0;
}

/* Returns 1 if the text begins with the pattern, in which * stands for any text and ? for any
 * byte. */
static int begins_with(const char *text, const char *pattern)
{
    const char *star = NULL, *from = NULL;

    while (*pattern) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*text && (*pattern == *text || *pattern == '?')) {
            pattern++;
            text++;
        } else if (star && *from) {
            pattern = star;
            text = ++from;
        } else {
            return 0;
        }
    }
    return 1;
}

static int is_at(const char *line, const char *pattern)
{
    for (; *line; line++)
        if (begins_with(line, pattern))
            return 1;
    return 0;
}

int sl_edge_filter_has_step(const struct sl_edge_filter *f, const struct sl_intern *names,
                            uint32_t step)
{
    const char *name = f->has_steps ? sl_intern_get(names, step, NULL) : NULL;
    const char *number = name ? strchr(name, '#') : NULL;
    uint64_t n;

    if (!f->has_steps)
        return 1;
    return number && sl_args_number(number + 1, UINT64_MAX, &n) == 0 && n >= f->first_step &&
           n <= f->last_step;
}

int sl_edge_filter_has(const struct sl_edge_filter *f, const struct sl_intern *names,
                       const struct sl_edge *edge, const struct sl_edge_where *where)
{
    const char *line = f->line ? sl_intern_get(names, where->line, NULL) : NULL;

    return (f->kind < 0 || edge->kind == f->kind) && (!f->line || (line && is_at(line, f->line))) &&
           sl_edge_filter_has_step(f, names, where->step);
}
