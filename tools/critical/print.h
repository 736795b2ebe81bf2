/*
 * print.h - prints a critical path, and writes it into a copy of its trace.
 *
 * Threads: main only. Memory: see critical.h and runs.h.
 */
#ifndef SL_CRITICAL_PRINT_H
#define SL_CRITICAL_PRINT_H

#include <stdio.h>

#include "critical/runs.h"

struct sl_command;

/* A path, as one command found it. */
struct sl_critical_view {
    const struct sl_critical *path;
    const struct sl_critical *scaled; /* the path with --scale; NULL without */
    const struct sl_critical_options *options;
    const struct sl_critical_runs *runs; /* of `path` */
};

/* Returns a reader's name of a kind, such as "launch delay". */
const char *sl_critical_kind_title(enum sl_critical_kind kind);

void sl_critical_print_text(FILE *f, const struct sl_critical_view *view);

/* Prints one object, in the schema of docs/critical-path.schema.json. */
void sl_critical_print_json(FILE *f, const struct sl_critical_view *view);

/* The sentences about what limits the result, one a line. */
void sl_critical_print_notes(FILE *f, const struct sl_critical_view *view);

/* Writes the events of the overlay, each after a comma: a process "critical path" with one row.
 * `user` is the view. Returns 0 or -ENOMEM. */
int sl_critical_overlay(const void *user, void (*write)(void *to, const char *text, size_t size),
                        void *to);

#endif
