/*
 * metrics_page.c - prints the table of metrics as docs/metrics.md.
 *
 * Used by the documentation's build target.
 */
#include "metrics_page.h"

#include <string.h>

#include "report/hta/hta_table.h"
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

static void print_metric(FILE *f, const char *heading, const struct sl_metric *metric)
{
    char source[512];

    fprintf(f, "\n%s %s\n\n", heading, metric->name);
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

/* ---- HTA's analyzers ---- */

static const char hta_intro[] =
    "\n## HTA's analyzers\n"
    "\n"
    "Every analyzer of HolisticTraceAnalysis (HTA) 0.5.0, and the tables that answer the same "
    "question.\n"
    "The default tables count every step, in nanoseconds. The tables of `--hta` have HTA's "
    "numbers; "
    "the\n"
    "last column says where HTA fails or cannot be followed. `tests/e2e/test_report_hta.py` "
    "compares each\n"
    "with HTA, column by column.\n"
    "\n"
    "| HTA's method | Default tables | Tables of `--hta` | Compared with HTA "
    "|\n|---|---|---|---|\n";

struct analyzer {
    const char *method;
    const char *ours;     /* instead of tables whose source names the method; NULL: those */
    const char *compared; /* without a table of --hta: why there is none */
};

#define EQUAL "equal"

static const struct analyzer analyzers[] = {
    {"get_temporal_breakdown", NULL, EQUAL},
    {"get_idle_time_breakdown", NULL, EQUAL},
    {"get_gpu_kernel_breakdown", NULL, EQUAL},
    {"get_gpu_kernels_with_user_annotations", NULL,
     "equal; HTA fails if rounding made an operation shorter than nothing"},
    {"get_gpu_user_annotation_breakdown", NULL, EQUAL},
    {"get_comm_comp_overlap", NULL, EQUAL},
    {"get_queue_length_summary", NULL,
     "equal; HTA fails if two calls that launch share a correlation id"},
    {"get_queue_length_summary_from_time_series", "`queue`",
     "the table of `get_queue_length_summary`: HTA's two ways to one table"},
    {"get_queue_length_time_series", NULL,
     "equal; HTA's order at equal times differs between processors"},
    {"get_time_spent_blocked_on_full_queue", NULL,
     "equal; HTA selects wrong rows if a call launched several operations"},
    {"get_memory_bw_summary", NULL, EQUAL},
    {"get_memory_bw_time_series", NULL, EQUAL},
    {"get_cuda_kernel_launch_stats", NULL, EQUAL},
    {"get_aten_op_kernels_and_delay", NULL,
     "equal for one rank; HTA fails if a launch has not exactly one operation"},
    {"get_frequent_cuda_kernel_sequences", NULL,
     "equal; HTA fails, or nests wrongly, if rounding made a row shorter than nothing, or empty "
     "between others"},
    {"get_potential_stragglers", NULL, "equal; HTA fails without kernels named ncclKernel"},
    {"get_profiler_steps", "`steps`", EQUAL},
    {"generate_trace_with_counters", "the option `--augment`", "not a table"},
    {"get_cupti_counter_data_with_operators", "-", "not offered: our traces have no such rows"},
    {"critical_path_analysis", "`syncline critical-path`",
     "with `--hta` equal, if HTA finds all sync edges"},
    {"overlay_critical_path_analysis", "`syncline critical-path --overlay`", "not a table"},
    {"TraceDiff.compare_traces", "-", "not yet"},
    {"TraceDiff.ops_diff", "-", "not yet"},
};

/* Returns whether a text has a word. */
static int has_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += size)
        if (!strchr("abcdefghijklmnopqrstuvwxyz_", at[size]) || at[size] == '\0')
            return 1;
    return 0;
}

/* Prints the names of the tables whose source is the method. */
static void print_tables_of(FILE *f, const struct sl_metric *const *metrics, const char *method)
{
    int count = 0;

    for (; *metrics; metrics++)
        if (has_word((*metrics)->source, method))
            fprintf(f, "%s`%s`", count++ ? ", " : "", (*metrics)->name);
    if (!count)
        fputs("-", f);
}

static void print_analyzers(FILE *f)
{
    fputs(hta_intro, f);
    for (size_t i = 0; i < sizeof(analyzers) / sizeof(analyzers[0]); i++) {
        const struct analyzer *a = &analyzers[i];

        fprintf(f, "| `%s` | ", a->method);
        if (a->ours)
            fputs(a->ours, f);
        else
            print_tables_of(f, sl_metrics, a->method);
        fputs(" | ", f);
        print_tables_of(f, sl_hta_metrics, a->method);
        fprintf(f, " | %s |\n", a->compared);
    }
    fputs("\n## Tables of --hta\n", f);
    for (size_t i = 0; sl_hta_metrics[i]; i++)
        print_metric(f, "###", sl_hta_metrics[i]);
}

void sl_metrics_print_markdown(FILE *f)
{
    fputs(intro, f);
    for (size_t i = 0; sl_metrics[i]; i++)
        print_metric(f, "##", sl_metrics[i]);
    print_analyzers(f);
}
