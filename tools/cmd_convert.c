/*
 * cmd_convert.c - `syncline convert`: writes a trace in another format.
 *
 * This file handles the options; convert/ has one file per kind of format. The output file gets its
 * final name only when it is complete.
 *
 * Threads: main. Memory: none.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "convert/request.h"
#include "convert/targets.h"
#include "convert/window_starts.h"
#include "read/job_files.h"

enum {
    OPT_TO,
    OPT_OUTPUT,
    OPT_OUT_DIR,
    OPT_RUN,
    OPT_WINDOW,
    OPT_STEPS,
    OPT_LEVEL,
    OPT_RANK,
    OPT_ET,
    OPT_FORCE
};

static const struct sl_flag options[] = {
    [OPT_TO] = {"to", 't', "FORMAT", "kineto (plain JSON), kineto-gz, kineto-zst, chakra, hta"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "output file, which appears when it is complete; folders are created"},
    [OPT_OUT_DIR] = {"out-dir", 'd', "FOLDER", "folder for the outputs of several traces"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    [OPT_WINDOW] = {"window", 'w', "NAME",
                    "only traces of this window, such as 1 or step-000000501"},
    [OPT_STEPS] = {"steps", 's', "A..B", "Kineto formats: only the steps A to B"},
    [OPT_LEVEL] = {"level", 'l', "N",
                   "compression level: gzip 1 to 9 (default 6), zstd 1 to 19 (default 3)"},
    [OPT_RANK] = {"rank", 'r', "N", "chakra: the rank to write (default: the trace's own)"},
    [OPT_ET] = {"et", 'e', "FILE", "chakra: PyTorch's execution trace of the same run"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace outputs that exist"},
    {NULL, 0, NULL, NULL},
};

struct format {
    const char *name;
    enum sl_compression compression;
    int level, level_max;
    int (*convert)(const struct sl_convert_request *r);
    const char *end; /* suffix of the compression: the output's, and for Chakra what chooses it */
    enum sl_target_kind kind;
};

static const struct format formats[] = {
    {"kineto", SL_COMPRESS_NONE, 0, 0, sl_convert_kineto, "", SL_TARGET_KINETO},
    {"kineto-gz", SL_COMPRESS_GZIP, 6, 9, sl_convert_kineto, ".gz", SL_TARGET_KINETO},
    {"kineto-zst", SL_COMPRESS_ZSTD, 3, 19, sl_convert_kineto, ".zst", SL_TARGET_KINETO},
    {"hta", SL_COMPRESS_GZIP, 6, 9, sl_convert_kineto, ".gz", SL_TARGET_HTA},
    {"chakra", SL_COMPRESS_NONE, 0, 0, sl_convert_chakra, "", SL_TARGET_CHAKRA},
    {"chakra", SL_COMPRESS_GZIP, 6, 9, sl_convert_chakra, ".gz", SL_TARGET_CHAKRA},
    {"chakra", SL_COMPRESS_ZSTD, 3, 19, sl_convert_chakra, ".zst", SL_TARGET_CHAKRA},
};

#define HTA_FOLDER "hta" /* the folder for HTA if no other is named */

#define FORMAT_COUNT ((int)(sizeof(formats) / sizeof(formats[0])))

static int ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Finds the last format in the table that has this name. For Chakra, it also fits the suffix of the
 * output's name. */
static const struct format *find_format(const struct sl_convert_request *r, const char *name)
{
    const struct format *found = NULL;
    const char *names[FORMAT_COUNT];

    for (int i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(name, formats[i].name) == 0 &&
            (formats[i].kind != SL_TARGET_CHAKRA || !formats[i].end[0] ||
             (r->output && ends_with(r->output, formats[i].end))))
            found = &formats[i];
    }
    if (!found)
        sl_args_unknown(r->command, "format", name, names, FORMAT_COUNT,
                        "choose kineto, kineto-gz, kineto-zst, chakra or hta");
    return found;
}

/* Finds the format that the output's name means, or returns NULL after a line on stderr. */
static const struct format *infer_format(const struct sl_convert_request *r)
{
    char end[16];

    for (int i = 0; r->output && i < FORMAT_COUNT; i++) {
        snprintf(end, sizeof(end), "%s%s", formats[i].kind == SL_TARGET_CHAKRA ? ".et" : ".json",
                 formats[i].end);
        if (formats[i].kind != SL_TARGET_HTA && ends_with(r->output, end))
            return &formats[i];
    }
    if (r->output)
        sl_args_complain(r->command,
                         "--to is missing, and the name %s does not tell the format: it ends in "
                         ".json, .json.gz, .json.zst or .et",
                         r->output);
    else
        sl_args_complain(r->command, "--to is missing: syncline %s", r->command->usage);
    return NULL;
}

/* Sets the compression level. Returns 0, or the exit status after a line on stderr. If `level` is
 * NULL, the format's default level is used. */
static int set_level(struct sl_convert_request *r, const struct format *f, const char *level)
{
    uint64_t value;

    r->level = f->level;
    if (!level)
        return 0;
    if (f->level_max == 0)
        return sl_args_complain(r->command,
                                "--level applies to compressed output only: leave it out");
    if (sl_args_number(level, (uint64_t)f->level_max, &value) != 0 || value < 1)
        return sl_args_complain(r->command, "--level %s is not valid: %s%s takes 1 to %d", level,
                                f->name, f->kind == SL_TARGET_CHAKRA ? f->end : "", f->level_max);
    r->level = (int)value;
    return 0;
}

/* Returns 0, or the exit status after a line on stderr. */
static int set_rank(struct sl_convert_request *r, const char *rank)
{
    uint64_t value;

    if (!rank)
        return 0;
    if (sl_args_number(rank, INT32_MAX, &value) != 0)
        return sl_args_complain(r->command, "--rank %s is not valid: give a number, 0 or more",
                                rank);
    r->has_rank = 1;
    r->rank = (int32_t)value;
    return 0;
}

/* Reads "A..B" or "A". Returns 0, or the exit status after a line on stderr. */
static int set_steps(struct sl_convert_request *r, const struct format *f, const char *steps)
{
    const char *dots = steps ? strstr(steps, "..") : NULL;
    uint64_t first, last;
    char text[32];

    if (!steps)
        return 0;
    if (f->kind == SL_TARGET_CHAKRA)
        return sl_args_complain(r->command,
                                "--steps is only for Kineto formats: cut out the steps first, and "
                                "convert the result to chakra");
    snprintf(text, sizeof(text), "%.*s", dots ? (int)(dots - steps) : (int)strlen(steps), steps);
    if (sl_args_number(text, INT64_MAX, &first) != 0 ||
        sl_args_number(dots ? dots + 2 : text, INT64_MAX, &last) != 0 || last < first)
        return sl_args_complain(
            r->command, "--steps %s is not valid: give FIRST..LAST, such as 100..103", steps);
    r->has_steps = 1;
    r->first_step = (int64_t)first;
    r->last_step = (int64_t)last;
    return 0;
}

/* Converts one trace to one file. */
static int convert_one(struct sl_convert_request *r, const struct format *f,
                       const struct sl_job_files *files)
{
    if (files->count > 1)
        return sl_args_complain(r->command,
                                "%zu traces: name a folder for the outputs, --out-dir FOLDER in "
                                "place of -o",
                                files->count);
    r->input = files->path[0];
    return f->convert(r);
}

/* Converts the traces to files of a folder. Returns the worst exit status. */
static int convert_all(struct sl_convert_request *r, const struct format *f,
                       const struct sl_args *args, const struct sl_job_files *files)
{
    struct sl_target_options opt = {.command = r->command,
                                    .kind = f->kind,
                                    .end = f->end,
                                    .folder = args->value[OPT_OUT_DIR],
                                    .force = r->force};
    struct sl_window_starts starts = {0};
    struct sl_targets targets;
    size_t written = 0;
    int worst;

    if (!opt.folder)
        opt.folder = HTA_FOLDER;
    worst = sl_targets_find(&targets, &opt, files);
    if (worst)
        return worst;
    if (f->kind == SL_TARGET_CHAKRA && sl_window_starts_read(&starts, files->path, files->count)) {
        sl_targets_free(&targets);
        return sl_args_complain(r->command, "not enough memory for the list of files");
    }
    for (size_t i = 0; i < targets.count; i++) {
        int status;

        r->input = targets.of[i].input;
        r->output = targets.of[i].output;
        r->base_ns = sl_window_starts_earliest(&starts, r->input);
        status = f->convert(r);
        written += status != SL_EXIT_USAGE;
        worst = status > worst ? status : worst;
    }
    if (written && f->kind == SL_TARGET_HTA)
        printf("%s: %s\nopen with: TraceAnalysis(trace_dir=\"%s\"), or a file of it at "
               "https://ui.perfetto.dev\n",
               opt.folder, targets.about, opt.folder);
    else if (written)
        printf("%s: %zu trace%s written\n", opt.folder, written, written == 1 ? "" : "s");
    sl_window_starts_free(&starts);
    sl_targets_free(&targets);
    return worst;
}

/* Checks that the outputs are named once. Returns 0, or the exit status after a line on stderr. */
static int check_outputs(const struct sl_args *args, const struct format *f)
{
    const char *const *value = args->value;
    int has_file = value[OPT_OUTPUT] != NULL, has_folder = value[OPT_OUT_DIR] != NULL;

    if (f->kind == SL_TARGET_HTA && has_file)
        return sl_args_complain(args->command,
                                "HTA reads a folder: --out-dir FOLDER in place of -o (default: "
                                "the folder " HTA_FOLDER ")");
    if (has_file && has_folder)
        return sl_args_complain(args->command,
                                "-o and --out-dir exclude each other: leave one out");
    if (has_folder ? !*value[OPT_OUT_DIR]
        : has_file ? !*value[OPT_OUTPUT]
                   : f->kind != SL_TARGET_HTA)
        return sl_args_complain(args->command,
                                "-o FILE or --out-dir FOLDER is missing: syncline %s",
                                args->command->usage);
    return 0;
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    struct sl_convert_request r = {.command = args->command,
                                   .output = value[OPT_OUTPUT],
                                   .force = value[OPT_FORCE] != NULL,
                                   .et = value[OPT_ET]};
    struct sl_job_files files;
    const struct format *f;
    int status;

    if (args->operands == 0)
        return sl_args_complain(r.command, "PATH is missing: syncline %s", r.command->usage);
    f = value[OPT_TO] ? find_format(&r, value[OPT_TO]) : infer_format(&r);
    if (!f || check_outputs(args, f) != 0 || set_level(&r, f, value[OPT_LEVEL]) != 0 ||
        set_rank(&r, value[OPT_RANK]) != 0 || set_steps(&r, f, value[OPT_STEPS]) != 0)
        return SL_EXIT_USAGE;
    if (f->kind != SL_TARGET_CHAKRA && (value[OPT_RANK] || r.et))
        return sl_args_complain(r.command, "--%s is only for --to chakra: leave it out",
                                value[OPT_RANK] ? "rank" : "et");
    r.compression = f->compression;
    /* If the output exceeds the limit on file sizes (RLIMIT_FSIZE), the write fails with an error,
     * as on a full disk. Without this call a signal would end the process. */
    signal(SIGXFSZ, SIG_IGN);
    status = sl_job_files_find(&files, args, value[OPT_RUN], 0);
    if (!status && value[OPT_WINDOW])
        status = sl_targets_take_window(&files, r.command, value[OPT_WINDOW]);
    if (!status)
        status = r.output ? convert_one(&r, f, &files) : convert_all(&r, f, args, &files);
    sl_job_files_free(&files);
    return status;
}

const struct sl_command sl_cmd_convert = {
    .name = "convert",
    .summary = "other formats and compression; a folder for HTA; a part of a trace",
    .usage = "convert PATH... [--to FORMAT] (-o FILE | --out-dir FOLDER) [options]",
    .help = sl_help_convert,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
