/*
 * run_id.c - makes the run's id, a hash of the facts that all ranks of the run share.
 *
 * The facts are variables, which ranks on all machines have. If all ranks are on one machine, or if
 * there is no such variable, the launcher's process is a fact too. Runs with equal variables have
 * different launcher processes.
 *
 * Threads, memory: see run_id.h.
 */
#include "control/run_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own_file.h"
#include "control/launcher.h"

#define IDS 3

/* The variables with which a launcher names a run, by the variable that contains the rank. */
static const struct launcher {
    const char *rank;
    int is_unique; /* 1: the launcher never repeats the id, so the job's id adds nothing. The job's
                    * id may be missing on other machines than the first */
    const char *id[IDS];
} launcher[] = {
    {"RANK", 0, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}},
    {"SLURM_PROCID", 0, {"SLURM_STEP_ID"}},
    {"OMPI_COMM_WORLD_RANK", 1, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"PMI_RANK", 1, {"PMIX_NAMESPACE", "I_MPI_HYDRA_UUID"}},
    {"PMIX_RANK", 1, {"PMIX_NAMESPACE"}},
    {"MV2_COMM_WORLD_RANK", 1, {"MPIRUN_ID"}},
    {"PALS_RANKID", 1, {"PALS_APID"}},
};

/* The variables with which a scheduler names a job. A requeued Slurm job keeps its id. */
static const char *const scheduler[] = {
    "SLURM_JOB_ID", "SLURM_RESTART_COUNT", "PBS_JOBID",   "LSB_JOBID",   "JOB_ID",
    "RAY_JOB_ID",   "RAY_SUBMISSION_ID",   "JOBSET_NAME", "VC_JOB_NAME",
};

struct facts {
    char *const *environment;
    uint64_t hash;
    unsigned count;
};

static void add_text(struct facts *f, const char *text)
{
    do {
        f->hash = (f->hash ^ (unsigned char)*text) * 0x100000001b3u; /* FNV-1a */
    } while (*text++);
}

/* torchrun without a rendezvous id sets "none". */
static const char *lookup(const struct facts *f, const char *variable)
{
    const char *text = sl_config_lookup(f->environment, variable);

    return text && *text && strcmp(text, "none") != 0 ? text : NULL;
}

/* Returns 1 if the variable is set. */
static int add_variable(struct facts *f, const char *variable)
{
    const char *text = lookup(f, variable);

    if (!text)
        return 0;
    add_text(f, variable);
    add_text(f, text);
    f->count++;
    return 1;
}

/* If the ranks meet at a loopback address, they are on one machine. */
static int is_loopback(const char *address)
{
    return address && (strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 ||
                       strncmp(address, "127.", 4) == 0);
}

static void add_launcher_ids(struct facts *f, const char *rank)
{
    int is_unique = 0;

    for (size_t i = 0; rank && i < sizeof(launcher) / sizeof(*launcher); i++) {
        if (strcmp(launcher[i].rank, rank) != 0)
            continue;
        for (int k = 0; k < IDS && launcher[i].id[k]; k++)
            is_unique |= add_variable(f, launcher[i].id[k]) && launcher[i].is_unique;
    }
    if (is_unique)
        return;
    for (size_t i = 0; i < sizeof(scheduler) / sizeof(*scheduler); i++)
        add_variable(f, scheduler[i]);
}

/* For torchrun inside a step of Slurm. A step on one machine is only a part of a run on several
 * machines, because some jobs start one step for each machine. So only a larger step is a fact. */
static void add_step(struct facts *f)
{
    const char *machines = lookup(f, "SLURM_STEP_NUM_NODES");

    if (machines && atoi(machines) > 1)
        add_variable(f, "SLURM_STEP_ID");
}

static void add_process(struct facts *f, const struct sl_launcher *process)
{
    char fact[64], boot[64];
    ssize_t got = sl_own_file_read("/proc/sys/kernel/random/boot_id", boot, sizeof(boot) - 1);

    boot[got > 0 ? got : 0] = '\0';
    add_text(f, boot);
    snprintf(fact, sizeof(fact), "%u %" PRIu64, process->pid, process->start_ticks);
    add_text(f, fact);
}

void sl_run_id_read(struct sl_identity *out, const struct sl_config *config,
                    char *const *environment)
{
    struct facts f = {.environment = environment, .hash = 0xcbf29ce484222325u};
    const char *rank = out->rank_source;
    int is_one_machine;

    sl_identity_sanitise(out->run, sizeof(out->run), config->run);
    /* A batch script of Slurm has a rank too, but its commands are not the tasks of a step. */
    if (rank && strcmp(rank, "SLURM_PROCID") == 0 && !lookup(&f, "SLURM_STEP_ID"))
        rank = NULL;
    is_one_machine = !rank || out->is_one_machine ||
                     (strcmp(rank, "RANK") == 0 && is_loopback(lookup(&f, "MASTER_ADDR")));
    add_launcher_ids(&f, rank);
    if (rank && strcmp(rank, "RANK") == 0)
        add_step(&f);
    /* torchrun counts restarts for each machine, so ranks on two machines may have other counts. */
    if (is_one_machine)
        add_variable(&f, "TORCHELASTIC_RESTART_COUNT");
    /* PyTorch Lightning starts the other ranks of a machine with LOCAL_RANK alone. */
    if (!rank && lookup(&f, "LOCAL_RANK"))
        rank = "LOCAL_RANK";
    out->run_facts = (struct sl_run_facts){f.hash, rank, is_one_machine || f.count == 0};
}

void sl_run_id_find(struct sl_identity *who)
{
    struct facts f = {.hash = who->run_facts.hash};
    struct sl_launcher process;

    sl_launcher_find(&process, "/proc", who->pid, who->run_facts.variable);
    who->rank_may_change = !who->rank_source || process.is_copied;
    who->run_start_ns = sl_launcher_start_ns(process.rank_start_ticks);
    if (*who->run)
        return;
    if (who->run_facts.has_process)
        add_process(&f, &process);
    snprintf(who->run, sizeof(who->run), "%012" PRIx64, f.hash >> 16);
}
