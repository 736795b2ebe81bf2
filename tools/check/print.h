/*
 * print.h - prints the result of `syncline check` as text or JSON.
 *
 * Threads: main only. Memory: none beyond the stack.
 */
#ifndef SL_CHECK_PRINT_H
#define SL_CHECK_PRINT_H

#include <stdio.h>

#include "check/check.h"
#include "check/et_check.h"

void sl_check_print_text(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);
void sl_check_print_et_text(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);

/* One JSON object on one line. */
void sl_check_print_json(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);
void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);

#endif
