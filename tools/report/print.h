/*
 * print.h - prints a report: the first screen, one table, or everything as JSON or CSV.
 *
 * Threads, memory: main only.
 */
#ifndef SL_REPORT_PRINT_H
#define SL_REPORT_PRINT_H

#include <stdio.h>

#include "report/finding.h"
#include "report/metric.h"

/* Prints the first screen: at most 40 lines of 100 columns. */
void sl_report_print_screen(FILE *f, const struct sl_report *report,
                            const struct sl_report_findings *findings);

/* Prints a table as text, with all its rows. */
void sl_report_print_table(FILE *f, const struct sl_table *table);

/* Prints the whole report as one JSON object. `tables` ends with a table without a metric. */
void sl_report_print_json(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings, const struct sl_table *tables);

/* Prints a table as CSV (RFC 4180), with a head line. */
void sl_report_print_csv(FILE *f, const struct sl_table *table);

#endif
