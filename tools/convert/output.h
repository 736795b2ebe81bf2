/*
 * output.h - a file that a command makes: it has its name only when it is complete.
 *
 * Threads: main only. Memory: the sink's.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <limits.h>

#include "args/args.h"
#include "write/sink/sink.h"

struct sl_output {
    struct sl_sink *sink;
    char temporary[PATH_MAX]; /* its name until then */
    char part[PATH_MAX];      /* and before that, the sink's own for it */
};

/* May `output` be written, made from `input`? 0, or an exit status after a line on stderr. */
int sl_output_check(const struct sl_command *command, const char *input, const char *output,
                    int force);

/* 0 or -errno. */
int sl_output_open(struct sl_output *o, const char *output, enum sl_compression compression,
                   int level);

/* Completes the file and gives it its name. 0; or -errno, and nothing is left behind. */
int sl_output_keep(struct sl_output *o, const char *output, int force);
void sl_output_drop(struct sl_output *o); /* leaves nothing behind */

/* Says why `output` could not be written. Returns the exit status. */
int sl_output_complain(const struct sl_command *command, const char *output, int rc);

#endif
