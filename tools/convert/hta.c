/*
 * hta.c - chooses the traces of a job for HTA: one run, one window, and each rank once.
 *
 * Threads, memory: see hta.h.
 */
#include "convert/hta.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "rank-"
#define END    ".pt.trace.json.gz"

static int newest_window_first(const void *a, const void *b)
{
    const struct sl_target_trace *x = a, *y = b;
    int order = strverscmp(y->window, x->window);

    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* By rank; of a rank the newest window, complete files before others, and large ones before small
 * ones. */
static int best_first(const void *a, const void *b)
{
    const struct sl_target_trace *x = a, *y = b;
    int order = (x->rank > y->rank) - (x->rank < y->rank);

    if (!order)
        order = strverscmp(y->window, x->window);
    if (!order)
        order = x->is_part - y->is_part;
    return order ? order : (y->size > x->size) - (y->size < x->size);
}

static size_t count_ranks(struct sl_target_trace *trace, size_t count)
{
    size_t ranks = 0;

    qsort(trace, count, sizeof(*trace), best_first);
    for (size_t i = 0; i < count; i++)
        ranks += i == 0 || trace[i].rank != trace[i - 1].rank;
    return ranks;
}

/* Finds the newest window that all ranks have. Returns its name, or NULL. `trace` is sorted by
 * window. */
static const char *common_window(const struct sl_target_trace *trace, size_t count, size_t ranks,
                                 int with_parts)
{
    for (size_t i = 0, next; i < count; i = next) {
        int64_t last = SL_TARGET_NO_RANK - 1;
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
static size_t keep_common(const struct sl_target_options *opt, struct sl_target_trace *trace,
                          size_t count)
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
static size_t keep_best(const struct sl_target_options *opt, struct sl_target_trace *trace,
                        size_t count)
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

static int is_of_run(const struct sl_target_trace *a, const struct sl_target_trace *b)
{
    return strcmp(a->job, b->job) == 0 && strcmp(a->run, b->run) == 0;
}

/* Leaves only the traces of the newest run of all jobs. */
static size_t keep_newest_run(const struct sl_target_options *opt, struct sl_target_trace *trace,
                              size_t count)
{
    struct sl_target_trace newest = trace[0];
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
                         "HTA reads one job: taking the newest, %s; left out: %zu trace%s of other "
                         "jobs (name the folder of a job to choose it)",
                         newest.job, others, others == 1 ? "" : "s");
    return kept;
}

int sl_hta_choose(struct sl_targets *out, const struct sl_target_options *opt,
                  struct sl_target_trace *trace, size_t *count)
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

int sl_hta_name(char *name, size_t size, const char *folder, int64_t rank)
{
    int length =
        snprintf(name, size, "%s/" PREFIX "%lld" END, folder, (long long)(rank < 0 ? 0 : rank));

    return length < (int)size ? 0 : -ENAMETOOLONG;
}

static int is_output(const struct sl_targets *targets, const char *name)
{
    for (size_t i = 0; i < targets->count; i++)
        if (strcmp(sl_target_name(targets->of[i].output), name) == 0)
            return 1;
    return 0;
}

/* HTA reads every .json and .gz file of the folder, so the folder must have no others. Returns 0,
 * or the exit status after a line on stderr. */
int sl_hta_clear(const struct sl_targets *targets, const struct sl_target_options *opt)
{
    DIR *folder = opendir(opt->folder);
    struct dirent *entry;
    char path[PATH_MAX];
    int status = 0;

    while (!status && folder && (entry = readdir(folder))) {
        char rest[sizeof(entry->d_name)];
        int is_ours;

        snprintf(rest, sizeof(rest), "%s", entry->d_name);
        is_ours = sl_target_strip(rest, END) && strncmp(rest, PREFIX, strlen(PREFIX)) == 0;
        if ((!is_ours && !sl_target_strip(rest, ".gz") && !sl_target_strip(rest, ".json")) ||
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
