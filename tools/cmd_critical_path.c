/*
 * cmd_critical_path.c - `syncline critical-path`: which work had to become shorter for a step to
 * become shorter?
 *
 * Threads: main; helper threads read the file. Memory: report/recording.h and critical/critical.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "augment.h"
#include "command.h"
#include "control/config_value.h"
#include "convert/output.h"
#include "critical/print.h"
#include "read/job_files.h"

enum {
    OPT_STEP,
    OPT_RANGE,
    OPT_ALL,
    OPT_SCALE,
    OPT_OVERLAY,
    OPT_JSON,
    OPT_HTA,
    OPT_RANK,
    OPT_MEMORY,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_STEP] = {"step", 0, "N", "the path of this step (default: the one of median length)"},
    [OPT_RANGE] = {"range", 0, "NAME",
                   "of a range or operator of this name; * stands for any text"},
    [OPT_ALL] = {"all", 0, NULL, "of the whole recording"},
    [OPT_SCALE] = {"scale", 0, "NAME=FACTOR",
                   "with FACTOR times as long kernels or operators; may be repeated"},
    [OPT_OVERLAY] = {"overlay", 0, "OUT", "write the trace with the path as a row of its own"},
    [OPT_JSON] = {"json", 0, NULL, "print everything as one JSON object, for programs"},
    [OPT_HTA] = {"hta", 0, NULL, "the edges and weights of HolisticTraceAnalysis 0.5.0 instead"},
    [OPT_RANK] = {"rank", 0, "R", "of a folder, the trace of this rank (default: the lowest)"},
    [OPT_MEMORY] = {"memory", 0, "SIZE",
                    "memory for the events (default 2GiB); the rest goes to files in TMPDIR"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct sl_command *command;
    const char *range, *overlay;
    int json, has_step, is_all, has_rank;
    uint64_t step, rank, memory_bytes;
    struct sl_critical_scale scale[SL_ARGS_GIVEN];
    struct sl_critical_options options;
};

/* ---- options ---- */

static int take_scales(struct request *r, const struct sl_args *args)
{
    r->options.scale = r->scale;
    for (int i = 0; i < args->givens; i++) {
        if (args->given[i].option != OPT_SCALE)
            continue;
        if (sl_critical_scale_read(&r->scale[r->options.scales++], args->given[i].value) != 0)
            return sl_args_complain(r->command,
                                    "--scale %s is not valid: give NAME=FACTOR, such as "
                                    "'*gemm*=0.5', with a factor from 0 to 1000000",
                                    args->given[i].value);
    }
    if (r->options.scales && r->options.hta)
        return sl_args_complain(r->command, "--scale needs the times between operators, which "
                                            "--hta leaves out: leave out --hta");
    return 0;
}

static int take_options(struct request *r, const struct sl_args *args)
{
    const char *const *value = args->value;

    r->json = value[OPT_JSON] != NULL;
    r->has_step = value[OPT_STEP] != NULL;
    r->range = value[OPT_RANGE];
    r->is_all = value[OPT_ALL] != NULL;
    r->has_rank = value[OPT_RANK] != NULL;
    r->overlay = value[OPT_OVERLAY];
    r->options.hta = value[OPT_HTA] != NULL;
    if (r->has_step + (r->range != NULL) + r->is_all > 1)
        return sl_args_complain(r->command, "give one of --step, --range and --all");
    if (r->has_step && sl_args_number(value[OPT_STEP], UINT64_MAX, &r->step) != 0)
        return sl_args_complain(r->command, "--step %s is not valid: give a number",
                                value[OPT_STEP]);
    if (r->has_rank && sl_args_number(value[OPT_RANK], INT64_MAX, &r->rank) != 0)
        return sl_args_complain(r->command, "--rank %s is not valid: give a number",
                                value[OPT_RANK]);
    r->memory_bytes = SL_RECORDINGS_MEMORY;
    if (value[OPT_MEMORY] &&
        sl_config_value_size(value[OPT_MEMORY], strlen(value[OPT_MEMORY]), &r->memory_bytes) != 0)
        return sl_args_complain(r->command, "--memory %s is not valid: give a size, such as 500M",
                                value[OPT_MEMORY]);
    return take_scales(r, args);
}

/* ---- the trace ---- */

/* Chooses the file of a rank. Of several files of a rank, the last is the newest window. Returns
 * NULL after a line on stderr. */
static const char *choose_file(const struct request *r, const struct sl_job_files *files)
{
    const char *found = NULL;
    int64_t lowest = 0;

    for (size_t i = 0; i < files->count; i++) {
        int64_t rank = files->count > 1 || r->has_rank ? sl_job_files_rank(files->path[i]) : 0;

        if (r->has_rank && rank != (int64_t)r->rank)
            continue;
        if (found && rank > lowest)
            continue;
        found = files->path[i];
        lowest = rank;
    }
    if (!found && r->has_rank)
        sl_args_complain(r->command, "no trace is of rank %" PRIu64, r->rank);
    else if (!found)
        sl_args_complain(r->command, "no trace was found");
    else if (files->count > 1 && !r->has_rank)
        sl_args_complain(r->command, "taking %s of %zu traces: name another, or give --rank", found,
                         files->count);
    return found;
}

static int cannot_choose(const struct request *r, const struct sl_recording *recording)
{
    if (r->range)
        return sl_args_complain(r->command, "%s has no range or operator '%s'%s", recording->path,
                                r->range, strchr(r->range, '*') ? "" : ": * stands for any text");
    if (r->has_step && recording->steps == 0)
        return sl_args_complain(r->command, "%s has no steps (ProfilerStep)", recording->path);
    if (r->has_step)
        return sl_args_complain(r->command,
                                "%s has no step %" PRIu64 ": it has %" PRIu64 " to %" PRIu64,
                                recording->path, r->step, recording->step[0].number,
                                recording->step[recording->steps - 1].number);
    return sl_args_complain(r->command, "%s has no call, operator or GPU operation",
                            recording->path);
}

static int cannot_make(const struct request *r, const struct sl_critical *c, int rc)
{
    if (rc == -EFBIG)
        return sl_args_complain(
            r->command, "this time has %zu events, and a path may have %u: choose a shorter one",
            c->ops + c->cpus, SL_CRITICAL_EVENTS);
    return sl_args_complain(r->command, "not enough memory for the critical path");
}

/* ---- output ---- */

static int print(const struct request *r, const struct sl_critical_view *view)
{
    int status = 0;

    if (r->overlay)
        status = sl_augment_file(r->command, view->path->recording->path, r->overlay,
                                 sl_critical_overlay, view);
    if (status == SL_EXIT_USAGE)
        return status;
    if (r->json)
        sl_critical_print_json(stdout, view);
    else
        sl_critical_print_text(stdout, view);
    if (view->path->ops == 0)
        return sl_args_problem(r->command, "no GPU work was launched in this time");
    return status;
}

static int find_path(const struct request *r, const struct sl_recordings *all)
{
    const struct sl_critical_options plain = {.hta = r->options.hta};
    const struct sl_recording *recording = &all->of[0];
    struct sl_critical path = {0}, scaled = {0};
    struct sl_critical_runs runs = {0};
    struct sl_critical_window window;
    int status, rc = sl_critical_choose(&window, all, recording, r->has_step ? &r->step : NULL,
                                        r->range, r->is_all);

    if (rc == -ENOENT)
        return cannot_choose(r, recording);
    if (rc == 0)
        rc = sl_critical_make(&path, all, recording, &window, &plain);
    if (rc == 0 && r->options.scales)
        rc = sl_critical_make(&scaled, all, recording, &window, &r->options);
    if (rc == 0)
        rc = sl_critical_runs_make(&runs, &path);
    if (rc)
        status = cannot_make(r, &path, rc);
    else
        status = print(r, &(struct sl_critical_view){&path, r->options.scales ? &scaled : NULL,
                                                     &r->options, &runs});
    sl_critical_runs_free(&runs);
    sl_critical_free(&path);
    sl_critical_free(&scaled);
    return status;
}

static int read_and_find(const struct request *r, const struct sl_job_files *files)
{
    const char *path = choose_file(r, files);
    struct sl_recordings all;
    int status, other = 0;

    if (!path)
        return SL_EXIT_USAGE;
    if (r->overlay) {
        const struct sl_job_files one = {.path = (char *[]){(char *)path}, .count = 1};

        status = sl_output_check_folder(r->command, r->overlay);
        if (status == 0)
            status = sl_augment_check(r->command, &one, "overlay", r->overlay);
        if (status)
            return status;
    }
    if (sl_recordings_create(&all, 1, r->memory_bytes) != 0)
        return sl_args_complain(r->command, "not enough memory for the critical path");
    all.needs = SL_NEED_PATH;
    status = sl_recordings_read(&all, r->command, path);
    if (all.count)
        other = find_path(r, &all);
    sl_recordings_free(&all);
    return other > status ? other : status;
}

static int run(const struct sl_args *args)
{
    struct request r = {.command = args->command};
    struct sl_job_files files = {0};
    int status, other;

    if (args->operands == 0)
        return sl_args_complain(r.command, "PATH is missing: syncline %s", r.command->usage);
    status = take_options(&r, args);
    if (status)
        return status;
    status = sl_job_files_find(&files, args, args->value[OPT_RUN], SL_JOB_FILES_ONE_JOB);
    if (status < SL_EXIT_USAGE) {
        other = read_and_find(&r, &files);
        status = other > status ? other : status;
    }
    sl_job_files_free(&files);
    return status;
}

const struct sl_command sl_cmd_critical_path = {
    .name = "critical-path",
    .summary = "which work must become shorter for a step to become shorter?",
    .usage = "critical-path PATH [options]",
    .help = sl_help_critical_path,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
