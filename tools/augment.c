/*
 * augment.c - copies a trace as `syncline convert` does, and adds counters or other events to it.
 *
 * A trace is read a second time, because its counters are known only at its end.
 *
 * Threads, memory: see augment.h.
 */
#include "augment.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "convert/output.h"
#include "convert/request.h"
#include "convert/targets.h"
#include "report/counter_events.h"

struct more {
    sl_augment_fn put;
    const void *user;
};

/* The user of put_counters(). */
struct counters {
    const struct sl_report *report;
    const struct sl_recording *recording;
};

static void put_text(void *user, const char *text, size_t size)
{
    sl_output_write(user, text, size);
}

static int put_more(const struct sl_convert_request *r, struct sl_output *o)
{
    const struct more *more = r->user;

    return more->put(more->user, put_text, o);
}

static int put_counters(const void *user, void (*write)(void *to, const char *text, size_t size),
                        void *to)
{
    const struct counters *c = user;

    return sl_counter_events_write(c->report, c->recording, write, to);
}

static int ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Returns the input that is the same file as `output`, or NULL. */
static const char *input_at(const struct sl_job_files *files, const char *output)
{
    struct stat out, in;

    if (stat(output, &out) != 0)
        return NULL;
    for (size_t i = 0; i < files->count; i++)
        if (stat(files->path[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return files->path[i];
    return NULL;
}

int sl_augment_check(const struct sl_command *command, const struct sl_job_files *files,
                     const char *option, const char *out)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->path[i], "-") == 0)
            return sl_args_complain(command,
                                    "--%s reads a trace twice, which standard input does not "
                                    "allow: pass the file's name",
                                    option);
    if (input_at(files, out))
        return sl_args_complain(command, "--%s %s: this is an input: choose another name", option,
                                out);
    return 0;
}

int sl_augment_file(const struct sl_command *command, const char *input, const char *output,
                    sl_augment_fn put, const void *user)
{
    const struct more more = {put, user};
    struct sl_convert_request r = {.command = command,
                                   .input = input,
                                   .output = output,
                                   .force = 1,
                                   .more_events = put_more,
                                   .user = &more};

    if (ends_with(output, ".gz")) {
        r.compression = SL_COMPRESS_GZIP;
        r.level = 6;
    } else if (ends_with(output, ".zst")) {
        r.compression = SL_COMPRESS_ZSTD;
        r.level = 3;
    }
    /* As for `convert`: the write fails beyond the limit on file sizes, instead of a signal. */
    signal(SIGXFSZ, SIG_IGN);
    return sl_convert_kineto(&r);
}

static int write_one(const struct sl_command *command, const struct sl_report *report,
                     const struct sl_recording *recording, const char *output)
{
    const struct counters counters = {report, recording};

    return sl_augment_file(command, recording->path, output, put_counters, &counters);
}

static int write_all(const struct sl_command *command, const struct sl_report *report,
                     const char *folder)
{
    const struct sl_recordings *all = &report->recordings;
    struct sl_target_options opt = {.command = command,
                                    .kind = SL_TARGET_KINETO,
                                    .folder = folder,
                                    .suffix = SL_JOB_FILES_COUNTERS,
                                    .end = ".gz",
                                    .force = 1};
    struct sl_job_files files = {.path = calloc(all->count + 1, sizeof(char *))};
    struct sl_targets targets = {0};
    int status = 0;

    if (!files.path)
        return sl_args_complain(command, "not enough memory for the list of files");
    for (; files.count < all->count; files.count++)
        files.path[files.count] = (char *)all->of[files.count].path;
    status = sl_targets_find(&targets, &opt, &files);
    for (size_t i = 0; i < targets.count && status == 0; i++)
        if (input_at(&files, targets.of[i].output))
            status = sl_args_complain(command, "%s is an input: choose another folder",
                                      targets.of[i].output);
    for (size_t i = 0; i < targets.count && status != SL_EXIT_USAGE; i++) {
        int one = write_one(command, report, &all->of[i], targets.of[i].output);

        status = one > status ? one : status;
    }
    sl_targets_free(&targets);
    free(files.path);
    return status;
}

int sl_augment(const struct sl_command *command, const struct sl_report *report, const char *out)
{
    const struct sl_recordings *all = &report->recordings;
    struct sl_report every = *report;
    struct stat st;
    int is_folder = ends_with(out, "/") || (stat(out, &st) == 0 && S_ISDIR(st.st_mode));

    if (!is_folder && all->count > 1)
        return sl_args_complain(command, "--augment %s: several traces need a folder (%s/)", out,
                                out);
    every.counts_between = !sl_report_chooses_steps(report);
    return is_folder ? write_all(command, &every, out)
                     : write_one(command, &every, &all->of[0], out);
}
