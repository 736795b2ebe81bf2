/*
 * collective_args.h - reads the description of a collective from an operator's details
 * (event/op_detail.h), and writes the members that syncline adds to the description.
 *
 * Pure functions; any thread.
 */
#ifndef SL_COLLECTIVE_ARGS_H
#define SL_COLLECTIVE_ARGS_H

#include "event/collective.h"
#include "event/op_detail.h"

/* The texts of the result point into the detail. */
struct sl_collective_args sl_collective_args_of(const struct sl_op_detail *detail);

/* Maximum number of bytes that sl_collective_put_members() writes. */
#define SL_COLLECTIVE_MEMBERS_MOST 128

/* Writes `Message size`, `Call` and `Root Rank`, each with a comma before it, as far as they are
 * known. `function` is the function of torch.distributed that the program called, or NULL if it is
 * not known. Returns the end of the text. Writes nothing for an operator that is no collective. */
char *sl_collective_put_members(char *at, const struct sl_collective_args *told,
                                const char *function);

#endif
