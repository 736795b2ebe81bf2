/*
 * metrics_page.c - prints the table of metrics as docs/metrics.md.
 *
 * Used by the documentation's build target.
 */
#include "metrics_page.h"

#include <string.h>

#include "report/metric.h"

#define PAGE_COLUMNS 100

static const char intro[] =
    "# Metrics of a report\n"
    "\n"
    "`syncline report --only NAME PATH` prints a table, `--csv DIR` writes "
    "each to `DIR/NAME.csv`, and\n"
    "`--json` has all of them. [report.md](report.md) describes the JSON. "
    "The tables are the same in\n"
    "all three forms, but text has shortened names and readable units.\n"
    "\n"
    "The name of a column ends in its unit: `_ns` (nanoseconds), `_bytes`, "
    "or `_ratio` (0 to 1). A\n"
    "value that does not exist is `-` in text, empty in CSV and null in "
    "JSON. Times that begin with\n"
    "`begin_` are times of the file.\n"
    "\n"
    "Some tables have settings. `--set METRIC.NAME=VALUE` changes one, such "
    "as\n"
    "`--set launch.runtime_cutoff=20`; `--set` may be repeated, and `--set "
    "help` lists all settings.\n"
    "\n"
    "`--stream S` restricts the tables that say so to operations of this "
    "stream. It may be repeated.\n"
    "\n"
    "This page is generated from the table in `tools/report/metric.c` "
    "(build target `metrics_doc`).\n";

/* Prints a paragraph in lines of at most PAGE_COLUMNS. */
static void print_wrapped(FILE *f, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (column && column + 1 + word > PAGE_COLUMNS) {
            fputs("\n", f);
            column = 0;
        }
        column += (size_t)fprintf(f, "%s%.*s", column ? " " : "", (int)word, text);
        text += word;
        text += *text == ' ';
    }
    fputs("\n", f);
}

static void print_metric(FILE *f, const struct sl_metric *metric)
{
    char source[512];

    fprintf(f, "\n## %s\n\n", metric->name);
    fprintf(f, "The table shows %s.\n\n", metric->title);
    print_wrapped(f, metric->formula);
    if (metric->is_by_stream)
        fputs("\n`--stream` restricts this table.\n", f);
    snprintf(source, sizeof(source), "Source: %s", metric->source);
    fputs("\n", f);
    print_wrapped(f, source);
    fputs("\n| Column | Meaning |\n|---|---|\n", f);
    for (const struct sl_column *c = metric->columns; c->name; c++)
        fprintf(f, "| `%s` | %s |\n", c->name, c->meaning);
    if (metric->settings)
        fputs("\n| Setting | Default (range) | Meaning |\n|---|---|---|\n", f);
    for (const struct sl_setting *s = metric->settings; s && s->name; s++) {
        char range[128];

        sl_setting_describe(s, range, sizeof(range));
        fprintf(f, "| `%s` | %s | %s |\n", s->name, range, s->meaning);
    }
}

void sl_metrics_print_markdown(FILE *f)
{
    fputs(intro, f);
    for (size_t i = 0; sl_metrics[i]; i++)
        print_metric(f, sl_metrics[i]);
}
