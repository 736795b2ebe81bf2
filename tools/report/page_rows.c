/*
 * page_rows.c - chooses the rows of a table that fit into the page.
 *
 * Threads, memory: see page_rows.h.
 */
#include "report/page_rows.h"

#include <string.h>

#define ORDERED_LEAST 200 /* the bins of `busy` leave gaps if some are missing */

static int is_series(const struct sl_table *t)
{
    const char *name = t->metric->name, *end = "_series";

    return strlen(name) > strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Returns the index of a column, or the number of columns. */
static size_t find(const struct sl_table *t, const char *name)
{
    size_t i = 0;

    while (i < t->columns && strcmp(t->metric->columns[i].name, name) != 0)
        i++;
    return i;
}

static int is_equal(enum sl_column_type type, const struct sl_cell *a, const struct sl_cell *b)
{
    if (a->has != b->has || !a->has)
        return a->has == b->has;
    if (type == SL_COLUMN_TEXT)
        return strcmp(a->text, b->text) == 0;
    return sl_column_is_real(type) ? a->real == b->real : a->number == b->number;
}

/* Returns 1 if the columns from `first` to before `end` of two rows are equal. */
static int is_same_group(const struct sl_table *t, size_t row, size_t other, size_t first,
                         size_t end)
{
    for (size_t i = first; i < end; i++)
        if (!is_equal(t->metric->columns[i].type, &t->cell[row * t->columns + i],
                      &t->cell[other * t->columns + i]))
            return 0;
    return 1;
}

static double value_of(const struct sl_table *t, size_t row)
{
    const struct sl_cell *cell = &t->cell[row * t->columns + t->columns - 1];

    return sl_column_is_real(t->metric->columns[t->columns - 1].type) ? cell->real
                                                                      : (double)cell->number;
}

static void keep_extremes(const struct sl_table *t, size_t row, size_t end, unsigned char *keep)
{
    size_t low = row, high = row;

    for (; row < end; row++) {
        if (value_of(t, row) < value_of(t, low))
            low = row;
        if (value_of(t, row) > value_of(t, high))
            high = row;
    }
    keep[low] = keep[high] = 1;
}

static void choose(const struct sl_table *t, size_t row, size_t rows, size_t most,
                   unsigned char *keep)
{
    int is_ordered = find(t, "begin_ns") < t->columns || find(t, "step") < t->columns;
    size_t groups = most / 2;

    if (is_ordered && !is_series(t) && most < ORDERED_LEAST)
        most = ORDERED_LEAST;
    if (rows <= most) {
        memset(keep + row, 1, rows);
    } else if (is_series(t)) {
        for (size_t i = 0; i < groups; i++)
            keep_extremes(t, row + i * rows / groups, row + (i + 1) * rows / groups, keep);
    } else {
        for (size_t i = 0; i < most; i++)
            keep[row + (is_ordered ? i * rows / most : i)] = 1;
    }
}

void sl_page_rows_choose(const struct sl_table *t, size_t most, unsigned char *keep)
{
    size_t rank = find(t, "rank"), first = is_series(t) ? 0 : rank;
    size_t end = is_series(t) ? find(t, "begin_ns") : rank < t->columns ? rank + 1 : rank, next;

    memset(keep, 0, t->rows);
    for (size_t row = 0; row < t->rows; row = next) {
        next = row + 1;
        while (next < t->rows && is_same_group(t, row, next, first, end))
            next++;
        choose(t, row, next - row, most, keep);
    }
}
