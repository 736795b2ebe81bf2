/*
 * metrics_page.h - the table of the report's metrics as a page of the documentation.
 *
 * Any thread. Memory: none.
 */
#ifndef METRICS_PAGE_H
#define METRICS_PAGE_H

#include <stdio.h>

/* Prints docs/metrics.md. */
void sl_metrics_print_markdown(FILE *f);

#endif
