/*
 * print.h - prints the summary of collectives, as text or JSON.
 *
 * Threads: main only. Memory: none.
 */
#ifndef SL_COLLECTIVES_PRINT_H
#define SL_COLLECTIVES_PRINT_H

#include <stdio.h>

#include "collectives/summary.h"

void sl_collectives_print_text(FILE *f, const struct sl_summary *s);
void sl_collectives_print_json(FILE *f, const struct sl_summary *s);

/* Calls `take` for each rank that has no file although the job has it. */
void sl_collectives_absent(const struct sl_ranks *all, void (*take)(void *user, uint64_t rank),
                           void *user);

/* The name of a kind, as in JSON. */
const char *sl_collectives_problem_name(enum sl_problem_kind kind);

#endif
