/*
 * page_rows.h - chooses the rows of a table that fit into the page.
 *
 * Pure function; any thread.
 */
#ifndef SL_REPORT_PAGE_ROWS_H
#define SL_REPORT_PAGE_ROWS_H

#include "report/metric.h"

/* Sets keep[row] to 1 for at most `most` rows (2 or more) of each rank, else to 0.
 *  - A series over time (NAME_series): the lowest and the highest of equal groups of rows, for each
 *    series.
 *  - A table with a row for each step or moment: every n-th row, but no fewer than 200.
 *  - Other tables, which begin with the largest rows: the first. */
void sl_page_rows_choose(const struct sl_table *t, size_t most, unsigned char *keep);

#endif
