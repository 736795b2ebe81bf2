/*
 * hta.h - chooses the traces of a job for HTA, which reads every file of a folder and wants each
 * rank once.
 *
 * Threads: main only. Memory: none.
 */
#ifndef SL_CONVERT_HTA_H
#define SL_CONVERT_HTA_H

#include <stdint.h>
#include <sys/types.h>

#include "convert/targets.h"

#define SL_TARGET_NO_RANK (-1)

/* The facts about a trace that targets.c knows. */
struct sl_target_trace {
    const char *path;
    char window[256]; /* name of the file without suffixes */
    int is_part;      /* 1: the job still runs or was killed */
    int64_t rank;     /* SL_TARGET_NO_RANK: not known */
    off_t size;
    char job[128], run[65];
    int64_t run_start_ns; /* 0: not known */
};

/* Leaves only the chosen traces, and describes them in out->about. Returns 0, or the exit status
 * after a line on stderr. */
int sl_hta_choose(struct sl_targets *out, const struct sl_target_options *opt,
                  struct sl_target_trace *trace, size_t *count);

/* Writes the name of an output. Returns 0 or -ENAMETOOLONG. */
int sl_hta_name(char *name, size_t size, const char *folder, int64_t rank);

/* Makes sure that the folder has no other .json and .gz files. Removes those of an earlier
 * conversion if opt->force is set. Returns 0, or the exit status after a line on stderr. */
int sl_hta_clear(const struct sl_targets *targets, const struct sl_target_options *opt);

/* targets.c: the last part of a path. Removes the suffix if `name` has it, and returns 1 if so. */
const char *sl_target_name(const char *path);
int sl_target_strip(char *name, const char *end);

#endif
