/*
 * setting.h - values of metrics that the user may change with --set METRIC.NAME=VALUE.
 *
 * A metric lists its settings (metric.h), and asks for a value with sl_setting().
 *
 * Threads: one owner. Memory: 32 bytes for each changed value; its text is borrowed from the
 * command line.
 */
#ifndef SL_REPORT_SETTING_H
#define SL_REPORT_SETTING_H

#include <stddef.h>

struct sl_command;
struct sl_metric;

/* A setting is a number or, if `text` is not NULL, a text. */
struct sl_setting {
    const char *name; /* NULL ends the list */
    const char *unit; /* of a number, such as "us"; "" if it has none */
    const char *meaning;
    double least, most; /* the allowed range of a number */
    double number;      /* default */
    const char *text;   /* default; "" if there is none */
};

struct sl_setting_value {
    double number;
    const char *text;
};

/* The values that the user changed. A struct of zeroes is empty. */
struct sl_settings {
    struct sl_changed_setting *changed;
    size_t count, slots;
};

void sl_settings_free(struct sl_settings *s);

/* Takes "METRIC.NAME=VALUE" (borrowed) for a metric of this NULL-terminated table. Returns 0 or an
 * exit status; what is wrong is said in one line on stderr. A later value replaces an earlier. */
int sl_settings_take(struct sl_settings *s, const struct sl_command *command,
                     const struct sl_metric *const *metrics, const char *text);

/* Prints all settings of the metrics of a table. */
void sl_settings_print(const struct sl_metric *const *metrics);

/* Formats the range and the default of a setting, such as "30 us (0 to 1000000)". */
void sl_setting_describe(const struct sl_setting *setting, char *to, size_t size);

/* Returns the value of the setting with this index in the metric's list. */
struct sl_setting_value sl_setting(const struct sl_settings *s, const struct sl_metric *metric,
                                   int index);

#endif
