/*
 * print_table.c - prints a table as text, in columns as wide as their values.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print/format.h"
#include "print/short_name.h"
#include "report/print.h"

#define TEXT_WIDTH  44
#define COLUMNS_MAX 32

/* Formats a value as a reader wants it. `to` has TEXT_WIDTH + 1 bytes. */
static const char *format(char *to, enum sl_column_type type, const struct sl_cell *cell)
{
    if (!cell->has)
        return "-";
    switch (type) {
    case SL_COLUMN_TEXT:
        return sl_short_name(to, TEXT_WIDTH, cell->text, strlen(cell->text));
    case SL_COLUMN_NS:
        return sl_format_span(to, cell->number);
    case SL_COLUMN_BYTES:
        return sl_format_bytes(to, cell->number);
    case SL_COLUMN_RATIO:
        snprintf(to, TEXT_WIDTH, "%.1f %%", 100 * cell->real);
        return to;
    case SL_COLUMN_REAL_NS:
        *to = '-'; /* a slope may be below 0 */
        sl_format_span(to + (cell->real <= -0.5), (uint64_t)(fabs(cell->real) + 0.5));
        return to;
    case SL_COLUMN_REAL:
        snprintf(to, TEXT_WIDTH, "%.*f", fabs(cell->real) < 10 ? 3 : 1, cell->real);
        return to;
    default:
        return sl_format_count(to, cell->number);
    }
}

static void measure(const struct sl_table *t, int *width)
{
    char room[TEXT_WIDTH + SL_FORMAT_SIZE];

    for (size_t i = 0; i < t->columns; i++)
        width[i] = (int)strlen(t->metric->columns[i].name);
    for (size_t row = 0; row < t->rows; row++)
        for (size_t i = 0; i < t->columns; i++) {
            int size = (int)strlen(
                format(room, t->metric->columns[i].type, &t->cell[row * t->columns + i]));

            width[i] = size > width[i] ? size : width[i];
        }
}

static void put(FILE *f, int width, int is_left, int is_first, const char *text)
{
    fprintf(f, is_left ? "%s%-*s" : "%s%*s", is_first ? "" : "  ", width, text);
}

void sl_report_print_table(FILE *f, const struct sl_table *t)
{
    char room[TEXT_WIDTH + SL_FORMAT_SIZE];
    int width[COLUMNS_MAX];

    measure(t, width);
    fprintf(f, "%s: %s\n", t->metric->name, t->metric->title);
    for (size_t i = 0; i < t->columns; i++)
        put(f, width[i], t->metric->columns[i].type == SL_COLUMN_TEXT, i == 0,
            t->metric->columns[i].name);
    fputs("\n", f);
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; i < t->columns; i++) {
            enum sl_column_type type = t->metric->columns[i].type;

            put(f, width[i], type == SL_COLUMN_TEXT, i == 0,
                format(room, type, &t->cell[row * t->columns + i]));
        }
        fputs("\n", f);
    }
    if (t->rows == 0)
        fputs("(none)\n", f);
    for (size_t i = 0; i < sizeof(t->note) / sizeof(t->note[0]) && t->note[i]; i++)
        fprintf(f, "%s\n", t->note[i]);
}
