/*
 * identity.h - finds out which process of which job this is: job, run, rank, world size, host, and
 * the folder for traces.
 *
 * The environment is read once, at the injection, because launchers set it before the process
 * starts. The run's id also needs files of /proc, which sl_run_id_find() (run_id.h) reads later.
 * Memory: the caller's; nothing is allocated.
 */
#ifndef SL_IDENTITY_H
#define SL_IDENTITY_H

#include <stdint.h>

#include "base/folder.h"
#include "control/config.h"

/* The environment's facts about the run. */
struct sl_run_facts {
    uint64_t hash;        /* of the variables */
    const char *variable; /* static name of a variable that the launcher sets; NULL: none */
    int has_process;      /* 1: the launcher's process is a fact, too */
};

struct sl_identity {
    uint32_t pid;
    /* without a launcher, rank 0 of 1; if only the world size is unknown, it is set to rank + 1 */
    int rank, world_size;
    int local_ranks; /* number of the job's ranks on this machine; 1 if no launcher sets
                      * it */
    /* 1: all ranks of the job are on this machine. This includes a process without a launcher */
    int is_one_machine;
    const char *rank_source; /* name of the variable that contains the rank; NULL: no variable does,
                              * and rank is 0 */
    /* 1: torch.distributed may still give this process another rank. The environment has no rank,
     * or it has the rank of the parent process, as for the children of mp.spawn. Set by
     * sl_run_id_find() */
    int rank_may_change;
    /* variables by which Google's machines name the GPU and the machine; "" means not set */
    char gpu_serial[65], vm_id[65];
    char host[65]; /* the kernel's host name, for the trace */
    char job[65];  /* name of the job, usable as a file name; "local" without a
                    * scheduler */
    struct sl_run_facts run_facts;
    char run[65];          /* id of this run of the job, usable as a file name; "" before
                            * sl_run_id_find(), unless the user has set it */
    uint64_t run_start_ns; /* time at which the launcher started this rank, in ns since the epoch;
                            * without a launcher, the start of the program; 0: not known, or before
                            * sl_run_id_find() */
    char process_name[64];
    /* <output>/<job>/<host>-<rank>-<pid>; not made yet, so the pipeline makes a copy of it */
    struct sl_folder folder;
};

/* `environment` is `environ`-like text. A rank that is not a number is reported and skipped. */
void sl_identity_read(struct sl_identity *out, const struct sl_config *config,
                      char *const *environment);

/* Reads the rank only and reports nothing. */
int sl_identity_rank(char *const *environment);

/* Copies `text` to a path component, and truncates it to fit. Letters, digits, '.', '_' and '-' are
 * kept; other bytes and a leading '.' become '_'. "" stays "". */
void sl_identity_sanitise(char *out, size_t size, const char *text);

#endif
