/*
 * print_json.c - prints a report as JSON, in the schema that docs/report.md describes.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "read/grow.h"
#include "report/page_rows.h"
#include "report/print.h"

#define SCHEMA      1
#define PAGE_DIGITS 9

void sl_report_json_text(FILE *f, const char *text)
{
    size_t length = strlen(text);
    char *out = malloc(length * SL_JSON_ESCAPE_MAX + 1);

    if (!out) {
        fputs("null", f);
        return;
    }
    *sl_json_escape(out, text, length) = '\0';
    fprintf(f, "\"%s\"", out);
    free(out);
}

/* Writes the text, or null if it is empty. */
static void put_optional(FILE *f, const char *before, const char *text)
{
    fputs(before, f);
    if (*text)
        sl_report_json_text(f, text);
    else
        fputs("null", f);
}

static void put_real(FILE *f, double value, int precision)
{
    char digits[40];

    if (!isfinite(value)) {
        fputs("null", f);
        return;
    }
    *sl_json_double(digits, value, precision) = '\0';
    fputs(digits, f);
}

static void put_id(FILE *f, const char *before, int has, int64_t value)
{
    if (has)
        fprintf(f, "%s%" PRId64, before, value);
    else
        fprintf(f, "%snull", before);
}

static void put_lost(FILE *f, const struct sl_recording *r)
{
    const char *separator = "";

    fputs(", \"lost\": {", f);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++) {
        if (!r->lost_edges[i])
            continue;
        fprintf(f, "%s\"edges_%s\": %" PRIu64, separator, sl_edge_loss_name((enum sl_edge_loss)i),
                r->lost_edges[i]);
        separator = ", ";
    }
    for (unsigned i = 0; i < r->header.counters; i++) {
        const struct sl_header_counter *c = &r->header.counter[i];

        if (!c->value || strncmp(c->name, "edges_lost_", 11) == 0 ||
            !(sl_header_is_loss(c->name) || strstr(c->name, "lost")))
            continue;
        fputs(separator, f);
        sl_report_json_text(f, c->name);
        fprintf(f, ": %" PRIu64, c->value);
        separator = ", ";
    }
    fputs("}", f);
}

void sl_report_json_input(FILE *f, const struct sl_recording *r)
{
    fputs("{\"path\": ", f);
    sl_report_json_text(f, r->path);
    put_id(f, ", \"rank\": ", r->header.has_rank, r->header.rank);
    put_id(f, ", \"world_size\": ", r->header.has_world_size, r->header.world_size);
    put_optional(f, ", \"host\": ", r->header.host);
    fputs(", \"devices\": [", f);
    for (unsigned i = 0; i < r->header.devices; i++) {
        fprintf(f, "%s{\"id\": %" PRId64 ", \"name\": ", i ? ", " : "", r->header.device[i].id);
        sl_report_json_text(f, r->header.device[i].name);
        fputs("}", f);
    }
    fputs("]", f);
    put_lost(f, r);
    fputs("}", f);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Prints the numbers of the chosen steps of all ranks, each once, in order. */
static void put_steps(FILE *f, const struct sl_report *report)
{
    const struct sl_recordings *all = &report->recordings;
    size_t count = 0, slots = 0;
    uint64_t *number = NULL;

    for (size_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < all->of[i].steps; k++) {
            uint64_t *at;

            if (!sl_report_counts_step(report, &all->of[i], k + 1))
                continue;
            at = sl_grow((void **)&number, &count, &slots, sizeof(*number));
            if (at)
                *at = all->of[i].step[k].number;
        }
    if (count)
        qsort(number, count, sizeof(*number), ascending);
    fputs(", \"steps\": [", f);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || number[i] != number[i - 1])
            fprintf(f, "%s%" PRIu64, i ? ", " : "", number[i]);
    fputs("]", f);
    free(number);
}

static void put_finding(FILE *f, const struct sl_report *report, const struct sl_report_finding *it)
{
    const char *line = sl_report_name(report, it->line), *colon = strrchr(line, ':');
    const char *end = colon ? strchr(colon, ' ') : NULL;
    char file[4096];

    fprintf(f, "{\"id\": \"%s\", \"part\": \"%s\", \"per_step_ns\": %" PRIu64 ", \"share_ratio\": ",
            it->id, sl_part_name(it->part), it->per_step_ns);
    put_real(f, it->share, 17);
    fprintf(f, ", \"ranks\": %zu", it->ranks);
    snprintf(file, sizeof(file), "%.*s", colon ? (int)(colon - line) : (int)strlen(line), line);
    put_optional(f, ", \"where\": {\"file\": ", file);
    put_id(f, ", \"line\": ", colon && atoll(colon + 1) > 0, colon ? atoll(colon + 1) : 0);
    put_optional(f, ", \"function\": ", end ? end + 1 : "");
    put_optional(f, ", \"op\": ", sl_report_name(report, it->place));
    put_optional(f, ", \"call\": ", sl_report_name(report, it->call));
    put_optional(f, ", \"relation\": ", it->line ? sl_near_name(it->near) : "");
    put_optional(f, "}, \"text\": ", it->text);
    put_optional(f, ", \"advice\": ", it->advice);
    fprintf(f, ", \"sure\": \"%s\"}", sl_sure_name(it->sure));
}

static const char *type_name(enum sl_column_type type)
{
    static const char *const names[] = {"text",   "count", "ns",     "bytes", "ratio",
                                        "number", "ns",    "number", "number"};

    return names[type];
}

/* Tables with a row for each event have millions of these. */
static void put_integer(FILE *f, int64_t value)
{
    char digits[SL_JSON_NUMBER_MAX];

    fwrite(digits, 1, (size_t)(sl_json_i64(digits, value) - digits), f);
}

/* Most numbers of these tables are whole, and a fast way to print them is worth it. */
static int is_small_integer(double value)
{
    return fabs(value) < 1e9 && value == (double)(int32_t)value;
}

static void put_cell(FILE *f, enum sl_column_type type, const struct sl_cell *cell)
{
    if (!cell->has)
        fputs("null", f);
    else if (type == SL_COLUMN_TEXT)
        sl_report_json_text(f, cell->text);
    else if (type == SL_COLUMN_INTEGER)
        put_integer(f, cell->integer);
    else if (type == SL_COLUMN_FLOAT && is_small_integer(cell->real))
        put_integer(f, (int32_t)cell->real);
    else if (sl_column_is_real(type))
        put_real(f, cell->real, 17);
    else
        fprintf(f, "%" PRIu64, cell->number);
}

static void put_columns(FILE *f, const struct sl_table *t, const struct sl_report_page *page)
{
    for (size_t i = 0; i < t->columns; i++) {
        const struct sl_column *column = &t->metric->columns[i];

        fprintf(f, "%s{\"name\": \"%s\", \"unit\": \"%s\", \"type\": \"%s\"", i ? ", " : "",
                column->name, type_name(column->type),
                column->type == SL_COLUMN_TEXT ? "string" : "number");
        if (page)
            put_optional(f, ", \"meaning\": ", column->meaning);
        fputs("}", f);
    }
}

static void put_rows(FILE *f, const struct sl_table *t)
{
    for (size_t row = 0; row < t->rows; row++) {
        fputs(row ? ",\n [" : "\n [", f);
        for (size_t i = 0; i < t->columns; i++) {
            fputs(i ? ", " : "", f);
            put_cell(f, t->metric->columns[i].type, &t->cell[row * t->columns + i]);
        }
        fputs("]", f);
    }
}

/* ---- the page ---- */

/* Prints a value of the page. `last_ns` is the time in the row above. */
static void put_page_cell(FILE *f, const struct sl_column *column, const struct sl_cell *cell,
                          struct sl_report_page *page, uint64_t *last_ns)
{
    if (cell->has && column->type == SL_COLUMN_TEXT) {
        fprintf(f, "%" PRIu32, sl_intern_put(page->names, cell->text, strlen(cell->text)));
    } else if (cell->has && strncmp(column->name, "begin_", 6) == 0) {
        fprintf(f, *last_ns ? "%" PRId64 : "\"%" PRId64 "\"", (int64_t)(cell->number - *last_ns));
        *last_ns = cell->number;
    } else if (cell->has && sl_column_is_real(column->type)) {
        put_real(f, cell->real, PAGE_DIGITS);
    } else {
        put_cell(f, column->type, cell);
    }
}

/* Prints the values column by column, because that compresses best. */
static void put_page_rows(FILE *f, const struct sl_table *t, struct sl_report_page *page)
{
    unsigned char *keep = malloc(t->rows + 1);

    if (keep)
        sl_page_rows_choose(t, page->rows_of_rank, keep);
    for (size_t i = 0; i < t->columns; i++) {
        const char *separator = i ? "],\n[" : "[";
        uint64_t last_ns = 0;

        for (size_t row = 0; keep && row < t->rows; row++) {
            if (!keep[row])
                continue;
            fputs(separator, f);
            separator = ",";
            put_page_cell(f, &t->metric->columns[i], &t->cell[row * t->columns + i], page,
                          &last_ns);
        }
        if (*separator != ',')
            fputs(separator, f);
    }
    fputs("]", f);
    free(keep);
}

static void put_names(FILE *f, const struct sl_intern *names)
{
    fputs(", \"names\": [null", f);
    for (uint32_t id = 1; id <= sl_intern_count(names); id++) {
        fputs(",\n ", f);
        sl_report_json_text(f, sl_intern_get(names, id, NULL));
    }
    fputs("]", f);
}

static void put_table(FILE *f, const struct sl_table *t, struct sl_report_page *page)
{
    fprintf(f, "\"%s\": {", t->metric->name);
    if (page) {
        put_optional(f, "\"title\": ", t->metric->title);
        put_optional(f, ", \"formula\": ", t->metric->formula);
        fprintf(f, ", \"total\": %zu, ", t->rows);
    }
    fputs("\"columns\": [", f);
    put_columns(f, t, page);
    fputs(page ? "], \"values\": [" : "], \"rows\": [", f);
    if (page)
        put_page_rows(f, t, page);
    else
        put_rows(f, t);
    fputs("], \"notes\": [", f);
    for (size_t i = 0; i < sizeof(t->note) / sizeof(t->note[0]) && t->note[i]; i++) {
        fputs(i ? ", " : "", f);
        sl_report_json_text(f, t->note[i]);
    }
    fputs("]}", f);
}

static void put_sentences(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings)
{
    char *text = NULL;
    size_t size;

    for (int i = 0; i < 2; i++) {
        FILE *sentence = open_memstream(&text, &size);

        if (!sentence)
            return;
        if (i == 0)
            sl_report_print_head(sentence, report, findings);
        else
            sl_report_print_verdict(sentence, report, findings);
        if (fclose(sentence) == 0)
            put_optional(f, i ? ", \"verdict\": " : ", \"head\": ", text);
        free(text);
        text = NULL;
    }
}

/* Prints a sentence, unless it is empty. */
static void put_note(FILE *f, const char *text, const char **separator)
{
    if (!*text)
        return;
    fputs(*separator, f);
    sl_report_json_text(f, text);
    *separator = ",\n ";
}

void sl_report_json_begin(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings, struct sl_report_page *page)
{
    const char *separator = "";

    fprintf(f, "{\"schema\": %d, \"syncline\": \"%s\", \"inputs\": [", SCHEMA, SL_VERSION);
    for (size_t i = 0; i < report->recordings.count; i++) {
        fputs(i ? ",\n " : "\n ", f);
        sl_report_json_input(f, &report->recordings.of[i]);
    }
    fputs("]", f);
    if (page)
        put_sentences(f, report, findings);
    put_steps(f, report);
    fputs(", \"findings\": [", f);
    for (size_t i = 0; i < findings->count; i++) {
        fputs(i ? ",\n " : "\n ", f);
        put_finding(f, report, &findings->of[i]);
    }
    fputs("], \"notes\": [", f);
    put_note(f, findings->launches, &separator);
    put_note(f, findings->covered, &separator);
    for (size_t i = 0; i < findings->notes; i++)
        put_note(f, findings->note[i], &separator);
    for (size_t i = 0; i < findings->lacks; i++)
        put_note(f, findings->lack[i], &separator);
    fputs("], \"metrics\": {", f);
}

void sl_report_json_table(FILE *f, const struct sl_table *table, int is_first,
                          struct sl_report_page *page)
{
    fputs(is_first ? "\n" : ",\n", f);
    put_table(f, table, page);
}

void sl_report_json_end(FILE *f, struct sl_report_page *page)
{
    fputs("}", f);
    if (page)
        put_names(f, page->names);
    fputs("}\n", f);
}

void sl_report_print_json(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings, const struct sl_table *tables,
                          struct sl_report_page *page)
{
    sl_report_json_begin(f, report, findings, page);
    for (size_t i = 0; tables[i].metric; i++)
        sl_report_json_table(f, &tables[i], i == 0, page);
    sl_report_json_end(f, page);
}
