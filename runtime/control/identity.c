/*
 * identity.c - finds out the job, run, rank, host and output folder of this process.
 *
 * Threads: the application thread that called cuInit, once. Memory: the caller's.
 */
#include "control/identity.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own_file.h"
#include "control/config_value.h"
#include "control/run_id.h"

/* The variables of each launcher. The first launcher whose rank is set decides all values. So a
 * torchrun inside a Slurm step does not mix with the numbers of that step. */
static const struct launcher {
    const char *rank, *world_size, *local_size; /* local_size is NULL if the launcher sets no such
                                                 * variable */
} launcher[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"PMIX_RANK", "PMIX_SIZE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PALS_RANKID", "PALS_NRANKS", "PALS_LOCAL_SIZE"},
    /* A Kubernetes job in which each pod is a rank. Kubernetes sets only the index of a pod. The
     * pod template may set the number of pods. */
    {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", NULL},
};

static const char *const job_variable[] = {
    "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID",      "PBS_JOBID",   "LSB_JOBID",   "JOB_ID",
    "RAY_JOB_ID",          "RAY_SUBMISSION_ID", "JOBSET_NAME", "VC_JOB_NAME", "PMIX_NAMESPACE",
};

void sl_identity_sanitise(char *out, size_t size, const char *text)
{
    size_t i;

    for (i = 0; text[i] && i + 1 < size; i++) {
        char c = text[i];
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || (c == '.' && i > 0);

        out[i] = plain ? c : '_';
    }
    out[i] = '\0';
}

/* Parses a count or a rank: 0..INT_MAX in plain digits. Returns 0 or -EINVAL. */
static int read_number(const char *text, int *out)
{
    uint64_t value;
    int err = sl_config_value_digits(text, strlen(text), INT_MAX, &value);

    if (!err)
        *out = (int)value;
    return err;
}

static void read_rank(struct sl_identity *out, char *const *environment, int may_speak)
{
    int has_world_size;

    out->rank = 0;
    out->world_size = 1;
    out->local_ranks = 1;
    out->is_one_machine = 1;
    out->rank_source = NULL;
    for (size_t i = 0; i < sizeof(launcher) / sizeof(*launcher); i++) {
        const struct launcher *l = &launcher[i];
        const char *text = sl_config_lookup(environment, l->rank);

        if (!text || !*text)
            continue;
        if (read_number(text, &out->rank)) {
            if (may_speak)
                sl_log(SL_LOG_WARN,
                       "%s=%.40s is not a valid rank and is ignored: if no other variable gives a "
                       "rank, the traces are those of rank 0; set it to the number of the process "
                       "in the job, or unset it",
                       l->rank, text);
            continue;
        }
        out->rank_source = l->rank;
        text = sl_config_lookup(environment, l->world_size);
        has_world_size =
            text && !read_number(text, &out->world_size) && out->world_size > out->rank;
        if (!has_world_size)
            out->world_size = out->rank + 1; /* the job has at least rank + 1 ranks */
        text = l->local_size ? sl_config_lookup(environment, l->local_size) : NULL;
        if (!text || read_number(text, &out->local_ranks) || out->local_ranks < 1)
            out->local_ranks = 1;
        out->is_one_machine = has_world_size && out->local_ranks >= out->world_size;
        return;
    }
}

int sl_identity_rank(char *const *environment)
{
    struct sl_identity who;

    read_rank(&who, environment, 0);
    return who.rank;
}

/* Returns whether the text names no job. torchrun without a rendezvous id sets "none", and with
 * --standalone a random UUID, which would put each run in a folder of its own. */
static int is_no_job(const char *text)
{
    size_t i;

    for (i = 0; i < 36; i++) {
        int is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return strcmp(text, "none") == 0;
    }
    return text[i] == '\0';
}

static void read_job(struct sl_identity *out, const struct sl_config *config,
                     char *const *environment)
{
    sl_identity_sanitise(out->job, sizeof(out->job), config->job);
    for (size_t i = 0; !*out->job && i < sizeof(job_variable) / sizeof(*job_variable); i++) {
        const char *text = sl_config_lookup(environment, job_variable[i]);

        if (text && !is_no_job(text))
            sl_identity_sanitise(out->job, sizeof(out->job), text);
    }
    if (!*out->job)
        strcpy(out->job, "local");
}

/* The kernel's short name of the process, for example "python3". */
static void read_process_name(char *out, size_t size)
{
    ssize_t got = sl_own_file_read("/proc/self/comm", out, size - 1);

    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (!*out)
        snprintf(out, size, "process");
}

/* Makes the path absolute now, because the host may change its working directory before the first
 * file is written. */
static void name_folder(struct sl_identity *out, const struct sl_config *config)
{
    char host[sizeof(out->host)], name[sizeof(out->folder.name)], path[sizeof(out->folder.output)];
    char current[1024];
    const char *output = config->output;
    int relative = output[0] != '/' && getcwd(current, sizeof(current));

    if (output[0] == '.' && output[1] == '/')
        output += 2;
    sl_identity_sanitise(host, sizeof(host), out->host);
    snprintf(path, sizeof(path), "%s%s%s", relative ? current : "", relative ? "/" : "", output);
    snprintf(name, sizeof(name), "%s-%d-%u", host, out->rank, out->pid);
    sl_folder_init(&out->folder, path, out->job, name, (mode_t)config->mode);
}

static void copy_variable(char *out, size_t size, char *const *environment, const char *name)
{
    const char *text = sl_config_lookup(environment, name);

    snprintf(out, size, "%s", text ? text : "");
}

void sl_identity_read(struct sl_identity *out, const struct sl_config *config,
                      char *const *environment)
{
    memset(out, 0, sizeof(*out));
    out->pid = (uint32_t)getpid();
    if (gethostname(out->host, sizeof(out->host) - 1) || !*out->host)
        strcpy(out->host, "localhost");
    copy_variable(out->gpu_serial, sizeof(out->gpu_serial), environment, "GPU_SERIAL");
    copy_variable(out->vm_id, sizeof(out->vm_id), environment, "VM_ID");
    read_rank(out, environment, 1);
    read_job(out, config, environment);
    sl_run_id_read(out, config, environment);
    read_process_name(out->process_name, sizeof(out->process_name));
    name_folder(out, config);
}
