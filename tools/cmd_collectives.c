/*
 * cmd_collectives.c - `syncline collectives`: how fast the collectives of a job were, and which
 * rank they waited for.
 *
 * Threads: main; helper threads read the files. Memory: collectives/ranks.h.
 */
#include <stdlib.h>

#include "collectives/nodes.h"
#include "collectives/print.h"
#include "command.h"
#include "control/config.h"
#include "read/job_files.h"

enum {
    OPT_JSON,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print everything as one JSON object, for programs"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

/* Leaves out what SYNCLINE_COLLECTIVES leaves out, and says so. */
static void limit(const struct sl_command *command, struct sl_ranks *all)
{
    static const char name[] = "SYNCLINE_COLLECTIVES";
    struct sl_config config;

    if (sl_config_read_one(&config, name, getenv(name)) != 0)
        sl_args_problem(command,
                        "%s=%s is not valid (expected all, crossnode, none); all "
                        "collectives are listed",
                        name, getenv(name));
    if (config.collectives == SL_COLLECTIVES_ALL)
        return;
    if (config.collectives == SL_COLLECTIVES_CROSSNODE)
        sl_nodes_keep_between(all);
    for (size_t i = 0; config.collectives == SL_COLLECTIVES_NONE && i < all->files; i++)
        all->file[i].parts = all->file[i].calls = 0;
    sl_args_problem(command, "%s=%s leaves out collectives; unset it to list all", name,
                    getenv(name));
}

static int print(const struct sl_args *args, struct sl_ranks *all)
{
    struct sl_summary s;
    size_t conflicts = 0;
    int status = SL_EXIT_OK;

    if (sl_ranks_end(all) != 0)
        return sl_args_complain(args->command, "not enough memory");
    limit(args->command, all);
    if (sl_summary_make(&s, all) != 0) {
        status = sl_args_complain(args->command, "not enough memory");
    } else {
        (args->value[OPT_JSON] ? sl_collectives_print_json : sl_collectives_print_text)(stdout, &s);
        sl_clocks_conflicts(s.clocks, &conflicts);
        if (s.problems || conflicts)
            status = SL_EXIT_PROBLEM;
    }
    sl_summary_free(&s);
    return status;
}

static int run(const struct sl_args *args)
{
    struct sl_job_files files;
    struct sl_ranks all;
    int worst, status;

    if (args->operands == 0)
        return sl_args_complain(args->command, "name at least one trace: syncline %s",
                                args->command->usage);
    worst = sl_job_files_find(&files, args, args->value[OPT_RUN], 0);
    if (sl_ranks_create(&all, files.count) != 0) {
        sl_job_files_free(&files);
        return sl_args_complain(args->command, "not enough memory");
    }
    for (size_t i = 0; i < files.count; i++) {
        status = sl_ranks_read(&all, args->command, files.path[i]);
        worst = status > worst ? status : worst;
    }
    if (all.files) {
        status = print(args, &all);
        worst = status > worst ? status : worst;
    } else if (!worst) {
        worst = sl_args_complain(args->command, "no trace was found");
    }
    sl_ranks_free(&all);
    sl_job_files_free(&files);
    return worst;
}

const struct sl_command sl_cmd_collectives = {
    .name = "collectives",
    .summary = "how fast were the collectives, and which rank was late?",
    .usage = "collectives [options] PATH...",
    .help = sl_help_collectives,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
