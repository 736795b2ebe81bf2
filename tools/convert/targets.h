/*
 * targets.h - chooses the traces that `syncline convert` reads, and names the files that it writes.
 *
 * Threads: main only. Memory: the names of the outputs; the paths of the inputs are borrowed.
 */
#ifndef SL_CONVERT_TARGETS_H
#define SL_CONVERT_TARGETS_H

#include "args/args.h"
#include "read/job_files.h"

enum sl_target_kind {
    SL_TARGET_KINETO,
    SL_TARGET_CHAKRA, /* names have the rank, as simulators want */
    SL_TARGET_HTA     /* one window, and each rank once */
};

struct sl_target_options {
    const struct sl_command *command;
    enum sl_target_kind kind;
    const char *folder; /* of the outputs */
    const char *suffix; /* SL_TARGET_KINETO: added to the name before ".json"; NULL: nothing */
    const char *end;    /* suffix of the compression: "", ".gz" or ".zst" */
    const char *window; /* value of --window, or NULL */
    int force;
};

struct sl_target {
    const char *input;
    char *output;
};

struct sl_targets {
    struct sl_target *of;
    size_t count;
    char about[512]; /* SL_TARGET_HTA: "2 ranks of window 1, job local, run 4f0c..." */
};

/* Leaves only the traces of this window in `files`. Returns 0, or the exit status after a line on
 * stderr that names the windows. */
int sl_targets_take_window(struct sl_job_files *files, const struct sl_command *command,
                           const char *window);

/* Chooses and names, and checks that the outputs may be written. Removes files of an earlier
 * conversion for HTA from the folder if `force` is set. Returns 0, or the exit status after a line
 * on stderr. */
int sl_targets_find(struct sl_targets *out, const struct sl_target_options *opt,
                    const struct sl_job_files *files);
void sl_targets_free(struct sl_targets *targets);

#endif
