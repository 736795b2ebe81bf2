/*
 * groups.h - writes the comm-group file of a job: {"5": [0, 1], "9": [2, 3]}.
 *
 * Threads: main only; several processes may add to one file at the same time. Memory: that of the
 * file.
 */
#ifndef SL_GROUPS_H
#define SL_GROUPS_H

#include "args/args.h"
#include "read/row_collectives.h"

/* Adds the groups to PREFIX.comm_groups.json; `et` is PREFIX.RANK.et, with or without a compression
 * suffix. Returns the exit status: nonzero after a line on stderr. */
int sl_groups_add(const struct sl_command *command, const char *et,
                  const struct sl_row_collectives *collectives);

#endif
