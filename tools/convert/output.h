/*
 * output.h - writes an output file that gets its name only when it is complete.
 *
 * Threads: main only. Memory: one block here, and the memory of the sink.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <limits.h>

#include "args/args.h"
#include "write/sink/sink.h"

#define SL_OUTPUT_BLOCK (256u << 10)

struct sl_output {
    struct sl_folder folder; /* the folder of the file */
    struct sl_sink *sink;
    int error;                   /* -errno of the first failed sl_output_write(), or 0 */
    char block[SL_OUTPUT_BLOCK]; /* bytes that are not yet passed to the sink */
    size_t fill;
    char temporary[PATH_MAX]; /* name of the complete file before the final rename */
    char part[PATH_MAX + 8];  /* name of the file while the sink writes it */
};

/* Checks that `output` and `input` are different files, and that `output` may be written or
 * replaced. Returns 0, or an exit status after a line on stderr. */
int sl_output_check(const struct sl_command *command, const char *input, const char *output,
                    int force);

/* Checks that the folder of `output` exists. sl_output_open() makes folders that are missing, which
 * is wrong where the user names a single file. Returns 0, or an exit status after a line on stderr.
 */
int sl_output_check_folder(const struct sl_command *command, const char *output);

/* 0 or -errno. */
int sl_output_open(struct sl_output *o, const char *output, enum sl_compression compression,
                   int level);

/* Writes to the sink, in blocks. */
void sl_output_write(struct sl_output *o, const void *data, size_t size);

/* Completes the file and renames it to `output`. Returns 0, or -errno with no file left behind. */
int sl_output_keep(struct sl_output *o, const char *output, int force);
void sl_output_drop(struct sl_output *o); /* removes the file */

/* Reports on stderr why `output` could not be written. Returns the exit status. */
int sl_output_complain(const struct sl_command *command, const char *output, int rc);

#endif
