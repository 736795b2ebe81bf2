/*
 * product.h - counts the floating-point operations of matrix products and convolutions.
 *
 * A multiplication and an addition are two operations. Additions of a bias are not counted.
 *
 * Pure functions; any thread. Memory: none.
 */
#ifndef SL_REPORT_PRODUCT_H
#define SL_REPORT_PRODUCT_H

#include <stddef.h>
#include <stdint.h>

#include "report/recording.h"

/* Returns 1 if the operations of this operator of PyTorch can be counted. */
int sl_product_is(struct sl_text name);

/* Returns 1 if the count depends on inputs that are no tensors, such as a stride. */
int sl_product_has_values(struct sl_text name);

/* Returns the number of operations of one call, or 0 if the sizes do not tell it. `sizes` is the
 * text of "Input Dims", such as "[[32, 64], [64, 8]]", and `values` that of "Concrete Inputs", such
 * as "[\"\", \"[1, 1]\"]"; "" if the file does not have it. */
uint64_t sl_product_count(const char *name, const char *sizes, const char *values);

/* Returns the innermost product of the thread that was under way at `ns`, or NULL. */
const struct sl_report_product *sl_product_at(const struct sl_recording *r, uint32_t thread,
                                              uint64_t ns);

#endif
