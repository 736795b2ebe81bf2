/*
 * groups.h - the comm-group file of a job: {"5": [0, 1], "9": [2, 3]}.
 *
 * Threads: main only; several processes may add to one file at the same time. Memory: the file's.
 */
#ifndef SL_GROUPS_H
#define SL_GROUPS_H

#include "args/args.h"
#include "read/row_collectives.h"

/* Adds the groups to PREFIX.comm_groups.json, `et` being PREFIX.RANK.et, perhaps compressed. The
 * exit status: not 0 after a line on stderr. */
int sl_groups_add(const struct sl_command *command, const char *et,
                  const struct sl_row_collectives *collectives);

#endif
