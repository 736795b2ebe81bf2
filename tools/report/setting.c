/*
 * setting.c - parses and checks changed settings, and lists all settings.
 *
 * Threads, memory: see setting.h.
 */
#include "report/setting.h"

#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "read/grow.h"
#include "report/metric.h"

#define NAMES_MAX 64

struct sl_changed_setting {
    const struct sl_setting *setting;
    struct sl_setting_value value;
};

void sl_settings_free(struct sl_settings *s)
{
    free(s->changed);
    *s = (struct sl_settings){0};
}

struct sl_setting_value sl_setting(const struct sl_settings *s, const struct sl_metric *metric,
                                   int index)
{
    const struct sl_setting *setting = &metric->settings[index];

    for (size_t i = 0; i < s->count; i++)
        if (s->changed[i].setting == setting)
            return s->changed[i].value;
    return (struct sl_setting_value){setting->number, setting->text};
}

void sl_setting_describe(const struct sl_setting *setting, char *to, size_t size)
{
    const char *unit = setting->unit, *space = *unit ? " " : "";

    if (setting->text)
        snprintf(to, size, "%s", *setting->text ? setting->text : "none");
    else
        snprintf(to, size, "%.15g%s%s (%.15g to %.15g)", setting->number, space, unit,
                 setting->least, setting->most);
}

void sl_settings_print(const struct sl_metric *const *metrics)
{
    for (size_t i = 0; metrics[i]; i++)
        for (const struct sl_setting *s = metrics[i]->settings; s && s->name; s++) {
            char range[128];

            sl_setting_describe(s, range, sizeof(range));
            printf("%s.%s\n  %s\n  default: %s\n", metrics[i]->name, s->name, s->meaning, range);
        }
}

static int unknown_metric(const struct sl_command *command, const struct sl_metric *const *metrics,
                          const char *name)
{
    const char *names[NAMES_MAX];
    int count = 0;

    for (size_t i = 0; metrics[i] && count < NAMES_MAX; i++)
        if (metrics[i]->settings)
            names[count++] = metrics[i]->name;
    return sl_args_unknown(command, "table with settings", name, names, count,
                           "`--set help` lists them");
}

static int unknown_name(const struct sl_command *command, const struct sl_metric *metric,
                        const char *name)
{
    const char *names[NAMES_MAX];
    char remedy[1024];
    int count = 0, at = snprintf(remedy, sizeof(remedy), "%s has", metric->name);

    for (const struct sl_setting *s = metric->settings; s->name && count < NAMES_MAX; s++) {
        if (at < (int)sizeof(remedy))
            at += snprintf(remedy + at, sizeof(remedy) - (size_t)at, "%s %s", count ? "," : "",
                           s->name);
        names[count++] = s->name;
    }
    return sl_args_unknown(command, "setting", name, names, count, remedy);
}

static const struct sl_metric *find_metric(const struct sl_metric *const *metrics, const char *name)
{
    for (; *metrics; metrics++)
        if ((*metrics)->settings && strcmp((*metrics)->name, name) == 0)
            return *metrics;
    return NULL;
}

static const struct sl_setting *find_setting(const struct sl_metric *metric, const char *name)
{
    for (const struct sl_setting *s = metric->settings; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

/* Parses a number in the setting's range. Returns 0 or -1. */
static int parse(const struct sl_setting *setting, const char *text, double *number)
{
    char *end;

    /* strtod() also takes spaces, signs, "nan", "inf" and hexadecimal numbers. */
    if (!*text || text[strspn(text, "0123456789.eE+-")])
        return -1;
    *number = strtod(text, &end);
    return *end || !(*number >= setting->least && *number <= setting->most) ? -1 : 0;
}

static int take(struct sl_settings *s, const struct sl_command *command,
                const struct sl_metric *metric, const struct sl_setting *setting, const char *text)
{
    struct sl_changed_setting changed = {setting, {0, text}}, *place = NULL;

    if (!setting->text && parse(setting, text, &changed.value.number) != 0)
        return sl_args_complain(command,
                                "--set %s.%s=%s is not valid: give a number from %.15g to "
                                "%.15g%s%s",
                                metric->name, setting->name, text, setting->least, setting->most,
                                *setting->unit ? ", in " : "", setting->unit);
    for (size_t i = 0; i < s->count; i++)
        if (s->changed[i].setting == setting)
            place = &s->changed[i];
    if (!place)
        place = sl_grow((void **)&s->changed, &s->count, &s->slots, sizeof(*place));
    if (!place)
        return sl_args_complain(command, "not enough memory");
    *place = changed;
    return 0;
}

int sl_settings_take(struct sl_settings *s, const struct sl_command *command,
                     const struct sl_metric *const *metrics, const char *text)
{
    const char *dot = strchr(text, '.'), *equal = strchr(text, '=');
    const struct sl_setting *setting;
    const struct sl_metric *metric;
    char name[64];

    if (!dot || !equal || equal < dot)
        return sl_args_complain(command,
                                "--set %s is not valid: give METRIC.NAME=VALUE; "
                                "`--set help` lists the settings",
                                text);
    snprintf(name, sizeof(name), "%.*s", (int)(dot - text), text);
    metric = find_metric(metrics, name);
    if (!metric)
        return unknown_metric(command, metrics, name);
    snprintf(name, sizeof(name), "%.*s", (int)(equal - dot - 1), dot + 1);
    setting = find_setting(metric, name);
    if (!setting)
        return unknown_name(command, metric, name);
    return take(s, command, metric, setting, equal + 1);
}
