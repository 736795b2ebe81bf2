/*
 * augment.h - writes traces back with more events: counters of the report, for `syncline report
 * --augment`, or a critical path.
 *
 * Threads: main only. Memory: see report/counters.h and convert/output.h.
 */
#ifndef SL_AUGMENT_H
#define SL_AUGMENT_H

#include "args/args.h"
#include "read/job_files.h"
#include "report/report.h"

/* Checks before anything is read that the inputs can be read twice, and that `out` is none of them.
 * `option` is the name of the option, without dashes. Returns 0, or an exit status after a line on
 * stderr. */
int sl_augment_check(const struct sl_command *command, const struct sl_job_files *files,
                     const char *option, const char *out);

/* Writes further events, each after a comma. Returns 0 or -errno. */
typedef int (*sl_augment_fn)(const void *user,
                             void (*write)(void *to, const char *text, size_t size), void *to);

/* Writes one trace to the file `output`, which is replaced when it is complete. The name chooses
 * the compression (.gz, .zst). Returns an exit status after a line on stderr. */
int sl_augment_file(const struct sl_command *command, const char *input, const char *output,
                    sl_augment_fn put, const void *user);

/* Writes the traces of a report to `out`, a file, or a folder, in which each gets the name of its
 * input with the suffix _with_counters, compressed by gzip. Returns an exit status; what is wrong
 * is said on stderr. */
int sl_augment(const struct sl_command *command, const struct sl_report *report, const char *out);

#endif
