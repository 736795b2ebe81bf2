/*
 * job_files.h - finds the trace files below folders, and chooses the run whose files a command
 * reads.
 *
 * A folder is searched with all folders below it. If a job has several runs in it, the newest run
 * is chosen, or the run that the option --run names, and one line on stderr names the others. A
 * file that is named itself is always chosen.
 *
 * Threads: main only. Memory: the paths; each file is opened to read its header.
 */
#ifndef SL_JOB_FILES_H
#define SL_JOB_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "args/args.h"

/* `report --augment` writes NAME.trace_with_counters.json.gz. */
#define SL_JOB_FILES_COUNTERS "_with_counters"

/* The entry of --run for a command's table of options. */
#define SL_JOB_FILES_RUN                                                                           \
    {                                                                                              \
        "run", 0, "ID", "the run to read in a folder: an id, or all (default: the newest run)"     \
    }

struct sl_job_files {
    char **path; /* in the order of the operands; within a folder by path */
    size_t count;
};

enum sl_job_files_flag {
    SL_JOB_FILES_CHAKRA = 1, /* also execution traces */
    SL_JOB_FILES_ONE_JOB = 2 /* of a folder with several jobs only the one with the newest run, for
                                commands that put the files of a rank together */
};

/* Expands the operands. `run` is the value of --run, or NULL. `how`: flags of sl_job_files_flag.
 * Returns 0, or the exit status after a line on stderr. */
int sl_job_files_find(struct sl_job_files *out, const struct sl_args *args, const char *run,
                      unsigned how);
/* Returns the rank in the file's header, or -1. */
int64_t sl_job_files_rank(const char *path);

void sl_job_files_free(struct sl_job_files *files);

#endif
