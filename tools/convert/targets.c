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

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/output.h"
#include "read/trace_file.h"

#define NO_RANK    (-1)
#define NAMED_MAX  5 /* most windows that one line names */
#define HTA_PREFIX "rank-"
#define HTA_END    ".pt.trace.json.gz"

struct trace {
    const char *path;
    char window[256]; /* name of the file without suffixes */
    int is_part;      /* 1: the job still runs or was killed */
    int64_t rank;     /* NO_RANK: not known */
    off_t size;
    char job[128], run[65];
    int64_t run_start_ns; /* 0: not known */
};

/* ---- names ---- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Removes the suffix, if `name` has it. Returns 1 if it had. */
static int strip(char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);

    if (size <= end_size || strcmp(name + size - end_size, end) != 0)
        return 0;
    name[size - end_size] = '\0';
    return 1;
}

static int strip_packing(char *name)
{
    int is_part = strip(name, ".part");

    if (!strip(name, ".zst"))
        (void)strip(name, ".gz");
    return is_part;
}

/* The name of the window in the file's name. Returns 1 if the file is not complete. */
static int read_window(char *window, size_t size, const char *path)
{
    int is_part;

    snprintf(window, size, "%s", name_of(path));
    is_part = strip_packing(window);
    if (!strip(window, ".pt.trace.json") && !strip(window, ".trace.json"))
        (void)strip(window, ".json");
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
                       const struct trace *t, int depth)
{
    const char *end = opt->end;
    char rest[PATH_MAX];
    int length;

    if (opt->kind == SL_TARGET_HTA) {
        length = snprintf(name, size, "%s/" HTA_PREFIX "%lld" HTA_END, opt->folder,
                          (long long)(t->rank < 0 ? 0 : t->rank));
        return length < (int)size ? 0 : -ENAMETOOLONG;
    }
    snprintf(rest, sizeof(rest), "%s", tail(t->path, depth));
    (void)strip_packing(rest);
    if (opt->kind == SL_TARGET_CHAKRA && strip(rest, ".et")) {
        length = snprintf(name, size, "%s/%s.et%s", opt->folder, rest, end);
    } else if (opt->kind == SL_TARGET_CHAKRA) {
        if (!strip(rest, ".pt.trace.json") && !strip(rest, ".trace.json"))
            (void)strip(rest, ".json");
        length = snprintf(name, size, "%s/%s.%lld.et%s", opt->folder, rest,
                          (long long)(t->rank < 0 ? 0 : t->rank), end);
    } else {
        (void)strip(rest, ".json");
        length = snprintf(name, size, "%s/%s.json%s", opt->folder, rest, end);
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
                    const struct trace *trace, size_t count, int depth)
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

static int depth_of(const struct trace *trace, size_t count)
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
                        const struct trace *trace, size_t count)
{
    int most = depth_of(trace, count), rc = 1;

    out->of = calloc(count, sizeof(*out->of));
    if (!out->of)
        return no_memory(opt->command);
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
static int look_into(struct trace *x, const struct sl_command *command)
{
    static struct sl_header h;
    struct sl_trace_item item;
    struct sl_json_error error;
    struct sl_trace *t;
    struct stat st;
    char why[512];

    if (sl_trace_open(&t, x->path, why, sizeof(why)) != 0)
        return sl_args_complain(command, "%s", why);
    memset(&h, 0, sizeof(h));
    while (sl_trace_next(t, &item)) {
        if (item.span.kind == SL_SPAN_FIELD && item.status == 0)
            sl_trace_visit(t, &item.span, sl_header_value, &h, &error);
        else if (item.span.kind == SL_SPAN_EVENT && h.has_rank)
            break;
        else if (item.span.kind == SL_SPAN_EVENT)
            sl_trace_take_rank(t, &item, &h);
    }
    sl_trace_close(t);
    x->rank = h.has_rank ? h.rank : NO_RANK;
    x->size = stat(x->path, &st) == 0 ? st.st_size : 0;
    memcpy(x->job, h.job, sizeof(x->job));
    memcpy(x->run, h.run, sizeof(x->run));
    x->run_start_ns = h.run_start_ns;
    return 0;
}

static int is_et(const char *path)
{
    char name[256];

    snprintf(name, sizeof(name), "%s", name_of(path));
    (void)strip_packing(name);
    return strip(name, ".et");
}

/* ---- the choice for HTA ---- */

static int newest_window_first(const void *a, const void *b)
{
    const struct trace *x = a, *y = b;
    int order = strverscmp(y->window, x->window);

    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* By rank; of a rank the newest window, complete files before others, and large ones before small
 * ones. */
static int best_first(const void *a, const void *b)
{
    const struct trace *x = a, *y = b;
    int order = (x->rank > y->rank) - (x->rank < y->rank);

    if (!order)
        order = strverscmp(y->window, x->window);
    if (!order)
        order = x->is_part - y->is_part;
    return order ? order : (y->size > x->size) - (y->size < x->size);
}

static size_t count_ranks(struct trace *trace, size_t count)
{
    size_t ranks = 0;

    qsort(trace, count, sizeof(*trace), best_first);
    for (size_t i = 0; i < count; i++)
        ranks += i == 0 || trace[i].rank != trace[i - 1].rank;
    return ranks;
}

/* Finds the newest window that all ranks have. Returns its name, or NULL. `trace` is sorted by
 * window. */
static const char *common_window(const struct trace *trace, size_t count, size_t ranks,
                                 int with_parts)
{
    for (size_t i = 0, next; i < count; i = next) {
        int64_t last = NO_RANK - 1;
        size_t here = 0;

        for (next = i; next < count && strcmp(trace[next].window, trace[i].window) == 0; next++) {
            if ((trace[next].is_part && !with_parts) || trace[next].rank == last)
                continue;
            last = trace[next].rank;
            here++;
        }
        if (here == ranks)
            return trace[i].window;
    }
    return NULL;
}

/* Leaves only the traces of one window. */
static size_t keep_common(const struct sl_target_options *opt, struct trace *trace, size_t count)
{
    size_t ranks = count_ranks(trace, count), kept = 0;
    char window[sizeof(trace->window)];
    const char *found;

    qsort(trace, count, sizeof(*trace), newest_window_first);
    found = common_window(trace, count, ranks, 0);
    if (!found)
        found = common_window(trace, count, ranks, 1);
    if (!found) {
        sl_args_complain(opt->command,
                         "no window has all %zu ranks: taking the newest window of each rank "
                         "(--window chooses one)",
                         ranks);
        return count;
    }
    memcpy(window, found, sizeof(window));
    for (size_t i = 0; i < count; i++)
        if (strcmp(trace[i].window, window) == 0)
            trace[kept++] = trace[i];
    return kept;
}

/* Leaves one trace of each rank. */
static size_t keep_best(const struct sl_target_options *opt, struct trace *trace, size_t count)
{
    size_t kept = 0;

    qsort(trace, count, sizeof(*trace), best_first);
    for (size_t i = 0; i < count; i++) {
        if (kept && trace[kept - 1].rank == trace[i].rank) {
            if (strcmp(trace[kept - 1].window, trace[i].window) == 0)
                sl_args_complain(opt->command,
                                 "left out: %s: HTA takes one trace of a rank, and %s is larger",
                                 trace[i].path, trace[kept - 1].path);
            continue;
        }
        trace[kept++] = trace[i];
    }
    return kept;
}

static int is_of_run(const struct trace *a, const struct trace *b)
{
    return strcmp(a->job, b->job) == 0 && strcmp(a->run, b->run) == 0;
}

/* Leaves only the traces of the newest run of all jobs. */
static size_t keep_newest_run(const struct sl_target_options *opt, struct trace *trace,
                              size_t count)
{
    struct trace newest = trace[0];
    size_t kept = 0, others = 0;

    for (size_t i = 1; i < count; i++)
        if (trace[i].run_start_ns > newest.run_start_ns)
            newest = trace[i];
    for (size_t i = 0; i < count; i++) {
        if (is_of_run(&trace[i], &newest))
            trace[kept++] = trace[i];
        else
            others++;
    }
    if (others)
        sl_args_complain(opt->command,
                         "HTA reads one job: taking the newest, %s; left out: %zu traces of other "
                         "jobs (name the folder of a job to choose it)",
                         newest.job, others);
    return kept;
}

/* Returns 0, or the exit status after a line on stderr. */
static int choose_for_hta(struct sl_targets *out, const struct sl_target_options *opt,
                          struct trace *trace, size_t *count)
{
    *count = keep_newest_run(opt, trace, *count);
    for (size_t i = 0; i<*count && * count> 1; i++)
        if (trace[i].rank < 0)
            return sl_args_complain(opt->command,
                                    "%s has no rank, so HTA cannot tell it from the others: "
                                    "convert it alone",
                                    trace[i].path);
    *count = keep_common(opt, trace, *count);
    *count = keep_best(opt, trace, *count);
    snprintf(out->about, sizeof(out->about), "%zu rank%s of window %s%s%s%s%s", *count,
             *count == 1 ? "" : "s", trace[0].window, trace[0].job[0] ? ", job " : "", trace[0].job,
             trace[0].run[0] ? ", run " : "", trace[0].run);
    return 0;
}

static int is_output(const struct sl_targets *targets, const char *name)
{
    for (size_t i = 0; i < targets->count; i++)
        if (strcmp(name_of(targets->of[i].output), name) == 0)
            return 1;
    return 0;
}

/* HTA reads every .json and .gz file of the folder, so the folder must have no others. Returns 0,
 * or the exit status after a line on stderr. */
static int clear_for_hta(const struct sl_targets *targets, const struct sl_target_options *opt)
{
    DIR *folder = opendir(opt->folder);
    struct dirent *entry;
    char path[PATH_MAX];
    int status = 0;

    while (!status && folder && (entry = readdir(folder))) {
        char rest[sizeof(entry->d_name)];
        int is_ours;

        snprintf(rest, sizeof(rest), "%s", entry->d_name);
        is_ours = strip(rest, HTA_END) && strncmp(rest, HTA_PREFIX, strlen(HTA_PREFIX)) == 0;
        if ((!is_ours && !strip(rest, ".gz") && !strip(rest, ".json")) ||
            is_output(targets, entry->d_name))
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", opt->folder, entry->d_name) >= PATH_MAX)
            continue;
        if (!is_ours)
            status = sl_args_complain(
                opt->command,
                "%s is in the folder, and HTA would read it: choose another --out-dir", path);
        else if (!opt->force)
            status = sl_args_complain(
                opt->command, "%s is of another conversion: use --force to replace them all", path);
        else if (unlink(path) != 0)
            status = sl_args_complain(opt->command, "cannot remove %s: %s", path, strerror(errno));
    }
    if (folder)
        closedir(folder);
    return status;
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
    struct trace *trace = calloc(files->count ? files->count : 1, sizeof(*trace));
    size_t count = files->count;
    int status = 0;

    memset(out, 0, sizeof(*out));
    if (!trace)
        return no_memory(opt->command);
    for (size_t i = 0; i < count && !status; i++) {
        trace[i].path = files->path[i];
        trace[i].rank = NO_RANK;
        trace[i].is_part = read_window(trace[i].window, sizeof(trace[i].window), trace[i].path);
        if (strcmp(trace[i].path, "-") == 0)
            status = sl_args_complain(opt->command, "standard input has no name: use -o FILE");
        else if (opt->kind == SL_TARGET_HTA ||
                 (opt->kind == SL_TARGET_CHAKRA && !is_et(trace[i].path)))
            status = look_into(&trace[i], opt->command);
    }
    if (!status && opt->kind == SL_TARGET_HTA)
        status = choose_for_hta(out, opt, trace, &count);
    if (!status)
        status = name_targets(out, opt, trace, count);
    for (size_t i = 0; i < out->count && !status; i++)
        status = sl_output_check(opt->command, out->of[i].input, out->of[i].output, opt->force);
    if (!status && opt->kind == SL_TARGET_HTA)
        status = clear_for_hta(out, opt);
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
