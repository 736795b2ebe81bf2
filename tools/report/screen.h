/*
 * screen.h - the pieces of the first screen (print_screen.c, print_head.c, print_ranks.c).
 *
 * Threads: one owner. Memory: 200 bytes for each device of a rank.
 */
#ifndef SL_REPORT_SCREEN_H
#define SL_REPORT_SCREEN_H

#include <stdio.h>

#include "report/finding.h"

/* Counts the ranks, and the devices with GPU work. */
void sl_screen_count(const struct sl_report *report, size_t *ranks, size_t *devices);

/* Returns a reader's name of a part. */
const char *sl_screen_part(enum sl_part part);

/* Returns a reader's name of a loss, such as "CPU late". */
const char *sl_screen_loss(const struct sl_report_finding *f);

static inline double sl_screen_percent(uint64_t part, uint64_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

/* Prints a text in lines of the full width, the first after `indent` spaces. */
void sl_screen_lines(FILE *f, int indent, const char *text);

/* Text that is printed once its number of lines is known. */
struct sl_piece {
    FILE *f;
    char *text;
    size_t size;
};

/* Returns the stream to print the text to, or NULL if there is no memory. */
FILE *sl_piece_begin(struct sl_piece *p);
/* Ends the text. Returns its number of lines. */
size_t sl_piece_end(struct sl_piece *p);
/* Prints the text and frees it. */
void sl_piece_put(FILE *f, struct sl_piece *p);

/* Prints where a step went, for each device. */
void sl_screen_ranks(FILE *f, const struct sl_report *report,
                     const struct sl_report_findings *findings);

#endif
