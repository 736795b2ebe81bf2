/*
 * print_csv.c - prints a table as CSV (RFC 4180), with the values that JSON has.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/print.h"

static void put_text(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    putc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', f);
        putc(*text, f);
    }
    putc('"', f);
}

static void put_cell(FILE *f, enum sl_column_type type, const struct sl_cell *cell)
{
    char digits[40];

    if (!cell->has)
        return;
    if (type == SL_COLUMN_TEXT) {
        put_text(f, cell->text);
    } else if (type == SL_COLUMN_INTEGER) {
        fprintf(f, "%" PRId64, cell->integer);
    } else if (sl_column_is_real(type)) {
        if (!isfinite(cell->real))
            return;
        *sl_json_double(digits, cell->real, 17) = '\0';
        fputs(digits, f);
    } else {
        fprintf(f, "%" PRIu64, cell->number);
    }
}

void sl_report_print_csv(FILE *f, const struct sl_table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        fprintf(f, "%s%s", i ? "," : "", table->metric->columns[i].name);
    fputs("\r\n", f);
    for (size_t row = 0; row < table->rows; row++) {
        for (size_t i = 0; i < table->columns; i++) {
            fputs(i ? "," : "", f);
            put_cell(f, table->metric->columns[i].type, &table->cell[row * table->columns + i]);
        }
        fputs("\r\n", f);
    }
}
