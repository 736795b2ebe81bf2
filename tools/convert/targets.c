/*
 * targets.c - chooses the traces that `syncline convert` reads, and names the files that it writes.
 *
 * An output has the name of its input, with another suffix. If that name repeats, as names of
 * windows do on several ranks, the names of the folders above the input are kept as well, as far as
 * they are needed.
 *
 * Threads, memory: see targets.h.
 */
#include "convert/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "convert/hta.h"
#include "convert/output.h"
#include "read/trace_file.h"

#define NAMED_MAX 5 /* most windows that one line names */

/* ---- names ---- */

const char *sl_target_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Removes the suffix, if `name` has it. Returns 1 if it had. */
int sl_target_strip(char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);

    if (size <= end_size || strcmp(name + size - end_size, end) != 0)
        return 0;
    name[size - end_size] = '\0';
    return 1;
}

static int strip_packing(char *name)
{
    int is_part = sl_target_strip(name, ".part");

    if (!sl_target_strip(name, ".zst"))
        (void)sl_target_strip(name, ".gz");
    return is_part;
}

/* The name of the window in the file's name. Returns 1 if the file is not complete. */
static int read_window(char *window, size_t size, const char *path)
{
    int is_part;

    snprintf(window, size, "%s", sl_target_name(path));
    is_part = strip_packing(window);
    if (sl_target_strip(window, ".json")) {
        (void)sl_target_strip(window, SL_JOB_FILES_COUNTERS);
        if (sl_target_strip(window, ".trace"))
            (void)sl_target_strip(window, ".pt");
    }
    return is_part;
}

/* The last `depth` parts of a path, of which the last is the name of the file. */
static const char *tail(const char *path, int depth)
{
    const char *at = path + strlen(path);

    while (at > path && (at[-1] != '/' || --depth > 0))
        at--;
    while (*at == '/' || strncmp(at, "./", 2) == 0 || strncmp(at, "../", 3) == 0)
        at++; /* an output stays inside the folder */
    return at;
}

/* Writes the output's name. Returns 0 or -ENAMETOOLONG. */
static int name_output(char *name, size_t size, const struct sl_target_options *opt,
                       const struct sl_target_trace *t, int depth)
{
    const char *end = opt->end;
    char rest[PATH_MAX];
    int length;

    if (opt->kind == SL_TARGET_HTA)
        return sl_hta_name(name, size, opt->folder, t->rank);
    snprintf(rest, sizeof(rest), "%s", tail(t->path, depth));
    (void)strip_packing(rest);
    if (opt->kind == SL_TARGET_CHAKRA && sl_target_strip(rest, ".et")) {
        length = snprintf(name, size, "%s/%s.et%s", opt->folder, rest, end);
    } else if (opt->kind == SL_TARGET_CHAKRA) {
        if (!sl_target_strip(rest, ".pt.trace.json") && !sl_target_strip(rest, ".trace.json"))
            (void)sl_target_strip(rest, ".json");
        length = snprintf(name, size, "%s/%s.%lld.et%s", opt->folder, rest,
                          (long long)(t->rank < 0 ? 0 : t->rank), end);
    } else {
        (void)sl_target_strip(rest, ".json");
        length = snprintf(name, size, "%s/%s%s.json%s", opt->folder, rest,
                          opt->suffix ? opt->suffix : "", end);
    }
    return length < (int)size ? 0 : -ENAMETOOLONG;
}

static int no_memory(const struct sl_command *command)
{
    return sl_args_complain(command, "not enough memory for the list of files");
}

static int by_output(const void *a, const void *b)
{
    return strcmp(((const struct sl_target *)a)->output, ((const struct sl_target *)b)->output);
}

/* Names all outputs with `depth` parts of the inputs' paths. Returns 0, 1 if two outputs have the
 * same name, or a negative errno. */
static int name_all(struct sl_targets *out, const struct sl_target_options *opt,
                    const struct sl_target_trace *trace, size_t count, int depth)
{
    struct sl_target *sorted;
    char name[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < count && !rc; i++) {
        rc = name_output(name, sizeof(name), opt, &trace[i], depth);
        free(out->of[i].output);
        out->of[i].input = trace[i].path;
        out->of[i].output = rc ? NULL : strdup(name);
        if (!rc && !out->of[i].output)
            rc = -ENOMEM;
    }
    sorted = rc ? NULL : malloc(count * sizeof(*sorted));
    if (!sorted)
        return rc ? rc : -ENOMEM;
    memcpy(sorted, out->of, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_output);
    for (size_t i = 1; i < count; i++)
        rc |= strcmp(sorted[i - 1].output, sorted[i].output) == 0;
    free(sorted);
    return rc;
}

static int depth_of(const struct sl_target_trace *trace, size_t count)
{
    int most = 1;

    for (size_t i = 0; i < count; i++) {
        int depth = 1;

        for (const char *c = trace[i].path; *c; c++)
            depth += *c == '/';
        most = depth > most ? depth : most;
    }
    return most;
}

/* Returns 0, or the exit status after a line on stderr. */
static int name_targets(struct sl_targets *out, const struct sl_target_options *opt,
                        const struct sl_target_trace *trace, size_t count)
{
    int most = depth_of(trace, count), rc = 1;

    out->count = count;
    for (int depth = 1; rc > 0 && depth <= most; depth++)
        rc = name_all(out, opt, trace, count, depth);
    if (rc > 0)
        return sl_args_complain(opt->command, "a trace is named twice: name each once");
    if (rc == -ENAMETOOLONG)
        return sl_args_complain(opt->command, "--out-dir %s: the name is too long", opt->folder);
    return rc ? no_memory(opt->command) : 0;
}

/* ---- what is in the traces ---- */

/* Reads rank, job and run. A file that was begun before its rank was known has the rank at its end.
 * Returns 0, or the exit status after a line on stderr. */
static int look_into(struct sl_target_trace *x, const struct sl_command *command)
{
    static struct sl_header h;
    struct sl_trace_item *item;
    struct sl_json_error error;
    struct sl_trace *t;
    struct stat st;
    char why[512];

    if (sl_trace_open(&t, x->path, why, sizeof(why)) != 0)
        return sl_args_complain(command, "%s", why);
    memset(&h, 0, sizeof(h));
    while (sl_trace_next(t, &item)) {
        if (item->span.kind == SL_SPAN_FIELD && item->status == 0)
            sl_trace_visit(t, &item->span, sl_header_value, &h, &error);
        else if (item->span.kind == SL_SPAN_EVENT && h.has_rank)
            break;
        else if (item->span.kind == SL_SPAN_EVENT)
            sl_trace_take_rank(t, item, &h);
    }
    sl_trace_close(t);
    x->rank = h.has_rank ? h.rank : SL_TARGET_NO_RANK;
    x->size = stat(x->path, &st) == 0 ? st.st_size : 0;
    memcpy(x->job, h.job, sizeof(x->job));
    memcpy(x->run, h.run, sizeof(x->run));
    x->run_start_ns = h.run_start_ns;
    return 0;
}

static int is_et(const char *path)
{
    char name[256];

    snprintf(name, sizeof(name), "%s", sl_target_name(path));
    (void)strip_packing(name);
    return sl_target_strip(name, ".et");
}

/* ---- all together ---- */

static int no_window(const struct sl_job_files *files, const struct sl_command *command,
                     const char *window)
{
    char list[512] = "", last[256] = "", name[256];
    int named = 0;

    for (size_t i = 0; i < files->count && named < NAMED_MAX; i++) {
        size_t used = strlen(list);

        read_window(name, sizeof(name), files->path[i]);
        if (strcmp(name, last) == 0 || strstr(list, name))
            continue;
        snprintf(list + used, sizeof(list) - used, "%s%s", named++ ? ", " : "", name);
        snprintf(last, sizeof(last), "%s", name);
    }
    return sl_args_complain(command, "no window '%s': there are %s%s", window, list,
                            named == NAMED_MAX ? "..." : "");
}

int sl_targets_take_window(struct sl_job_files *files, const struct sl_command *command,
                           const char *window)
{
    size_t kept = 0;
    char name[256];

    for (size_t i = 0; i < files->count; i++) {
        read_window(name, sizeof(name), files->path[i]);
        kept += strcmp(name, window) == 0;
    }
    if (!kept)
        return no_window(files, command, window);
    kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        read_window(name, sizeof(name), files->path[i]);
        if (strcmp(name, window) == 0)
            files->path[kept++] = files->path[i];
        else
            free(files->path[i]);
    }
    files->count = kept;
    return 0;
}

int sl_targets_find(struct sl_targets *out, const struct sl_target_options *opt,
                    const struct sl_job_files *files)
{
    struct sl_target_trace *trace;
    size_t count = files->count;
    int status = 0;

    memset(out, 0, sizeof(*out));
    if (!count)
        return sl_args_complain(opt->command, "there is no trace to convert");
    trace = calloc(count, sizeof(*trace));
    out->of = calloc(count, sizeof(*out->of));
    if (!trace || !out->of) {
        free(trace);
        free(out->of);
        out->of = NULL;
        return no_memory(opt->command);
    }
    for (size_t i = 0; i < count && !status; i++) {
        trace[i].path = files->path[i];
        trace[i].rank = SL_TARGET_NO_RANK;
        trace[i].is_part = read_window(trace[i].window, sizeof(trace[i].window), trace[i].path);
        if (strcmp(trace[i].path, "-") == 0)
            status = sl_args_complain(opt->command, "standard input has no name: use -o FILE");
        else if (opt->kind == SL_TARGET_HTA ||
                 (opt->kind == SL_TARGET_CHAKRA && !is_et(trace[i].path)))
            status = look_into(&trace[i], opt->command);
    }
    if (!status && opt->kind == SL_TARGET_HTA)
        status = sl_hta_choose(out, opt, trace, &count);
    if (!status)
        status = name_targets(out, opt, trace, count);
    for (size_t i = 0; i < out->count && !status; i++)
        status = sl_output_check(opt->command, out->of[i].input, out->of[i].output, opt->force);
    if (!status && opt->kind == SL_TARGET_HTA)
        status = sl_hta_clear(out, opt);
    free(trace);
    if (status)
        sl_targets_free(out);
    return status;
}

void sl_targets_free(struct sl_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        free(targets->of[i].output);
    free(targets->of);
    memset(targets, 0, sizeof(*targets));
}
