/*
 * print_et.h - what `syncline check` says of a Chakra trace.
 *
 * Threads: main only. Memory: none beyond the stack.
 */
#ifndef SL_CHECK_PRINT_ET_H
#define SL_CHECK_PRINT_ET_H

#include <stdio.h>

#include "check/et_check.h"

void sl_check_print_et_text(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);

/* One JSON object on one line. */
void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et);

#endif
