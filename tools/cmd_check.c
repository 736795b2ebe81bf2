/*
 * cmd_check.c - `syncline check`: checks that a trace is valid and complete, and shows its
 * contents.
 *
 * Threads: main; helper threads read the file. Memory: for a Kineto trace of any size at most 256
 * MiB (check.h, trace_file.h); for a Chakra trace see et_check.h.
 */
#include <string.h>

#include "check/check.h"
#include "check/et_check.h"
#include "command.h"
#include "read/job_files.h"
#include "read/trace_file.h"

enum {
    OPT_JSON,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object per file, for programs"},
    [OPT_QUIET] = {"quiet", 'q', NULL, "print nothing; only the exit status says what was found"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "also print each stream, category and counter"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct sl_command *command;
    int json, quiet, verbose;
};

static int cannot(const struct request *r, const char *path, struct sl_input *input, int rc)
{
    sl_input_close(input);
    return sl_args_complain(r->command, "cannot check %s: %s", path, strerror(-rc));
}

static int exit_status(const struct sl_findings *f, int own)
{
    return sl_findings_worst(f, own) == SL_SEVERITY_ERROR ? SL_EXIT_PROBLEM : SL_EXIT_OK;
}

static int is_part(const char *path)
{
    size_t size = strlen(path);

    return size > 5 && strcmp(path + size - 5, ".part") == 0;
}

/* Checks a Chakra trace and closes it. Returns the exit status. */
static int check_chakra(const struct request *r, const char *path, struct sl_input *input)
{
    struct sl_et_check *c = NULL;
    int status, rc = sl_et_check_create(&c);
    struct sl_et_node node;
    struct sl_et *et;

    if (rc == 0)
        rc = sl_et_open_input(&et, input);
    if (rc) {
        sl_et_check_destroy(c);
        return cannot(r, path, input, rc);
    }
    while (sl_et_next(et, &node))
        sl_et_check_node(c, &node);
    sl_et_check_end(c, et);
    /* A cut between two nodes does not show in the bytes. */
    if (is_part(path) && !c->findings.of[SL_ET_RULE_CUT].count)
        sl_finding_add(&c->findings, SL_ET_RULE_PART, 1, SL_FINDING_NO_PLACE,
                       "the last second of the job may be missing");
    status = exit_status(&c->findings, 1);
    if (!r->quiet)
        (r->json ? sl_check_print_et_json : sl_check_print_et_text)(stdout, path, c, et);
    sl_et_check_destroy(c);
    sl_et_close(et);
    return status;
}

/* Checks a Kineto trace and closes it. Returns the exit status. */
static int check_kineto(const struct request *r, const char *path, struct sl_input *file)
{
    struct sl_check *c = NULL;
    int status, rc = sl_check_create(&c);
    struct sl_input_status input;
    struct sl_trace_item *item;
    const char *strange;
    struct sl_trace *t;

    if (rc == 0)
        rc = sl_trace_open_input(&t, file);
    if (rc) {
        sl_check_destroy(c);
        return cannot(r, path, file, rc);
    }
    sl_trace_show(t, "checking", path);
    while (sl_trace_next(t, &item))
        sl_check_item(c, t, item);
    sl_trace_get_status(t, &input);
    strange = sl_trace_not_one(t, &item->span, &input);
    if (strange) {
        status = sl_args_complain(r->command, "%s is not a Kineto trace: %s", path, strange);
    } else {
        sl_check_end(c, &item->span, &input);
        status = exit_status(&c->findings, c->is_strict);
        if (!r->quiet)
            (r->json      ? sl_check_print_json
             : r->verbose ? sl_check_print_verbose
                          : sl_check_print_text)(stdout, path, c, &input);
    }
    sl_check_destroy(c);
    sl_trace_close(t);
    return status;
}

static int check_file(const struct request *r, const char *path)
{
    struct sl_input *input;
    char why[512];

    if (sl_input_open(&input, path, why, sizeof(why)) != 0)
        return sl_args_complain(r->command, "%s", why);
    return sl_et_is_input(input, path) ? check_chakra(r, path, input)
                                       : check_kineto(r, path, input);
}

static int run(const struct sl_args *args)
{
    struct request r = {args->command, args->value[OPT_JSON] != NULL,
                        args->value[OPT_QUIET] != NULL, args->value[OPT_VERBOSE] != NULL};
    struct sl_job_files files;
    int worst;

    if (args->operands == 0)
        return sl_args_complain(r.command, "name at least one trace: syncline %s",
                                r.command->usage);
    worst = sl_job_files_find(&files, args, args->value[OPT_RUN], SL_JOB_FILES_CHAKRA);
    for (size_t i = 0; i < files.count; i++) {
        int status = check_file(&r, files.path[i]);

        if (status > worst)
            worst = status;
        if (i + 1 < files.count && !r.json && !r.quiet)
            putchar('\n');
    }
    sl_job_files_free(&files);
    return worst;
}

const struct sl_command sl_cmd_check = {
    .name = "check",
    .summary = "is a trace valid and complete, and what is in it?",
    .usage = "check [options] PATH...",
    .help = sl_help_check,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
