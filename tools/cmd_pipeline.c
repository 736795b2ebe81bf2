/*
 * cmd_pipeline.c - `syncline pipeline`: how large is the bubble of each stage, and why?
 *
 * The command reads the traces into the store of a report (report/recording.h), which divides the
 * time of each device, and looks for the phases of pipelines in it.
 *
 * Threads: main; helper threads read the files. Memory: report/recording.h and
 * pipeline/schedule.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "convert/output.h"
#include "pipeline/print.h"
#include "read/job_files.h"
#include "report/divide.h"

enum {
    OPT_PATTERNS,
    OPT_STAGES,
    OPT_SVG,
    OPT_HTML,
    OPT_JSON,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_PATTERNS] = {"patterns", 0, "FILE", "names of phases, before the known ones"},
    [OPT_STAGES] = {"stages", 0, "LIST", "the ranks of each stage, such as 0,1;2,3"},
    [OPT_SVG] = {"svg", 0, "OUT", "write a picture of one iteration"},
    [OPT_HTML] = {"html", 0, "OUT", "write a page with the picture, to zoom; it loads nothing"},
    [OPT_JSON] = {"json", 0, NULL, "print everything as one JSON object, for programs"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct sl_args *args;
    const struct sl_command *command;
    struct sl_patterns *patterns;
};

static int cannot(const struct request *r)
{
    return sl_args_complain(r->command, "not enough memory for the pipelines");
}

static int put_svg(FILE *f, const struct sl_pipeline_view *v)
{
    sl_pipeline_print_svg(f, v);
    return 0;
}

/* Writes a file beside its name, and then moves it there. Returns 0 or an exit status. */
static int write_file(const struct request *r, const char *path,
                      int (*put)(FILE *f, const struct sl_pipeline_view *v),
                      const struct sl_pipeline_view *v)
{
    struct sl_output out;
    char *text = NULL;
    size_t size = 0;
    FILE *f;
    int rc;

    if (!path)
        return 0;
    f = open_memstream(&text, &size);
    if (!f)
        return cannot(r);
    rc = put(f, v);
    if (fclose(f) != 0 && rc == 0)
        rc = -ENOMEM;
    if (rc == 0)
        rc = sl_output_open(&out, path, SL_COMPRESS_NONE, 1);
    if (rc == 0) {
        sl_output_write(&out, text, size);
        rc = sl_output_keep(&out, path, 1);
    }
    free(text);
    return rc ? sl_output_complain(r->command, path, rc) : 0;
}

static int print(const struct request *r, const struct sl_pipeline_view *v)
{
    const char *const *value = r->args->value;
    size_t conflicts = 0;
    int lacks_ranks = 0, status = write_file(r, value[OPT_SVG], put_svg, v);

    if (status == 0)
        status = write_file(r, value[OPT_HTML], sl_pipeline_print_page, v);
    if (status)
        return status;
    if (value[OPT_JSON])
        sl_pipeline_print_json(stdout, v);
    else
        sl_pipeline_print_text(stdout, v);
    for (size_t i = 0; i < v->schedule->pipelines; i++)
        lacks_ranks |= v->schedule->pipeline[i].lacks_ranks;
    sl_clocks_conflicts(v->schedule->clocks, &conflicts);
    return conflicts || lacks_ranks || !v->schedule->lanes ? SL_EXIT_PROBLEM : SL_EXIT_OK;
}

static int measure(const struct request *r, const struct sl_schedule *s,
                   const struct sl_phase_names *names)
{
    struct sl_bubble *bubble = calloc(s->pipelines + 1, sizeof(*bubble));
    const struct sl_pipeline_view view = {.schedule = s, .bubble = bubble, .names = names};
    int status = 0;

    if (!bubble)
        return cannot(r);
    for (size_t i = 0; i < s->pipelines && status == 0; i++)
        if (sl_bubble_make(&bubble[i], s, &s->pipeline[i]) != 0)
            status = cannot(r);
    if (status == 0)
        status = print(r, &view);
    for (size_t i = 0; i < s->pipelines; i++)
        sl_bubble_free(&bubble[i]);
    free(bubble);
    return status;
}

static int look(const struct request *r, struct sl_report *report)
{
    struct sl_phase_names names = {0};
    struct sl_schedule schedule = {0};
    int rc, status;

    if (sl_report_divide(report, NULL) != 0 ||
        sl_phase_names_init(&names, r->patterns, report->recordings.names) != 0) {
        sl_phase_names_free(&names);
        return cannot(r);
    }
    rc = sl_schedule_make(&schedule, report, &names, r->command, r->args->value[OPT_STAGES]);
    status = rc < 0 ? cannot(r) : rc > 0 ? rc : measure(r, &schedule, &names);
    sl_schedule_free(&schedule);
    sl_phase_names_free(&names);
    return status;
}

static int look_at_files(const struct request *r, const struct sl_job_files *files)
{
    struct sl_report report = {0};
    int worst = 0, status;

    for (int k = OPT_SVG; k <= OPT_HTML; k++) {
        const char *output = r->args->value[k];

        status = output ? sl_output_check_folder(r->command, output) : 0;
        for (size_t i = 0; output && i < files->count && status == 0; i++)
            status = sl_output_check(r->command, files->path[i], output, 1);
        if (status)
            return status;
    }
    if (sl_report_take_steps(&report, r->command, NULL) != 0 ||
        sl_recordings_create(&report.recordings, files->count, SL_RECORDINGS_MEMORY) != 0)
        return cannot(r);
    report.recordings.needs = SL_NEED_PHASES;
    for (size_t i = 0; i < files->count; i++) {
        status = sl_recordings_read(&report.recordings, r->command, files->path[i]);
        worst = status > worst ? status : worst;
    }
    sl_report_sort(&report.recordings);
    if (report.recordings.count) {
        status = look(r, &report);
        worst = status > worst ? status : worst;
    } else if (!worst) {
        worst = sl_args_complain(r->command, "no trace was found");
    }
    sl_report_undivide(&report);
    sl_recordings_free(&report.recordings);
    return worst;
}

static int run(const struct sl_args *args)
{
    struct request r = {.args = args, .command = args->command};
    struct sl_job_files files = {0};
    int worst, status;

    if (args->operands == 0)
        return sl_args_complain(args->command, "PATH is missing: syncline %s",
                                args->command->usage);
    status = sl_patterns_read(&r.patterns, args->command, args->value[OPT_PATTERNS]);
    if (status)
        return status;
    worst = sl_job_files_find(&files, args, args->value[OPT_RUN], SL_JOB_FILES_ONE_JOB);
    if (!worst || files.count) {
        status = look_at_files(&r, &files);
        worst = status > worst ? status : worst;
    }
    sl_job_files_free(&files);
    sl_patterns_destroy(r.patterns);
    return worst;
}

const struct sl_command sl_cmd_pipeline = {
    .name = "pipeline",
    .summary = "how large is the bubble of each pipeline stage, and why?",
    .usage = "pipeline PATH... [options]",
    .help = sl_help_pipeline,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
