/*
 * text.h - pieces of text about a comparison.
 *
 * Threads, memory: see diff.h.
 */
#ifndef SL_DIFF_TEXT_H
#define SL_DIFF_TEXT_H

#include "diff/diff.h"

#define SL_DIFF_WHERE 192

/* Format into a buffer of SL_FORMAT_SIZE bytes, and return it: "2.1 ms", "+2.1 ms", "+17.4 %". */
char *sl_diff_time(char *to, double ns);
char *sl_diff_signed(char *to, double ns);
char *sl_diff_percent(char *to, const struct sl_diff_change *c);

/* Returns 1 if a side has steps. */
int sl_diff_has_steps(const struct sl_diff *d);

/* Returns 1 if the row is a change: not the same, and not noise. */
int sl_diff_is_told(const struct sl_diff_row *row);

/* Formats place and line, such as "in aten::mm, train.py:31 step"; "" if both are unknown. */
void sl_diff_where(char to[SL_DIFF_WHERE], const struct sl_diff *d, const struct sl_diff_row *row);

#endif
