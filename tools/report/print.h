/*
 * print.h - prints a report: the first screen, one table, or everything as JSON or CSV.
 *
 * Threads, memory: main only.
 */
#ifndef SL_REPORT_PRINT_H
#define SL_REPORT_PRINT_H

#include <stdio.h>

#include "base/intern.h"
#include "report/finding.h"
#include "report/metric.h"

/* Prints the first screen: at most 40 lines of 100 columns. */
void sl_report_print_screen(FILE *f, const struct sl_report *report,
                            const struct sl_report_findings *findings);

/* Prints a table as text, with at most `rows` rows. */
void sl_report_print_table(FILE *f, const struct sl_table *table, size_t rows);

/* The page's JSON has the values of a table by column ("values"), and at most so many rows of each
 * rank. Texts are numbers of "names", real numbers have 9 digits, and a time (begin_...) is the
 * difference to the row above; the first is a text, because JavaScript's numbers are too short. */
struct sl_report_page {
    struct sl_intern *names;
    size_t rows_of_rank;
};

/* Prints the whole report as one JSON object. `tables` ends with a table without a metric. With
 * `page` (not NULL) the object is that of the page, with the sentences that the page shows. */
void sl_report_print_json(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings, const struct sl_table *tables,
                          struct sl_report_page *page);

/* The same, one table at a time. */
void sl_report_json_begin(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings, struct sl_report_page *page);
void sl_report_json_table(FILE *f, const struct sl_table *table, int is_first,
                          struct sl_report_page *page);
void sl_report_json_end(FILE *f, struct sl_report_page *page);

/* Pieces of it: a text with its quotes, or null if there is no memory; and one of "inputs". */
void sl_report_json_text(FILE *f, const char *text);
void sl_report_json_input(FILE *f, const struct sl_recording *r);

/* Writes a page of HTML that loads nothing. Returns 0, -ENOMEM, or -EIO if the system gives no
 * random numbers. The caller checks `f` for errors. */
int sl_report_print_page(FILE *f, const struct sl_report *report,
                         const struct sl_report_findings *findings, const struct sl_table *tables);

/* The first two sentences of the first screen, without line ends. Used by the page too. */
void sl_report_print_head(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings);
void sl_report_print_verdict(FILE *f, const struct sl_report *report,
                             const struct sl_report_findings *findings);

/* Returns the name of the job, or of the first file. */
const char *sl_report_title(const struct sl_report *report);

/* Prints a table as CSV (RFC 4180), with a head line. */
void sl_report_print_csv(FILE *f, const struct sl_table *table);

#endif
