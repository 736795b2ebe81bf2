/*
 * print.h - prints the result of `syncline edges` as text or JSON.
 *
 * Names are printed as the raw text of their JSON strings. That text is valid in JSON and has no
 * ASCII control characters that could affect a terminal. Text fits into 100 columns, or into the
 * width of the terminal.
 *
 * Threads: main only. Memory: none beyond the stack.
 */
#ifndef SL_EDGES_PRINT_H
#define SL_EDGES_PRINT_H

#include <stdio.h>

#include "edges/edge_summary.h"
#include "read/trace_events.h"

/* The sums over the waits of a file, or of several files. */
struct sl_edges_result {
    struct sl_intern *names;           /* of the ids in both summaries */
    struct sl_edge_summary *cpu, *gpu; /* waits of calls, and of GPU operations */
    uint64_t steps;
    uint64_t edges, shown;
    uint64_t lost[SL_EDGE_LOST_COUNT]; /* edges left out, indexed by enum sl_edge_loss */
};

/* A file of several, or all files of a rank. */
struct sl_edges_part {
    const char *path; /* NULL: not printed */
    int has_rank;
    int64_t rank;
    uint64_t steps;
    struct sl_edge_waits cpu, gpu;
    uint64_t collectives, collectives_ns; /* kernels of NCCL, and the time that they ran */
};

/* Prints one JSON object on one line. `path`: the trace, as the first member; NULL: no such member.
 */
void sl_edges_print_json(FILE *f, const char *path, const struct sl_trace_events *t,
                         const struct sl_edge *edge, const struct sl_edge_where *where);

/* Prints a summary as one JSON object on one line. `part`: the file; without a path: the slowest
 * rank of the files that were summed up; NULL: the only file. */
void sl_edges_print_summary_json(FILE *f, const struct sl_edges_part *part,
                                 const struct sl_edges_result *r);

void sl_edges_print_title(FILE *f);
void sl_edges_print_text(FILE *f, const struct sl_trace_events *t, const struct sl_edge *edge,
                         const struct sl_edge_where *where);

/* Names the file of an edge, after its text. */
void sl_edges_print_file(FILE *f, const char *path);

/* `rows`: rows of each table; 0: a number that suits the table. `files`: the parts that the numbers
 * of the longest waits' files mean; NULL: there is one file. */
void sl_edges_print_summary_text(FILE *f, const struct sl_edges_result *r, size_t rows,
                                 const struct sl_edges_part *files);

/* Prints the table of the lines of code. Prints nothing and returns 0 if no wait has a line. */
int sl_edges_print_lines(FILE *f, const struct sl_edges_result *r, size_t rows, const char *title);

/* Prints a table with a row for each file, and their sum. */
void sl_edges_print_parts(FILE *f, const struct sl_edges_part *parts, size_t count);

#endif
