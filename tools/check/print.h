/*
 * print.h - what `syncline check` says, for people and for programs.
 *
 * Threads: main only. Memory: none beyond the stack.
 */
#ifndef SL_CHECK_PRINT_H
#define SL_CHECK_PRINT_H

#include <stdio.h>

#include "check/check.h"

void sl_check_print_text(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);

/* One JSON object on one line. */
void sl_check_print_json(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);

#endif
