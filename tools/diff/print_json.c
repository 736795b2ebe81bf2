/*
 * print_json.c - prints a comparison as JSON, in the schema of docs/diff.schema.json.
 *
 * Threads, memory: see diff.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "report/print.h"

#define SCHEMA 1

static void put_inputs(FILE *f, const struct sl_report *report)
{
    fputs("[", f);
    for (size_t i = 0; i < report->recordings.count; i++) {
        fputs(i ? ",\n " : "\n ", f);
        sl_report_json_input(f, &report->recordings.of[i]);
    }
    fputs("]", f);
}

/* Prints what `print` prints as a list of its lines. */
static void put_lines(FILE *f, const struct sl_diff *d,
                      void (*print)(FILE *f, const struct sl_diff *d), int is_list)
{
    char *text = NULL, *next;
    size_t size;
    FILE *lines = open_memstream(&text, &size);

    if (lines)
        print(lines, d);
    if (!lines || fclose(lines) != 0 || !text) {
        fputs(is_list ? "[]" : "null", f);
        free(text);
        return;
    }
    if (!is_list)
        sl_report_json_text(f, text);
    else
        fputs("[", f);
    for (char *line = text; is_list && (next = strchr(line, '\n')) != NULL; line = next + 1) {
        *next = '\0';
        fputs(line == text ? "" : ", ", f);
        sl_report_json_text(f, line);
    }
    if (is_list)
        fputs("]", f);
    free(text);
}

void sl_diff_print_json(FILE *f, const struct sl_diff *d, double limit_ns, int is_above,
                        const struct sl_table *tables)
{
    const int comparable = d->has_gpu[0] && d->has_gpu[1];

    fprintf(f, "{\"schema\": %d, \"syncline\": \"%s\", \"a\": ", SCHEMA, SL_VERSION);
    put_inputs(f, &d->side[0]);
    fputs(", \"b\": ", f);
    put_inputs(f, &d->side[1]);
    fputs(", \"sentence\": ", f);
    put_lines(f, d, sl_diff_print_sentence, 0);
    fprintf(f, ", \"comparable\": %s, \"verdict\": \"%s\"", comparable ? "true" : "false",
            comparable ? sl_diff_verdict_name(sl_diff_verdict(&d->mean.step)) : "none");
    if (limit_ns < 0)
        fputs(", \"fail_above_ns\": null", f);
    else
        fprintf(f, ", \"fail_above_ns\": %.0f", limit_ns);
    fprintf(f, ", \"is_above\": %s", is_above ? "true" : "false");
    if (d->ranks > 1 && d->rank[d->worst].rank >= 0)
        fprintf(f, ", \"most_changed_rank\": %" PRId64, d->rank[d->worst].rank);
    else
        fputs(", \"most_changed_rank\": null", f);
    fputs(", \"notes\": ", f);
    put_lines(f, d, sl_diff_print_notes, 1);
    fputs(", \"tables\": {", f);
    for (size_t i = 0; tables[i].metric; i++)
        sl_report_json_table(f, &tables[i], i == 0, NULL);
    sl_report_json_end(f, NULL);
}
