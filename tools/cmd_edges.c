/*
 * cmd_edges.c - `syncline edges`: shows the GPU operation that released each wait, and the time
 * waited.
 *
 * The command reads each trace once. Edges that the job recorded are printed in the order of the
 * file. If they are to have steps, the file is read twice, because the row of a step follows the
 * waits in the step. If the file has no recorded edges, the command passes the rows to the edge
 * engine in order of enqueue, as a running job passes its events.
 *
 * Threads: main; helper threads read the file. Memory: at most 256 MiB for a file of any size
 * (replay/replay.h, edge_summary.h).
 */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "edges/edges.h"
#include "read/job_files.h"

enum {
    OPT_JSON,
    OPT_KIND,
    OPT_LINE,
    OPT_MIN_WAIT,
    OPT_STEP,
    OPT_SUMMARY,
    OPT_TOP,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object per edge, for programs"},
    [OPT_KIND] = {"kind", 'k', "KIND", "only edges of this kind"},
    [OPT_LINE] = {"line", 'l', "PATTERN", "only waits at lines of code with this text (* and ?)"},
    [OPT_MIN_WAIT] = {"min-wait", 'm', "TIME", "only waits of at least TIME: 20us, 1ms, 0.5s"},
    [OPT_STEP] = {"step", 0, "N|A..B", "only waits in step N, or in the steps from A to B"},
    [OPT_SUMMARY] = {"summary", 's', NULL,
                     "totals by line of code, kind, GPU operation, operator or range, and step"},
    [OPT_TOP] = {"top", 'n', "N", "only the N longest waits; with --summary, N rows in each table"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

static int find_kind(const struct sl_command *self, const char *name)
{
    const char *names[SL_EDGE_KIND_COUNT];

    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        names[i] = sl_edge_kind_name((enum sl_edge_kind)i);
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    sl_args_unknown(self, "kind", name, names, SL_EDGE_KIND_COUNT, "see `syncline edges --help`");
    return -1;
}

/* Sets the filter from the options. Returns 0, or the exit status after a line on stderr. */
static int read_filter(struct sl_edge_filter *f, const struct sl_args *args)
{
    const char *const *value = args->value;

    *f = (struct sl_edge_filter){.kind = -1, .line = value[OPT_LINE]};
    if (value[OPT_KIND] && (f->kind = find_kind(args->command, value[OPT_KIND])) < 0)
        return SL_EXIT_USAGE;
    if (value[OPT_MIN_WAIT] && sl_edge_filter_time(value[OPT_MIN_WAIT], &f->min_wait_ns) != 0)
        return sl_args_complain(args->command,
                                "--min-wait %s is not valid: give a time, such as 20us, 1ms or "
                                "0.5s; a number alone means nanoseconds",
                                value[OPT_MIN_WAIT]);
    if (value[OPT_STEP] && sl_edge_filter_steps(f, value[OPT_STEP]) != 0)
        return sl_args_complain(args->command,
                                "--step %s is not valid: give a step, such as 100, or the first "
                                "and the last, such as 100..103",
                                value[OPT_STEP]);
    return 0;
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    struct sl_edges_request r = {.command = args->command, .is_json = value[OPT_JSON] != NULL};
    struct sl_job_files files;
    int status = read_filter(&r.filter, args);

    if (status)
        return status;
    if (value[OPT_TOP] &&
        (sl_args_number(value[OPT_TOP], SL_EDGES_TOP_MOST, &r.top) != 0 || !r.top))
        return sl_args_complain(args->command, "--top %s is not valid: give a number from 1 to %d",
                                value[OPT_TOP], SL_EDGES_TOP_MOST);
    if (args->operands == 0)
        return sl_args_complain(r.command, "PATH is missing: syncline %s", r.command->usage);
    status = sl_job_files_find(&files, args, value[OPT_RUN], 0);
    if (files.count) {
        int worst = value[OPT_SUMMARY] ? sl_edges_sum(&r, files.path, files.count)
                                       : sl_edges_list(&r, files.path, files.count);

        status = worst > status ? worst : status;
    }
    sl_job_files_free(&files);
    return status;
}

const struct sl_command sl_cmd_edges = {
    .name = "edges",
    .summary = "which GPU operation did each wait wait for, and how long?",
    .usage = "edges PATH... [options]",
    .help = sl_help_edges,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
