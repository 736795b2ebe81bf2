/*
 * cmd_report.c - `syncline report`: where the time of a step went, why, and what to do.
 *
 * The command reads each trace once, divides the time of each device (report/parts.h), and prints
 * the first screen, some of the tables, or everything as JSON or CSV.
 *
 * Threads: main; helper threads read the file. Memory: report/recording.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "augment.h"
#include "command.h"
#include "control/config_value.h"
#include "control/memory_limit.h"
#include "convert/output.h"
#include "read/job_files.h"
#include "report/divide.h"
#include "report/finding.h"
#include "report/hta/hta_table.h"
#include "report/metric.h"
#include "report/print.h"

enum {
    OPT_JSON,
    OPT_CSV,
    OPT_HTML,
    OPT_AUGMENT,
    OPT_ONLY,
    OPT_STEPS,
    OPT_RANK,
    OPT_STREAM,
    OPT_HTA,
    OPT_SET,
    OPT_MEMORY,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print everything as one JSON object, for programs"},
    [OPT_CSV] = {"csv", 0, "DIR", "write each table to DIR/NAME.csv"},
    [OPT_HTML] = {"html", 0, "OUT", "write a page with charts and all tables; it loads nothing"},
    [OPT_AUGMENT] = {"augment", 0, "OUT", "write the trace with counters, to a file or a folder"},
    [OPT_ONLY] = {"only", 0, "NAME,...", "only these tables, in full"},
    [OPT_STEPS] = {"steps", 0, "N..M", "only these steps"},
    [OPT_RANK] = {"rank", 0, "R", "only the files of this rank"},
    [OPT_STREAM] = {"stream", 0, "S", "only this stream, in tables of GPU work; may be repeated"},
    [OPT_HTA] = {"hta", 0, NULL, "the tables and numbers of HolisticTraceAnalysis 0.5.0 instead"},
    [OPT_SET] = {"set", 0, "METRIC.NAME=VALUE",
                 "change a setting of a table; --set help lists them"},
    [OPT_MEMORY] = {"memory", 0, "SIZE", "memory for the events; the rest goes to files in TMPDIR"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

#define METRICS_MAX 32

struct request {
    const struct sl_command *command;
    const char *csv;     /* folder for CSV files, or NULL */
    const char *html;    /* file for the page, or NULL */
    char page[PATH_MAX]; /* the file that --html names, if it exists */
    const char *augment; /* file or folder for traces with counters, or NULL */
    int json, has_rank, hta;
    uint64_t rank, memory_bytes;
    uint64_t stream[SL_ARGS_GIVEN];                  /* of --stream */
    const struct sl_metric *const *metrics;          /* all tables that there are */
    const struct sl_metric *metric[METRICS_MAX + 1]; /* the wanted tables; NULL-terminated */
    int is_only;                                     /* 1: --only was given */
};

/* ---- options ---- */

static int unknown_metric(const struct request *r, const char *name)
{
    const char *names[METRICS_MAX];
    int count = 0;

    for (; r->metrics[count]; count++)
        names[count] = r->metrics[count]->name;
    return sl_args_unknown(r->command, "table", name, names, count, "see `syncline report --help`");
}

/* Reads --only. Returns 0 or an exit status. */
static int take_only(struct request *r, const char *list)
{
    size_t count = 0;

    if (!list) {
        for (; r->metrics[count] && count < METRICS_MAX; count++)
            r->metric[count] = r->metrics[count];
        return 0;
    }
    r->is_only = 1;
    while (*list) {
        size_t size = strcspn(list, ",");
        const struct sl_metric *metric = sl_metric_find(r->metrics, list, size);

        if (!metric) {
            char name[64];

            snprintf(name, sizeof(name), "%.*s", (int)size, list);
            return unknown_metric(r, name);
        }
        if (count < METRICS_MAX)
            r->metric[count++] = metric;
        list += size + (list[size] == ',');
    }
    return count ? 0 : sl_args_complain(r->command, "--only needs the name of a table");
}

/* Returns 1 if tables are wanted. The first screen needs none. */
static int wants_tables(const struct request *r)
{
    return r->json || r->csv || r->html || r->is_only;
}

static uint32_t needs_of(const struct request *r)
{
    uint32_t needs = 0;

    for (size_t i = 0; wants_tables(r) && r->metric[i]; i++)
        needs |= r->metric[i]->needs;
    return needs;
}

/* Reads each --stream, after --only. Returns 0 or an exit status. */
static int take_streams(struct request *r, struct sl_report *report, const struct sl_args *args)
{
    int has_effect = 0;

    report->stream = r->stream;
    for (int i = 0; i < args->givens; i++)
        if (args->given[i].option == OPT_STREAM &&
            sl_args_number(args->given[i].value, UINT32_MAX, &r->stream[report->streams++]) != 0)
            return sl_args_complain(r->command, "--stream %s is not valid: give a number",
                                    args->given[i].value);
    for (size_t i = 0; wants_tables(r) && r->metric[i]; i++)
        has_effect |= r->metric[i]->is_by_stream;
    if (report->streams && !wants_tables(r))
        return sl_args_complain(r->command, "--stream needs --only, --json, --csv or --html: the "
                                            "first screen is about whole devices");
    if (report->streams && !has_effect)
        return sl_args_complain(r->command, "--stream has no effect on these tables: they are "
                                            "about whole devices, or about calls");
    return 0;
}

/* Refuses options that change syncline's own tables alone. Returns 0 or an exit status. */
static int refuse_with_hta(const struct request *r, const char *const *value)
{
    static const int refused[] = {OPT_HTML, OPT_AUGMENT, OPT_STEPS, OPT_STREAM, OPT_MEMORY};

    for (size_t i = 0; r->hta && i < sizeof(refused) / sizeof(refused[0]); i++)
        if (value[refused[i]])
            return sl_args_complain(
                r->command, "--%s is for syncline's own tables: leave out --hta%s",
                options[refused[i]].name,
                refused[i] == OPT_STREAM ? ", or use --set idle_time_breakdown.streams=S" : "");
    return 0;
}

/* Reads each --set. Returns 0 or an exit status. */
static int take_settings(const struct request *r, struct sl_settings *settings,
                         const struct sl_args *args)
{
    int status = 0;

    for (int i = 0; i < args->givens && status == 0; i++)
        if (args->given[i].option == OPT_SET)
            status = sl_settings_take(settings, args->command, r->metrics, args->given[i].value);
    return status;
}

/* ---- reading ---- */

/* Reads all files. Sets *any to 1 if one is to be reported. Returns an exit status. */
static int read_all(const struct request *r, struct sl_report *report,
                    const struct sl_job_files *files, int *any)
{
    int worst = 0, found = 0;

    for (size_t i = 0; i < files->count; i++) {
        int status = sl_recordings_read(&report->recordings, r->command, files->path[i]);

        worst = status > worst ? status : worst;
    }
    for (size_t i = 0; i < report->recordings.count; i++)
        found |= !r->has_rank || sl_report_is_of_rank(&report->recordings.of[i], r->rank);
    *any = found;
    if (!found && report->recordings.count)
        return sl_args_complain(r->command, "no file is of rank %" PRIu64, r->rank);
    if (!found)
        return worst ? worst : sl_args_complain(r->command, "no trace was found");
    sl_report_sort(&report->recordings);
    return worst;
}

/* ---- output ---- */

static int cannot(const struct request *r)
{
    return sl_args_complain(r->command, "not enough memory for the report");
}

static int write_csv(const struct request *r, const struct sl_table *table)
{
    char path[4096];
    FILE *f;
    int failed;

    snprintf(path, sizeof(path), "%s/%s.csv", r->csv, table->metric->name);
    f = fopen(path, "we");
    if (!f)
        return sl_args_complain(r->command, "cannot write %s: %s", path, strerror(errno));
    sl_report_print_csv(f, table);
    failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed)
        return sl_args_complain(r->command, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* Writes the page under another name first, so that an older page stays if this fails. */
static int write_page(const struct request *r, const struct sl_report *report,
                      const struct sl_report_findings *findings, const struct sl_table *tables)
{
    char part[4096];
    int rc, failed;
    FILE *f;

    snprintf(part, sizeof(part), "%s.part", r->html);
    f = fopen(part, "we");
    if (!f)
        return sl_args_complain(r->command, "cannot write %s: %s", part, strerror(errno));
    rc = sl_report_print_page(f, report, findings, tables);
    failed = ferror(f) != 0;
    if (fclose(f) != 0)
        rc = -errno;
    else if (failed && rc == 0)
        rc = -EIO;
    if (rc == 0 && rename(part, r->html) != 0)
        rc = -errno;
    if (rc == 0)
        return 0;
    unlink(part);
    return sl_args_complain(r->command, "cannot write %s: %s", r->html, strerror(-rc));
}

static int print_tables(const struct request *r, const struct sl_report *report,
                        const struct sl_report_findings *findings, const struct sl_table *tables)
{
    int status = 0;

    for (size_t i = 0; r->csv && tables[i].metric && status == 0; i++)
        status = write_csv(r, &tables[i]);
    if (r->html && status == 0)
        status = write_page(r, report, findings, tables);
    if (status)
        return status;
    if (r->json) {
        sl_report_print_json(stdout, report, findings, tables, NULL);
    } else if (r->is_only) {
        for (size_t i = 0; tables[i].metric; i++) {
            if (i)
                putchar('\n');
            sl_report_print_table(stdout, &tables[i], SIZE_MAX);
        }
    } else {
        sl_report_print_screen(stdout, report, findings);
    }
    return 0;
}

static int print(const struct request *r, const struct sl_report *report)
{
    struct sl_table tables[METRICS_MAX + 1] = {{0}};
    struct sl_report_findings findings;
    int status = 0, rc = sl_report_findings_make(&findings, report);

    for (size_t i = 0; wants_tables(r) && rc == 0 && r->metric[i]; i++)
        rc = sl_metric_make(r->metric[i], report, &tables[i]);
    status = rc ? cannot(r) : print_tables(r, report, &findings, tables);
    for (size_t i = 0; tables[i].metric; i++)
        sl_table_free(&tables[i]);
    return status;
}

static int make_folder(const struct request *r)
{
    if (!r->csv || mkdir(r->csv, 0777) == 0 || errno == EEXIST)
        return 0;
    return sl_args_complain(r->command, "cannot make the folder %s: %s", r->csv, strerror(errno));
}

/* Checks that the page may be written. A link's target is replaced, and not the link. Returns 0, or
 * an exit status after a line on stderr. */
static int check_page(struct request *r, const struct sl_job_files *files)
{
    struct stat page, out;
    int status = 0;

    if (!r->html)
        return 0;
    if (stat(r->html, &page) == 0 && fstat(STDOUT_FILENO, &out) == 0 && page.st_dev == out.st_dev &&
        page.st_ino == out.st_ino)
        return sl_args_complain(r->command,
                                "--html %s is standard output, where the tables go: "
                                "name another file",
                                r->html);
    if (realpath(r->html, r->page))
        r->html = r->page;
    for (size_t i = 0; i < files->count && status == 0; i++)
        status = sl_output_check(r->command, files->path[i], r->html, 1);
    return status;
}

static int report_files(struct request *r, struct sl_report *report,
                        const struct sl_job_files *files)
{
    int worst, status = r->augment ? sl_augment_check(r->command, files, "augment", r->augment) : 0,
               any = 0;

    if (status == 0)
        status = check_page(r, files);
    if (status)
        return status;
    if (sl_recordings_create(&report->recordings, files->count, r->memory_bytes) != 0)
        return cannot(r);
    report->recordings.needs = needs_of(r);
    worst = read_all(r, report, files, &any);
    if (!any) {
        sl_recordings_free(&report->recordings);
        return worst;
    }
    status =
        sl_report_divide(report, r->has_rank ? &r->rank : NULL) != 0 ? cannot(r) : print(r, report);
    if (r->augment && status == 0)
        status = sl_augment(r->command, report, r->augment);
    sl_report_undivide(report);
    sl_recordings_free(&report->recordings);
    return status > worst ? status : worst;
}

/* ---- HTA's tables ---- */

/* Rows of a table that are shown if it was not asked for by name. */
#define HTA_ROWS 10

/* Returns which rows the wanted tables need. The sequences need the most, so only if they are
 * made. */
static uint32_t hta_needs(const struct request *r, const struct sl_report *report)
{
    uint32_t needs = 0;

    for (size_t i = 0; r->metric[i]; i++)
        if (r->metric[i] != &sl_hta_sequences || sl_hta_has_operator(report))
            needs |= r->metric[i]->needs;
    return needs;
}

/* Makes, prints and frees one table after another, because some have a row for each event. */
static int print_hta(const struct request *r, const struct sl_report *report)
{
    const struct sl_report_findings none = {.count = 0};
    int status = 0;

    if (r->json)
        sl_report_json_begin(stdout, report, &none, NULL);
    for (size_t i = 0; r->metric[i] && status == 0; i++) {
        struct sl_table table;

        if (sl_metric_make(r->metric[i], report, &table) != 0)
            return cannot(r);
        if (r->csv)
            status = write_csv(r, &table);
        if (r->json)
            sl_report_json_table(stdout, &table, i == 0, NULL);
        else if (r->is_only || !r->csv)
            sl_report_print_table(stdout, &table, r->is_only ? SIZE_MAX : HTA_ROWS);
        if (!r->json && r->metric[i + 1] && (r->is_only || !r->csv))
            putchar('\n');
        sl_table_free(&table);
    }
    if (r->json)
        sl_report_json_end(stdout, NULL);
    return status;
}

static int report_hta(const struct request *r, struct sl_report *report,
                      const struct sl_job_files *files)
{
    int worst = 0, status;

    if (sl_recordings_create(&report->recordings, files->count, r->memory_bytes) != 0)
        return cannot(r);
    if (sl_hta_create(&report->hta, files->count) != 0) {
        sl_recordings_free(&report->recordings);
        return cannot(r);
    }
    report->hta->needs = hta_needs(r, report);
    report->hta->keeps_last = sl_hta_keeps_last(report);
    report->hta->wanted = r->has_rank ? (int64_t)r->rank : -1;
    /* The latest windows come last. */
    for (size_t i = files->count; i-- > 0;) {
        status = sl_hta_read(report->hta, &report->recordings, r->command, files->path[i]);
        worst = status > worst ? status : worst;
    }
    status = sl_hta_finish(report->hta, &report->recordings, r->command);
    worst = status > worst ? status : worst;
    if (status != SL_EXIT_USAGE)
        status = print_hta(r, report);
    sl_hta_free(report->hta);
    sl_recordings_free(&report->recordings);
    return status > worst ? status : worst;
}

/* Reads all options. Returns 0 or an exit status. */
/* Returns the memory for the events: at most a quarter of what a container leaves. */
static uint64_t default_memory(void)
{
    struct sl_memory_limit limit;
    uint64_t quarter;

    sl_memory_limit_read(&limit, "", 1, NULL);
    quarter = limit.share_bytes / 4 * SL_MEMORY_PART;
    return limit.share_bytes == UINT64_MAX || quarter > SL_RECORDINGS_MEMORY ? SL_RECORDINGS_MEMORY
                                                                             : quarter;
}

static int take_options(struct request *r, struct sl_report *report, const struct sl_args *args)
{
    const char *const *value = args->value;
    int status;

    if (args->operands == 0)
        return sl_args_complain(r->command, "PATH is missing: syncline %s", r->command->usage);
    if ((status = take_only(r, value[OPT_ONLY])) != 0 ||
        (status = sl_report_take_steps(report, r->command, value[OPT_STEPS])) != 0 ||
        (status = refuse_with_hta(r, value)) != 0 ||
        (status = take_streams(r, report, args)) != 0 ||
        (status = take_settings(r, &report->settings, args)) != 0)
        return status;
    r->has_rank = value[OPT_RANK] != NULL;
    if (r->has_rank && sl_args_number(value[OPT_RANK], INT64_MAX, &r->rank) != 0)
        return sl_args_complain(r->command, "--rank %s is not valid: give a number",
                                value[OPT_RANK]);
    r->memory_bytes = default_memory();
    if (value[OPT_MEMORY] &&
        sl_config_value_size(value[OPT_MEMORY], strlen(value[OPT_MEMORY]), &r->memory_bytes) != 0)
        return sl_args_complain(r->command, "--memory %s is not valid: give a size, such as 500M",
                                value[OPT_MEMORY]);
    return make_folder(r);
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    struct request r = {.command = args->command,
                        .csv = value[OPT_CSV],
                        .html = value[OPT_HTML],
                        .augment = value[OPT_AUGMENT],
                        .json = value[OPT_JSON] != NULL,
                        .hta = value[OPT_HTA] != NULL,
                        .metrics = value[OPT_HTA] ? sl_hta_metrics : sl_metrics};
    struct sl_report report = {0};
    struct sl_job_files files;
    int worst, status;

    if (value[OPT_SET] && strcmp(value[OPT_SET], "help") == 0) {
        sl_settings_print(r.metrics);
        return 0;
    }
    status = take_options(&r, &report, args);
    if (status == 0) {
        worst = sl_job_files_find(&files, args, value[OPT_RUN], SL_JOB_FILES_ONE_JOB);
        if (!worst || files.count)
            status = r.hta ? report_hta(&r, &report, &files) : report_files(&r, &report, &files);
        status = status > worst ? status : worst;
        sl_job_files_free(&files);
    }
    sl_settings_free(&report.settings);
    return status;
}

const struct sl_command sl_cmd_report = {
    .name = "report",
    .summary = "where did the time of a step go, why, and what to do?",
    .usage = "report PATH... [options]",
    .help = sl_help_report,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
