/*
 * job_files.c - finds the trace files below folders, and chooses the run.
 *
 * Files belong together if their headers name the same job and run. A file whose header cannot be
 * read belongs to the run of the other files in its folder; without such files, to the newest run
 * of the job in the folder above, because each process has its own folder in that of the job. Files
 * without a run id, of older versions and of other programs, are one run called "none". It counts
 * as older than the others, because its start is not known.
 *
 * A window may be there several times: as the library wrote it, and as `syncline convert` wrote it
 * in another compression. Such copies are in one folder, differ only in the ends of their names,
 * and have the same run, rank and base time. One of them is read. A trace with counters is a copy
 * of the trace without them in any folder, because --augment writes it to a folder of the user's
 * choice.
 *
 * Threads, memory: see job_files.h.
 */
#include "read/job_files.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "print/format.h"
#include "read/et_file.h"
#include "read/header.h"
#include "read/trace_file.h"

#define UNKNOWN   UINT_MAX
#define NO_ID     "none"
#define NAMED_MAX 5 /* most runs that one line names */
#define LIST_SIZE 1024

struct found {
    char *path;
    size_t stem_size;      /* of the path, without what may differ in a copy */
    unsigned run;          /* index in struct search; UNKNOWN: the header cannot be read */
    int64_t rank, base_ns; /* -1 and 0: not known */
    int is_empty, is_copy;
};

struct job_run {
    char job[128], id[65];
    int64_t start_ns; /* the start of the first rank; 0: not known */
    unsigned files;
    int is_chosen;
};

struct search {
    const struct sl_args *args;
    const char *wanted; /* value of --run; NULL: the newest run of each job */
    unsigned how;       /* flags of enum sl_job_files_flag */
    struct found *file;
    struct job_run *run;
    size_t files, runs;
};

/* Makes room for one more entry of an array. Returns the array, or NULL. */
static void *grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1)) /* the room is a power of two */
        return array;
    return realloc(array, (count ? 2 * count : 1) * size);
}

static int no_memory(const struct search *s)
{
    return sl_args_complain(s->args->command, "not enough memory for the list of files");
}

/* ---- files ---- */

/* Returns 1 if the header can be read, at least in part. */
static int read_kineto_header(struct sl_header *h, struct sl_input *input)
{
    struct sl_trace_item *item;
    struct sl_json_error error;
    struct sl_trace *t;
    int is_read = 0;

    if (sl_trace_open_reader(&t, sl_input_read, input) != 0)
        return 0;
    while (sl_trace_next(t, &item) && item->span.kind <= SL_SPAN_FIELD) {
        if (item->span.kind == SL_SPAN_FIELD && item->status == 0)
            is_read |= sl_trace_visit(t, &item->span, sl_header_value, h, &error) == 0;
    }
    if (item->span.kind >= SL_SPAN_CUT && !h->run[0])
        is_read = 0; /* the run may follow the place where the file is cut */
    sl_trace_close(t);
    return is_read;
}

/* Reads job and run, which stay empty if the file has none. Returns 0 if the file cannot be read:
 * then the command reports this. */
static int read_header(struct sl_header *h, const char *path)
{
    struct sl_input *input;
    int is_read = 0;
    struct sl_et *et;
    char why[512];

    memset(h, 0, sizeof(*h));
    if (sl_input_open(&input, path, why, sizeof(why)) != 0)
        return 0;
    if (!sl_et_is_input(input, path)) {
        is_read = read_kineto_header(h, input);
    } else if (sl_et_open_input(&et, input) == 0) {
        memcpy(h->job, et->state.job, sizeof(h->job));
        memcpy(h->run, et->state.run, sizeof(h->run));
        h->run_start_ns = et->state.run_start_ns;
        is_read = et->state.has_metadata;
        sl_et_close(et);
        return is_read;
    }
    sl_input_close(input);
    return is_read;
}

/* Returns the file's run, or NULL without memory. */
static struct job_run *find_run(struct search *s, const struct sl_header *h)
{
    const char *id = h->run[0] ? h->run : NO_ID;
    struct job_run *r;

    for (r = s->run; r < s->run + s->runs; r++)
        if (strcmp(r->job, h->job) == 0 && strcmp(r->id, id) == 0)
            return r;
    r = grow(s->run, s->runs, sizeof(*r));
    if (!r)
        return NULL;
    s->run = r;
    r += s->runs++;
    memset(r, 0, sizeof(*r));
    snprintf(r->job, sizeof(r->job), "%s", h->job);
    snprintf(r->id, sizeof(r->id), "%s", id);
    return r;
}

/* Returns 0, or the exit status after a line on stderr. */
static int add(struct search *s, const char *path, size_t stem_size, int is_empty)
{
    static struct sl_header header;
    struct found *f = grow(s->file, s->files, sizeof(*f));
    struct job_run *r = NULL;

    if (!f)
        return no_memory(s);
    s->file = f;
    f += s->files;
    *f = (struct found){.stem_size = stem_size, .run = UNKNOWN, .rank = -1, .is_empty = is_empty};
    if (read_header(&header, path)) {
        r = find_run(s, &header);
        if (!r)
            return no_memory(s);
        f->run = (unsigned)(r - s->run);
        f->rank = header.has_rank ? header.rank : -1;
        f->base_ns = header.base_ns;
        if (header.run_start_ns && (!r->start_ns || header.run_start_ns < r->start_ns))
            r->start_ns = header.run_start_ns;
    }
    f->path = strdup(path);
    if (!f->path)
        return no_memory(s);
    s->files++;
    return 0;
}

static int is_newer(const struct job_run *a, const struct job_run *b)
{
    return a->start_ns > b->start_ns;
}

/* Returns the newest run in the folder above that of the file, or UNKNOWN if several jobs, or none,
 * are there. */
static unsigned run_above(const struct search *s, const struct found *f)
{
    size_t above = (size_t)(strrchr(f->path, '/') - f->path);
    unsigned newest = UNKNOWN;

    while (above && f->path[above - 1] != '/')
        above--;
    for (size_t k = 0; k < s->files; k++) {
        unsigned run = s->file[k].run;

        if (run == UNKNOWN || strncmp(s->file[k].path, f->path, above) != 0)
            continue;
        if (newest != UNKNOWN && strcmp(s->run[run].job, s->run[newest].job) != 0)
            return UNKNOWN;
        if (newest == UNKNOWN || is_newer(&s->run[run], &s->run[newest]))
            newest = run;
    }
    return newest;
}

/* Puts each file whose header cannot be read, such as an empty .part file, into the run of
 * another file of its folder, or of the folder above. Returns 0, or the exit status after a line on
 * stderr. */
static int adopt(struct search *s)
{
    static const struct sl_header none;

    for (size_t i = 0; i < s->files; i++) {
        struct found *f = &s->file[i];
        size_t folder = (size_t)(strrchr(f->path, '/') - f->path) + 1;
        struct job_run *r;

        for (size_t k = 0; f->run == UNKNOWN && k < s->files; k++)
            if (s->file[k].run != UNKNOWN && strncmp(s->file[k].path, f->path, folder) == 0 &&
                !strchr(s->file[k].path + folder, '/'))
                f->run = s->file[k].run;
        /* An empty file is of a process that was killed before it recorded anything, maybe long
         * ago: it must not spoil later runs. */
        if (f->run == UNKNOWN && !f->is_empty)
            f->run = run_above(s, f);
        if (f->run == UNKNOWN || !s->run) {
            r = find_run(s, &none);
            if (!r)
                return no_memory(s);
            f->run = (unsigned)(r - s->run);
        }
        s->run[f->run].files++;
    }
    return 0;
}

/* Returns the size of the name without the ending, which it may or may not have. */
static size_t without(const char *name, size_t size, const char *end)
{
    size_t end_size = strlen(end);

    return size >= end_size && memcmp(name + size - end_size, end, end_size) == 0 ? size - end_size
                                                                                  : size;
}

/* Returns the size of the name of a trace (NAMEtrace.json, NAMEtrace_with_counters.json, NAME.et,
 * and each compressed or with .part; NAME.sqlite of nsys) without what differs in a copy. Returns 0
 * for other names. */
static size_t stem_size(const struct search *s, const char *name)
{
    size_t size = without(name, strlen(name), ".part");
    size_t stem;

    if (without(name, size, ".sqlite") != size)
        return size; /* a Kineto trace beside it is no copy */
    size = without(name, without(name, size, ".gz"), ".zst");
    stem = without(name, size, ".json");
    if (stem != size) {
        stem = without(name, stem, SL_JOB_FILES_COUNTERS);
        return without(name, stem, "trace") != stem ? stem : 0;
    }
    return (s->how & SL_JOB_FILES_CHAKRA) && without(name, size, ".et") != size ? size : 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strverscmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds the files of a folder. Returns 0, or the exit status after a line on stderr. */
static int find_files(struct search *s, char *folder)
{
    char *const paths[] = {folder, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    int status = 0;
    FTSENT *entry;
    size_t size;

    if (!walk)
        return sl_args_complain(s->args->command, "cannot search %s: %s", folder, strerror(errno));
    while (!status && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            status = sl_args_complain(s->args->command, "cannot read %s: %s", entry->fts_path,
                                      strerror(entry->fts_errno));
        else if (entry->fts_info == FTS_F && (size = stem_size(s, entry->fts_name)) != 0)
            status = add(s, entry->fts_path, entry->fts_pathlen - entry->fts_namelen + size,
                         entry->fts_statp->st_size == 0);
    }
    fts_close(walk);
    if (!status && !s->files)
        status = sl_args_complain(s->args->command, "no trace in %s or below it", folder);
    return status;
}

/* ---- copies ---- */

static int has_counters(const struct found *f)
{
    return strncmp(f->path + f->stem_size, SL_JOB_FILES_COUNTERS, strlen(SL_JOB_FILES_COUNTERS)) ==
           0;
}

/* Returns how far the file is from what the library wrote. */
static int distance(const struct found *f)
{
    size_t size = strlen(f->path);
    int much = has_counters(f) ? 4 : 0;

    if (without(f->path, size, ".part") != size)
        return much + 3;
    if (without(f->path, size, ".zst") != size)
        return much;
    return without(f->path, size, ".gz") != size ? much + 1 : much + 2;
}

static int are_copies(const struct found *a, const struct found *b)
{
    size_t from_a = 0, from_b = 0;

    if (a->run != b->run || a->rank != b->rank || a->base_ns != b->base_ns)
        return 0;
    if (has_counters(a) != has_counters(b)) {
        from_a = (size_t)(strrchr(a->path, '/') - a->path);
        from_b = (size_t)(strrchr(b->path, '/') - b->path);
    }
    return a->stem_size - from_a == b->stem_size - from_b &&
           memcmp(a->path + from_a, b->path + from_b, a->stem_size - from_a) == 0;
}

/* Leaves out all copies of a window but the one nearest to the library's, and names one of them. */
static void leave_out_copies(struct search *s)
{
    const struct found *left = NULL, *taken = NULL;
    size_t count = 0;

    for (struct found *f = s->file; f < s->file + s->files; f++) {
        const struct found *best = f;

        for (const struct found *o = s->file; o < s->file + s->files; o++)
            if (are_copies(o, f) && distance(o) < distance(best))
                best = o;
        if (best == f)
            continue;
        f->is_copy = 1;
        s->run[f->run].files--;
        left = f;
        taken = best;
        count++;
    }
    if (count)
        sl_args_complain(s->args->command, "left out: %zu cop%s of other files%s %s (reading %s)",
                         count, count == 1 ? "y" : "ies", count == 1 ? ":" : ", such as",
                         left->path, taken->path);
}

/* ---- runs ---- */

static void append(char *list, const char *text)
{
    size_t used = strlen(list);

    snprintf(list + used, LIST_SIZE - used, "%s", text);
}

/* ID (4 files, started 2026-11-25 18:37:01.250 UTC) */
static void append_run(char *list, const struct job_run *r, const char *comma)
{
    char text[256], date[SL_FORMAT_SIZE];

    snprintf(text, sizeof(text), "%s%s (%u file%s%s%s)", *list ? comma : "", r->id, r->files,
             r->files == 1 ? "" : "s", r->start_ns ? ", started " : "",
             r->start_ns ? sl_format_date(date, r->start_ns) : "");
    append(list, text);
}

/* JOB, run ID (4 files, ...) */
static void append_job(char *list, const struct job_run *r)
{
    if (*list)
        append(list, "; ");
    append(list, *r->job ? r->job : "traces without a job");
    append(list, ", run ");
    append_run(list, r, "");
}

/* Lists the runs that are not chosen. `job`: only of this job; NULL: of all jobs. */
static void list_runs(const struct search *s, char list[LIST_SIZE], const char *job)
{
    unsigned runs = 0;
    char more[32];

    *list = '\0';
    for (size_t i = 0; i < s->runs; i++)
        if (!s->run[i].is_chosen && (!job || strcmp(s->run[i].job, job) == 0) && runs++ < NAMED_MAX)
            append_run(list, &s->run[i], ", ");
    snprintf(more, sizeof(more), " and %u more", runs - NAMED_MAX);
    if (runs > NAMED_MAX)
        append(list, more);
}

/* Names the runs that are left out of this run's job. */
static void name_others(const struct search *s, const struct job_run *chosen)
{
    char left[LIST_SIZE], taken[LIST_SIZE] = "";

    list_runs(s, left, chosen->job);
    append_run(taken, chosen, ", ");
    if (*left)
        sl_args_complain(s->args->command,
                         "job %s has several runs: reading the newest, %s; left out: %s; choose "
                         "with --run ID, or --run all",
                         chosen->job, taken, left);
}

static void choose_newest(struct search *s)
{
    for (struct job_run *r = s->run; r < s->run + s->runs; r++) {
        r->is_chosen = 1;
        for (const struct job_run *o = s->run; o < s->run + s->runs; o++)
            if (strcmp(o->job, r->job) == 0 && is_newer(o, r))
                r->is_chosen = 0;
    }
}

/* Leaves only the job whose chosen run is the newest, and names the others. */
static void choose_newest_job(struct search *s)
{
    const struct job_run *newest = NULL;
    char left[LIST_SIZE] = "", taken[LIST_SIZE] = "";
    unsigned others = 0;

    for (const struct job_run *r = s->run; r < s->run + s->runs; r++)
        if (r->is_chosen && (!newest || is_newer(r, newest)))
            newest = r;
    for (size_t i = 0; newest && i < s->runs; i++) {
        if (!s->run[i].is_chosen || strcmp(s->run[i].job, newest->job) == 0)
            continue;
        s->run[i].is_chosen = 0;
        if (others++ < NAMED_MAX)
            append_job(left, &s->run[i]);
    }
    if (!others)
        return;
    append_job(taken, newest);
    if (others > NAMED_MAX)
        append(left, " and others");
    sl_args_complain(s->args->command,
                     "the folder has several jobs: reading the newest, %s; left out: %s; name the "
                     "folder of a job to choose it",
                     taken, left);
}

/* Chooses the run with this id. The beginning of an id is enough if no other id begins like it. */
static int choose_wanted(struct search *s, const char *folder)
{
    const char *first = NULL;
    char list[LIST_SIZE];
    size_t size = strlen(s->wanted);
    int is_all = strcmp(s->wanted, "all") == 0, is_whole = 0, others = 0;

    for (size_t i = 0; i < s->runs; i++)
        is_whole |= strcmp(s->run[i].id, s->wanted) == 0;
    for (size_t i = 0; i < s->runs; i++) {
        struct job_run *r = &s->run[i];

        r->is_chosen = is_all || (is_whole ? strcmp(r->id, s->wanted) == 0
                                           : size && strncmp(r->id, s->wanted, size) == 0);
        if (!r->is_chosen)
            continue;
        others += first && strcmp(first, r->id) != 0;
        first = r->id;
    }
    if (first && (is_all || !others))
        return 0;
    for (size_t i = 0; i < s->runs; i++)
        s->run[i].is_chosen = 0;
    list_runs(s, list, NULL);
    return sl_args_complain(s->args->command, "%s run '%s' in %s: its runs are %s",
                            first ? "more than one" : "no", s->wanted, folder, list);
}

/* ---- operands ---- */

/* Takes over the path. Returns 0 or -ENOMEM. */
static int put(struct sl_job_files *out, char *path)
{
    char **more = path ? grow(out->path, out->count, sizeof(*more)) : NULL;

    if (!more) {
        free(path);
        return -ENOMEM;
    }
    out->path = more;
    out->path[out->count++] = path;
    return 0;
}

static int is_wanted(const struct search *s, const struct found *f)
{
    return f->run < s->runs && s->run[f->run].is_chosen && !f->is_copy;
}

/* Adds the chosen files of a folder. Returns 0, or the exit status after a line on stderr. */
static int expand(struct sl_job_files *out, struct search *s, char *folder)
{
    int status = find_files(s, folder);

    if (!status)
        status = adopt(s);
    if (!status)
        leave_out_copies(s);
    if (!status && s->wanted)
        status = choose_wanted(s, folder);
    else if (!status)
        choose_newest(s);
    if (!status && (s->how & SL_JOB_FILES_ONE_JOB))
        choose_newest_job(s);
    for (size_t i = 0; !status && !s->wanted && i < s->runs; i++)
        if (s->run[i].is_chosen)
            name_others(s, &s->run[i]);
    for (size_t i = 0; i < s->files; i++) {
        if (!status && is_wanted(s, &s->file[i])) {
            if (put(out, s->file[i].path) != 0)
                status = no_memory(s);
        } else {
            free(s->file[i].path);
        }
    }
    free(s->file);
    free(s->run);
    return status;
}

int sl_job_files_find(struct sl_job_files *out, const struct sl_args *args, const char *run,
                      unsigned how)
{
    int status = 0, folders = 0;

    *out = (struct sl_job_files){0};
    for (int i = 0; !status && i < args->operands; i++) {
        struct search s = {.args = args, .wanted = run, .how = how};
        struct stat st;

        if (stat(args->operand[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            status = expand(out, &s, args->operand[i]);
            folders++;
        } else if (put(out, strdup(args->operand[i])) != 0) {
            status = no_memory(&s);
        }
    }
    if (!status && run && !folders)
        status = sl_args_complain(args->command,
                                  "--run chooses among the files of a folder: name a folder");
    if (status)
        sl_job_files_free(out);
    return status;
}

int64_t sl_job_files_rank(const char *path)
{
    static struct sl_header header;

    return read_header(&header, path) && header.has_rank ? header.rank : -1;
}

void sl_job_files_free(struct sl_job_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->path[i]);
    free(files->path);
    *files = (struct sl_job_files){0};
}
