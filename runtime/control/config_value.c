/*
 * config_value.c - parses option values.
 *
 * Pure functions; any thread; nothing is allocated.
 */
#include "control/config_value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Maximum number of steps in a window or period. */
#define COUNT_MAX 1000000000u

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_unit[] = {
    {"GiB", 1ull << 30},
    {"MiB", 1ull << 20},
    {"KiB", 1ull << 10},
    {"G", 1ull << 30},
    {"M", 1ull << 20},
    {"K", 1ull << 10},
    {"GB", 1000000000},
    {"MB", 1000000},
    {"KB", 1000},
    {"B", 1},
    {"", 1},
    {NULL, 0},
};

static const struct unit duration_unit[] = {
    {"h", 3600000000000}, {"min", 60000000000},
    {"s", 1000000000},    {"ms", 1000000},
    {"us", 1000},         {"ns", 1},
    {"", 1000000000},     {NULL, 0},
};

static const struct unit number_unit[] = {
    {"", 1},
    {NULL, 0},
};

static const struct unit *find_unit(const struct unit *unit, const char *text, size_t length)
{
    for (; unit->name; unit++) {
        if (strlen(unit->name) == length && !strncasecmp(unit->name, text, length))
            return unit;
    }
    return NULL;
}

/* Parses digits, an optional fraction of at most nine digits, and a unit. Uses integers, because
 * the host's locale decides what strtod accepts as a decimal point. */
static int read_quantity(const struct unit *units, const char *text, size_t length, uint64_t *out)
{
    uint64_t whole = 0, fraction = 0, scale = 1;
    const struct unit *unit;
    unsigned __int128 value;
    size_t i = 0;

    if (!length || text[0] < '0' || text[0] > '9')
        return -EINVAL;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        if (whole > (UINT64_MAX - 9) / 10)
            return -EINVAL;
        whole = whole * 10 + (uint64_t)(text[i] - '0');
    }
    if (i < length && text[i] == '.') {
        for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
            if (scale > 100000000)
                return -EINVAL;
            fraction = fraction * 10 + (uint64_t)(text[i] - '0');
            scale *= 10;
        }
    }
    unit = find_unit(units, text + i, length - i);
    if (!unit)
        return -EINVAL;
    value = (unsigned __int128)whole * unit->factor +
            (unsigned __int128)fraction * unit->factor / scale;
    if (value > UINT64_MAX)
        return -EINVAL;
    *out = (uint64_t)value;
    return 0;
}

int sl_config_value_size(const char *text, size_t length, uint64_t *bytes)
{
    return read_quantity(size_unit, text, length, bytes);
}

int sl_config_value_duration(const char *text, size_t length, uint64_t *ns)
{
    return read_quantity(duration_unit, text, length, ns);
}

static int read_bool(const char *text, int *out)
{
    static const char *const yes[] = {"1", "on", "yes", "true"}, *const no[] = {"0", "off", "no",
                                                                                "false"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
        if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
            *out = !strcasecmp(text, yes[i]);
            return 0;
        }
    }
    return -EINVAL;
}

static int find_word(const struct sl_option *option, const char *text, size_t length, int *out)
{
    for (const struct sl_option_word *w = option->words; w->word; w++) {
        if (strlen(w->word) == length && !strncasecmp(w->word, text, length)) {
            *out = w->value;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_set(const struct sl_option *option, const char *text, uint32_t *out)
{
    uint32_t bits = 0;
    int value, is_first = 1;

    for (;; is_first = 0) {
        size_t length = strcspn(text, ",");

        if (find_word(option, text, length, &value))
            return -EINVAL;
        if (!value && (!is_first || text[length])) /* a word such as "none" cannot be combined with
                                                    * other words */
            return -EINVAL;
        bits |= (uint32_t)value;
        if (!text[length])
            break;
        text += length + 1;
    }
    *out = bits;
    return 0;
}

/* Parses a level: digits with an optional minus. */
static int read_level(const char *text, int min, int max, int *out)
{
    int negative = *text == '-', value = 0;

    text += negative;
    if (!*text)
        return -EINVAL;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > 100)
            return -EINVAL;
        value = value * 10 + (*text - '0');
    }
    value = negative ? -value : value;
    if (value < min || value > max || value == 0)
        return -ERANGE;
    *out = value;
    return 0;
}

static int read_compression(const char *text, struct sl_config *out)
{
    int level, err;

    if (!strcmp(text, "none")) {
        out->compression = SL_COMPRESS_NONE;
        out->level = 0;
    } else if (!strcmp(text, "zstd") || !strncmp(text, "zstd:", 5)) {
        level = 1;
        if (text[4] && (err = read_level(text + 5, -7, 19, &level)))
            return err;
        out->compression = SL_COMPRESS_ZSTD;
        out->level = level;
    } else if (!strcmp(text, "gzip") || !strncmp(text, "gzip:", 5)) {
        level = 1;
        if (text[4] && (err = read_level(text + 5, 1, 9, &level)))
            return err;
        out->compression = SL_COMPRESS_GZIP;
        out->level = level;
    } else {
        return -EINVAL;
    }
    return 0;
}

/* Parses digits up to `end`. Returns 0 or -EINVAL. */
static int read_count(const char *text, char end, uint64_t *out)
{
    uint64_t value = 0;

    if (*text == end)
        return -EINVAL;
    for (; *text && *text != end; text++) {
        if (*text < '0' || *text > '9' || value > COUNT_MAX)
            return -EINVAL;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return *text == end ? 0 : -EINVAL;
}

static int read_steps(const char *text, struct sl_config *out)
{
    uint64_t count, period;
    const char *slash = strchr(text, '/');

    if (!slash || read_count(text, '/', &count) || read_count(slash + 1, '\0', &period))
        return -EINVAL;
    if (!count || period < count || period > COUNT_MAX)
        return -ERANGE;
    out->window_mode = SL_WINDOW_STEPS;
    out->window_steps = count;
    out->period_steps = period;
    return 0;
}

static int read_window(const struct sl_option *option, const char *text, struct sl_config *out)
{
    uint64_t window_ns, period_ns;
    const char *slash;

    if (!strcmp(text, "run")) {
        out->window_mode = SL_WINDOW_RUN;
        return 0;
    }
    if (!strcmp(text, "demand")) {
        out->window_mode = SL_WINDOW_DEMAND;
        return 0;
    }
    if (!strcasecmp(text, "off")) {
        out->window_mode = SL_WINDOW_OFF;
        return 0;
    }
    if (!strncmp(text, "steps:", 6))
        return read_steps(text + 6, out);
    if (strncmp(text, "time:", 5))
        return -EINVAL;
    text += 5;
    slash = strchr(text, '/');
    if (!slash || sl_config_value_duration(text, (size_t)(slash - text), &window_ns) ||
        sl_config_value_duration(slash + 1, strlen(slash + 1), &period_ns))
        return -EINVAL;
    if (window_ns < option->min || period_ns > option->max || period_ns < window_ns)
        return -ERANGE;
    out->window_mode = SL_WINDOW_TIME;
    out->window_ns = window_ns;
    out->period_ns = period_ns;
    return 0;
}

static int read_number(const struct sl_option *option, const char *text, uint64_t *out)
{
    uint64_t value;
    int err;

    if (option->type == SL_OPTION_SIZE)
        err = sl_config_value_size(text, strlen(text), &value);
    else if (option->type == SL_OPTION_NUMBER)
        err = strchr(text, '.') ? -EINVAL : read_quantity(number_unit, text, strlen(text), &value);
    else
        err = sl_config_value_duration(text, strlen(text), &value);
    if (err)
        return err;
    if (value < option->min || value > option->max)
        return -ERANGE;
    *out = value;
    return 0;
}

int sl_config_value_read(const struct sl_option *option, const char *text, struct sl_config *out)
{
    void *field = (char *)out + option->offset;

    switch (option->type) {
    case SL_OPTION_BOOL:
        return read_bool(text, field);
    case SL_OPTION_TEXT:
        if (strlen(text) >= option->size)
            return -ERANGE;
        memcpy(field, text, strlen(text) + 1);
        return 0;
    case SL_OPTION_SIZE:
    case SL_OPTION_DURATION:
    case SL_OPTION_NUMBER:
        return read_number(option, text, field);
    case SL_OPTION_CHOICE:
        return find_word(option, text, strlen(text), field);
    case SL_OPTION_SET:
        return read_set(option, text, field);
    case SL_OPTION_COMPRESSION:
        return read_compression(text, out);
    case SL_OPTION_WINDOW:
        return read_window(option, text, out);
    }
    return -EINVAL;
}
