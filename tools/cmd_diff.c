/*
 * cmd_diff.c - `syncline diff`: is a recording slower than another, where, and by how much?
 *
 * The command reads the traces of both sides into one store (report/recording.h), so that names
 * have the same ids, and divides each side as a report of its own.
 *
 * Threads: main; helper threads read the files. Memory: report/recording.h and diff/diff.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "control/config_value.h"
#include "diff/diff.h"
#include "edges/edge_filter.h"
#include "read/job_files.h"
#include "report/divide.h"
#include "report/print.h"

enum {
    OPT_FAIL_ABOVE,
    OPT_JSON,
    OPT_ONLY,
    OPT_STEPS,
    OPT_RANK,
    OPT_MEMORY,
    OPT_RUN_A,
    OPT_RUN_B
};

static const struct sl_flag options[] = {
    [OPT_FAIL_ABOVE] = {"fail-above", 0, "LIMIT",
                        "exit status 3 if a step became longer by more: 5%, or a time as 200us"},
    [OPT_JSON] = {"json", 0, NULL, "print everything as one JSON object, for programs"},
    [OPT_ONLY] = {"only", 0, "NAME,...", "only these tables, in full"},
    [OPT_STEPS] = {"steps", 0, "N..M", "only these steps, on both sides"},
    [OPT_RANK] = {"rank", 0, "R", "only this rank"},
    [OPT_MEMORY] = {"memory", 0, "SIZE",
                    "memory for the events (default 2GiB); the rest goes to files in TMPDIR"},
    [OPT_RUN_A] = {"run-a", 0, "ID",
                   "the run of A to read, if A is a folder (default: the newest)"},
    [OPT_RUN_B] = {"run-b", 0, "ID", "the run of B to read (default: the newest)"},
    {NULL, 0, NULL, NULL},
};

#define EXIT_ABOVE 3
#define TABLES_MAX 8

struct request {
    const struct sl_command *command;
    int json, has_rank, is_only;
    double fail_ratio, fail_ns; /* limits of --fail-above; below 0: not given */
    uint64_t rank, memory_bytes;
    const struct sl_metric *table[TABLES_MAX]; /* the wanted tables; NULL-terminated */
};

/* ---- options ---- */

static int take_only(struct request *r, const char *list)
{
    const char *names[TABLES_MAX];
    size_t count = 0, wanted = 0;

    for (; sl_diff_tables[count]; count++) {
        names[count] = sl_diff_tables[count]->name;
        r->table[count] = list ? NULL : sl_diff_tables[count];
    }
    if (!list)
        return 0;
    r->is_only = 1;
    while (*list) {
        size_t size = strcspn(list, ",");
        const struct sl_metric *table = sl_metric_find(sl_diff_tables, list, size);
        char name[64];

        if (!table) {
            snprintf(name, sizeof(name), "%.*s", (int)size, list);
            return sl_args_unknown(r->command, "table", name, names, (int)count,
                                   "see `syncline diff --help`");
        }
        if (wanted < TABLES_MAX - 1)
            r->table[wanted++] = table;
        list += size + (list[size] == ',');
    }
    return wanted ? 0 : sl_args_complain(r->command, "--only needs the name of a table");
}

/* Reads a limit such as 5% or 200us. Returns 0 or an exit status. */
static int take_limit(struct request *r, const char *text)
{
    uint64_t ns;
    size_t size = text ? strlen(text) : 0;
    char *end = NULL;

    r->fail_ratio = r->fail_ns = -1;
    if (!text)
        return 0;
    if (size > 1 && text[size - 1] == '%' && strspn(text, "0123456789.") == size - 1) {
        r->fail_ratio = strtod(text, &end) / 100;
        if (end == text + size - 1)
            return 0;
    } else if (strpbrk(text, "smn") && sl_edge_filter_time(text, &ns) == 0) {
        r->fail_ns = (double)ns;
        return 0;
    }
    return sl_args_complain(r->command,
                            "--fail-above %s is not valid: give a part of a step, such as 5%%, or "
                            "a time, such as 200us",
                            text);
}

static int take_options(struct request *r, struct sl_diff *d, const struct sl_args *args)
{
    const char *const *value = args->value;
    int status;

    if (args->operands != 2)
        return sl_args_complain(r->command, "two traces or folders are compared: syncline %s",
                                r->command->usage);
    if ((status = take_only(r, value[OPT_ONLY])) != 0 ||
        (status = take_limit(r, value[OPT_FAIL_ABOVE])) != 0)
        return status;
    for (int side = 0; side < 2; side++)
        if ((status = sl_report_take_steps(&d->side[side], r->command, value[OPT_STEPS])) != 0)
            return status;
    r->has_rank = value[OPT_RANK] != NULL;
    if (r->has_rank && sl_args_number(value[OPT_RANK], INT64_MAX, &r->rank) != 0)
        return sl_args_complain(r->command, "--rank %s is not valid: give a number",
                                value[OPT_RANK]);
    r->memory_bytes = SL_RECORDINGS_MEMORY;
    if (value[OPT_MEMORY] &&
        sl_config_value_size(value[OPT_MEMORY], strlen(value[OPT_MEMORY]), &r->memory_bytes) != 0)
        return sl_args_complain(r->command, "--memory %s is not valid: give a size, such as 500M",
                                value[OPT_MEMORY]);
    return 0;
}

/* ---- the comparison ---- */

static int cannot(const struct request *r)
{
    return sl_args_complain(r->command, "not enough memory for the comparison");
}

/* Returns 1 if a step became longer by more than --fail-above. A difference that is noise does not
 * count. */
static int is_above(const struct request *r, const struct sl_diff *d, double *limit_ns)
{
    const struct sl_diff_change *c = &d->mean.step;

    *limit_ns = r->fail_ratio >= 0 ? r->fail_ratio * c->of[0].usual_ns : r->fail_ns;
    return *limit_ns >= 0 && d->has_gpu[0] && d->has_gpu[1] && c->is_change &&
           c->change_ns > *limit_ns;
}

static int print(const struct request *r, const struct sl_diff *d, double limit_ns, int above)
{
    struct sl_table tables[TABLES_MAX] = {{0}};
    int rc = 0;

    for (size_t i = 0; (r->json || r->is_only) && rc == 0 && r->table[i]; i++)
        rc = sl_diff_table(d, r->table[i], &tables[i]);
    if (rc == 0 && r->json) {
        sl_diff_print_json(stdout, d, limit_ns, above, tables);
    } else if (rc == 0 && r->is_only) {
        for (size_t i = 0; tables[i].metric; i++) {
            if (i)
                putchar('\n');
            sl_report_print_table(stdout, &tables[i], SIZE_MAX);
        }
    } else if (rc == 0) {
        sl_diff_print_screen(stdout, d);
    }
    for (size_t i = 0; tables[i].metric; i++)
        sl_table_free(&tables[i]);
    return rc ? cannot(r) : 0;
}

static int compare(const struct request *r, struct sl_diff *d)
{
    double limit_ns;
    int status, above;

    if (sl_report_divide(&d->side[0], NULL) != 0 || sl_report_divide(&d->side[1], NULL) != 0 ||
        sl_diff_make(d, r->has_rank ? &r->rank : NULL) != 0)
        return cannot(r);
    if (d->ranks == 0 && r->has_rank)
        return sl_args_complain(r->command, "rank %" PRIu64 " is not on both sides", r->rank);
    if (d->ranks == 0)
        return sl_args_complain(r->command, "no rank is on both sides");
    above = is_above(r, d, &limit_ns);
    status = print(r, d, limit_ns, above);
    if (status)
        return status;
    if (!d->has_gpu[0] || !d->has_gpu[1])
        return sl_args_problem(r->command, "%s has no GPU operation in the chosen steps",
                               d->has_gpu[0] ? "B" : "A");
    if (!above && limit_ns >= 0 && d->mean.step.change_ns > limit_ns)
        fprintf(stderr, "syncline diff: a step is longer by more than the limit, but not by more "
                        "than the steps of a side differ, so this counts as noise\n");
    return above ? EXIT_ABOVE : 0;
}

/* ---- reading ---- */

/* Reads the files of a side behind those of the other. Returns an exit status. */
static int read_side(const struct request *r, struct sl_recordings *all,
                     const struct sl_job_files *files, const char *operand)
{
    size_t before = all->count;
    int worst = 0;

    for (size_t i = 0; i < files->count; i++) {
        int status = sl_recordings_read(all, r->command, files->path[i]);

        worst = status > worst ? status : worst;
    }
    if (all->count == before && !worst)
        return sl_args_complain(r->command, "no trace was found in %s", operand);
    return worst;
}

static int compare_files(const struct request *r, struct sl_diff *d,
                         const struct sl_job_files files[2], const struct sl_args *args)
{
    struct sl_recordings all;
    int status, worst = 0;
    size_t first[3] = {0};

    if (sl_recordings_create(&all, files[0].count + files[1].count, r->memory_bytes) != 0)
        return cannot(r);
    all.needs = SL_NEED_RANGES;
    for (int side = 0; side < 2; side++) {
        status = read_side(r, &all, &files[side], args->operand[side]);
        worst = status > worst ? status : worst;
        first[side + 1] = all.count;
    }
    for (int side = 0; side < 2; side++) {
        d->side[side].recordings = (struct sl_recordings){
            .names = all.names, .of = all.of + first[side], .count = first[side + 1] - first[side]};
        sl_report_sort(&d->side[side].recordings);
    }
    if (d->side[0].recordings.count && d->side[1].recordings.count) {
        status = compare(r, d);
        worst = status > worst ? status : worst;
    } else {
        worst = SL_EXIT_USAGE;
    }
    sl_diff_free(d);
    sl_report_undivide(&d->side[0]);
    sl_report_undivide(&d->side[1]);
    sl_recordings_free(&all);
    return worst;
}

static int run(const struct sl_args *args)
{
    struct request r = {.command = args->command, .json = args->value[OPT_JSON] != NULL};
    struct sl_job_files files[2] = {{0}};
    struct sl_diff d = {0};
    int worst = 0, status = take_options(&r, &d, args);

    if (status)
        return status;
    for (int side = 0; side < 2 && worst < SL_EXIT_USAGE; side++) {
        struct sl_args one = *args;

        one.operand = args->operand + side;
        one.operands = 1;
        status = sl_job_files_find(&files[side], &one, args->value[OPT_RUN_A + side], 0);
        worst = status > worst ? status : worst;
    }
    if (worst < SL_EXIT_USAGE) {
        status = compare_files(&r, &d, files, args);
        worst = status > worst ? status : worst;
    }
    sl_job_files_free(&files[0]);
    sl_job_files_free(&files[1]);
    return worst;
}

const struct sl_command sl_cmd_diff = {
    .name = "diff",
    .summary = "did a step become slower, where, and by how much?",
    .usage = "diff A B [options]",
    .help = sl_help_diff,
    .options = options,
    .operands_max = 2,
    .run = run,
};
