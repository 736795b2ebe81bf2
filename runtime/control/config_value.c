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

#include "base/decimal.h"

/* Largest number of steps in a period. */
#define COUNT_MAX 1000000000u
/* Largest numbers that can be parsed. A number that can be parsed may still be out of the option's
 * range. */
#define STEPS_MOST 10000000009ull
#define LEVEL_MOST 1009u

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

int sl_config_value_digits(const char *text, size_t length, uint64_t most, uint64_t *out)
{
    return sl_decimal_read(text, text + length, most, out) == text + length ? 0 : -EINVAL;
}

/* Parses ":LEVEL", where LEVEL is digits with an optional minus. "" means level 1. */
static int read_level(const char *text, int min, int max, int *out)
{
    int negative = text[0] == ':' && text[1] == '-', level;
    uint64_t value = 1;

    if (*text && sl_config_value_digits(text + 1 + negative, strlen(text + 1 + negative),
                                        LEVEL_MOST, &value))
        return -EINVAL;
    level = negative ? -(int)value : (int)value;
    if (level < min || level > max || level == 0)
        return -ERANGE;
    *out = level;
    return 0;
}

static int read_compression(const char *text, struct sl_config *out)
{
    static const struct {
        const char *name;
        enum sl_compression kind;
        int min, max;
    } known[] = {{"zstd", SL_COMPRESS_ZSTD, -7, 19}, {"gzip", SL_COMPRESS_GZIP, 1, 9}};
    size_t length = strcspn(text, ":");

    if (!strcmp(text, "none")) {
        out->compression = SL_COMPRESS_NONE;
        out->level = 0;
        return 0;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int err;

        if (length != strlen(known[i].name) || strncmp(text, known[i].name, length))
            continue;
        err = read_level(text + length, known[i].min, known[i].max, &out->level);
        if (!err)
            out->compression = known[i].kind;
        return err;
    }
    return -EINVAL;
}

static int read_steps(const char *text, struct sl_config *out)
{
    uint64_t count, period;
    const char *slash = strchr(text, '/');

    if (!slash || sl_config_value_digits(text, (size_t)(slash - text), STEPS_MOST, &count) ||
        sl_config_value_digits(slash + 1, strlen(slash + 1), STEPS_MOST, &period))
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
    int is_run = !strcmp(text, "run"), is_demand = !strcmp(text, "demand");

    if (is_run || is_demand || !strcasecmp(text, "off")) {
        out->window_mode = is_run ? SL_WINDOW_RUN : is_demand ? SL_WINDOW_DEMAND : SL_WINDOW_OFF;
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
    const struct unit *units = option->type == SL_OPTION_SIZE       ? size_unit
                               : option->type == SL_OPTION_DURATION ? duration_unit
                                                                    : number_unit;
    uint64_t value;

    if ((units == number_unit && strchr(text, '.')) ||
        read_quantity(units, text, strlen(text), &value))
        return -EINVAL;
    if (value < option->min || value > option->max)
        return -ERANGE;
    *out = value;
    return 0;
}

/* A plain number such as 644 is octal, too, as for chmod(1). */
static int read_mode(const struct sl_option *option, const char *text, uint32_t *out)
{
    uint32_t mode = 0;
    size_t length = strspn(text, "01234567");

    if (length < 3 || length > 4 || text[length])
        return -EINVAL;
    for (; *text; text++)
        mode = mode * 8 + (uint32_t)(*text - '0');
    if ((mode & option->min) != option->min || (mode & ~option->max))
        return -ERANGE;
    *out = mode;
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
    case SL_OPTION_MODE:
        return read_mode(option, text, field);
    }
    return -EINVAL;
}
