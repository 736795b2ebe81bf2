/*
 * sum.c - sums up the waits of each file, and of all files of a job.
 *
 * The summary of one file is printed as it is. Of several files, the text has a table of the files,
 * the lines of code of all of them, and the summary of the slowest rank, whose files are read
 * again.
 *
 * Threads, memory: see edges.h.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "edges/edges.h"
#include "edges/print.h"
#include "edges/wait_blame.h"
#include "print/format.h"

#define NAMES_BYTES (16u << 20) /* of the names of several files */
#define LONGEST     10u
#define HELD        4096u
/* A rank is slower if its collectives run shorter than this part of the others', because the others
 * wait in theirs. */
#define SLOWER 0.9

/* The summary of a file. */
struct sum {
    const struct sl_edges_request *request;
    struct sl_replay *feed;
    struct sl_wait_blame *spent;
    struct sl_edges_result result;
    /* The last recorded waits, because the row of a launch may follow the edges of its operation.
     * The newest wait is at `held_end` - 1; its other edges may follow. */
    struct sl_edge held[HELD];
    size_t held_begin, held_end;
    uint64_t collectives, collectives_ns;
};

/* ---- the waits of a file ---- */

/* Keeps a GPU operation, because a later wait may have spent its time waiting for it. */
static void keep_event(void *user, const struct sl_event *ev)
{
    struct sum *s = user;
    const char *name;

    sl_wait_blame_event(s->spent, ev);
    if (ev->kind != SL_EV_KERNEL || s->feed->order == SL_REPLAY_NAMES_KNOWN)
        return; /* in the second pass the kernel is counted already */
    name = sl_intern_get(s->feed->events->names, ev->name, NULL);
    if (name && strncmp(name, "nccl", 4) == 0) {
        s->collectives++;
        s->collectives_ns += ev->end_ns - ev->start_ns;
    }
}

/* Returns 1 if a summary should count a wait under `edge` rather than under `other`. Both are edges
 * of the wait. The edge that released the wait comes first. If no edge is known to have released
 * the wait, the edge with the longest wait comes first. */
static int stands_before(const struct sl_edge *edge, const struct sl_edge *other)
{
    return edge->released || (!other->released && edge->wait_ns > other->wait_ns);
}

static void add_wait(struct sum *s, const struct sl_edge *edge)
{
    const struct sl_edge_where where = sl_edges_where(s->feed->events, edge);

    sl_wait_blame_wait(s->spent, edge, &where);
}

static void show(void *user, const struct sl_edge *edges, size_t count)
{
    const struct sl_edge *best = edges;
    struct sum *s = user;

    for (size_t i = 0; i < count; i++) {
        s->result.edges++;
        sl_wait_blame_edge(s->spent, &edges[i]);
        if (stands_before(&edges[i], best))
            best = &edges[i];
    }
    if (count)
        add_wait(s, best);
}

/* Returns 1 if both edges are of one wait. The recorded edges of a wait follow each other. */
static int are_of_one_wait(const struct sl_edge *a, const struct sl_edge *b)
{
    return a->dst_correlation == b->dst_correlation && a->at_start == b->at_start &&
           (!a->at_start ||
            (a->dst_op.graph_node == b->dst_op.graph_node && a->dst_op.stream == b->dst_op.stream));
}

static void end_waits(struct sum *s, size_t most_left)
{
    for (; s->held_end - s->held_begin > most_left; s->held_begin++)
        add_wait(s, &s->held[s->held_begin % HELD]);
}

/* Keeps the recorded edge that stands for its wait. */
static void show_found(void *user, const struct sl_edge *edge)
{
    struct sum *s = user;
    struct sl_edge *newest = &s->held[(s->held_end + HELD - 1) % HELD];

    s->result.edges++;
    sl_wait_blame_edge(s->spent, edge);
    if (s->held_end > s->held_begin && are_of_one_wait(edge, newest)) {
        if (stands_before(edge, newest))
            *newest = *edge;
        return;
    }
    end_waits(s, HELD - 1);
    s->held[s->held_end++ % HELD] = *edge;
}

/* Counts a wait. All steps are known by now. */
static void count(void *user, const struct sl_edge *edge, const struct sl_edge_where *where)
{
    struct sum *s = user;
    struct sl_trace_events *t = s->feed->events;
    struct sl_edge wait = *edge;
    struct sl_edge_where at = *where;

    if (at.call_ns)
        at.step = sl_trace_events_step(t, at.call_ns);
    at.begin_ns = t->first_slice_ns;
    if (!sl_edge_filter_has(&s->request->filter, t->names, &wait, &at))
        return;
    if (wait.wait_ns < s->request->filter.min_wait_ns)
        wait.wait_ns = 0;
    wait.source.correlation = sl_trace_events_correlation(t, wait.source.correlation);
    wait.dst_correlation = sl_trace_events_correlation(t, wait.dst_correlation);
    s->result.shown += wait.wait_ns != 0;
    sl_edge_summary_add(wait.at_start ? s->result.gpu : s->result.cpu, &wait, &at);
}

/* ---- results ---- */

static int create_summaries(struct sl_edges_result *r, size_t longest)
{
    return sl_edge_summary_create(&r->cpu, longest) != 0 ||
           sl_edge_summary_create(&r->gpu, longest) != 0;
}

static void destroy_summaries(struct sl_edges_result *r)
{
    sl_edge_summary_destroy(r->cpu);
    sl_edge_summary_destroy(r->gpu);
}

static size_t longest_of(const struct sl_edges_request *r)
{
    return r->top ? r->top : LONGEST;
}

static int no_memory(const struct sl_edges_request *r, const char *path)
{
    return sl_args_complain(r->command, "not enough memory to read %s", path);
}

/* Reads a file up to the summary. `s`: zeroed, or NULL without memory. Returns 0, or the exit
 * status after a line on stderr. */
static int read_file(struct sum *s, const struct sl_edges_request *r, const char *path)
{
    const struct sl_replay_sinks sinks = {
        .found = show_found, .edges = show, .event = keep_event, .user = s};
    int status;

    if (!s)
        return no_memory(r, path);
    s->request = r;
    if (sl_replay_create(&s->feed, &sinks, SL_REPLAY_EVENTS) != 0 ||
        sl_wait_blame_create(&s->spent) != 0 || create_summaries(&s->result, longest_of(r)) != 0)
        return no_memory(r, path);
    status = sl_edges_read(r, s->feed, path);
    if (status)
        return status;
    end_waits(s, 0);
    status = sl_wait_blame_end(s->spent, count, s);
    if (status)
        return sl_args_complain(r->command, "%s: sorting the waits failed: %s", path,
                                strerror(-status));
    s->result.names = s->feed->events->names;
    s->result.steps = 0;
    for (size_t i = 0; i < s->feed->events->steps; i++)
        s->result.steps += (uint64_t)sl_edge_filter_has_step(&r->filter, s->result.names,
                                                             s->feed->events->step[i].name);
    memcpy(s->result.lost, s->feed->lost, sizeof(s->result.lost));
    return 0;
}

static void end_file(struct sum *s)
{
    if (!s)
        return;
    sl_wait_blame_destroy(s->spent);
    destroy_summaries(&s->result);
    sl_replay_destroy(s->feed);
    free(s);
}

static void print_edges(const struct sl_edges_request *r, const struct sl_edges_result *result)
{
    const struct sl_edge_filter *f = &r->filter;
    char lost[512], text[SL_FORMAT_SIZE];
    int any = sl_format_losses(lost, sizeof(lost), result->lost);

    printf("\n%s edges", sl_format_count(text, result->edges));
    if (f->kind >= 0 || f->min_wait_ns || f->line || f->has_steps)
        printf(", %s waits selected", sl_format_count(text, result->shown));
    printf("%s%s\n", any ? "; left out: " : "", lost);
}

/* ---- several files ---- */

struct job {
    const struct sl_edges_request *request;
    struct sl_edges_part *file;
    size_t files;
    struct sl_edges_result all;
};

static struct sl_edges_part part_of(const struct sum *s, const char *path)
{
    const struct sl_header *h = &s->feed->header;

    return (struct sl_edges_part){.path = path,
                                  .has_rank = h->has_rank,
                                  .rank = h->rank,
                                  .steps = s->result.steps,
                                  .cpu = sl_edge_summary_totals(s->result.cpu)->all,
                                  .gpu = sl_edge_summary_totals(s->result.gpu)->all,
                                  .collectives = s->collectives,
                                  .collectives_ns = s->collectives_ns};
}

static void merge(struct sl_edges_result *to, const struct sl_edges_result *more, uint32_t file)
{
    sl_edge_summary_merge(to->cpu, to->names, more->cpu, more->names, file);
    sl_edge_summary_merge(to->gpu, to->names, more->gpu, more->names, file);
    to->steps += more->steps;
    to->edges += more->edges;
    to->shown += more->shown;
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        to->lost[i] += more->lost[i];
}

/* Files belong to one rank if their headers name it. A file without a rank stands alone. */
static int is_same_rank(const struct job *j, size_t a, size_t b)
{
    const struct sl_edges_part *x = &j->file[a], *y = &j->file[b];

    return a == b || (x->has_rank && y->has_rank && x->rank == y->rank);
}

/* The sums of a rank. */
static struct sl_edges_part rank_of(const struct job *j, size_t file)
{
    struct sl_edges_part all = j->file[file];

    for (size_t i = 0; i < j->files; i++) {
        if (i == file || !is_same_rank(j, file, i))
            continue;
        sl_edge_waits_add(&all.cpu, &j->file[i].cpu);
        all.collectives += j->file[i].collectives;
        all.collectives_ns += j->file[i].collectives_ns;
    }
    return all;
}

static double each_ns(const struct sl_edges_part *p)
{
    return p->collectives ? (double)p->collectives_ns / (double)p->collectives : 0;
}

static void name_rank(const struct sl_edges_part *p, char *to, size_t size)
{
    if (p->has_rank)
        snprintf(to, size, "rank %" PRId64, p->rank);
    else
        snprintf(to, size, "%s", p->path);
}

/* The slowest rank, and why it is the slowest. */
struct slowest {
    size_t file; /* a file of the rank */
    struct sl_edges_part rank;
    double others_ns; /* how long the NCCL kernels of the others ran on average; 0: the rank is the
                         slowest because it waited longest */
};

static struct slowest by_cpu(const struct job *j)
{
    struct slowest s = {.rank = rank_of(j, 0)};

    for (size_t i = 1; i < j->files; i++) {
        struct sl_edges_part p = rank_of(j, i);

        if (p.cpu.total_ns > s.rank.cpu.total_ns)
            s = (struct slowest){.file = i, .rank = p};
    }
    return s;
}

static struct slowest find_slowest(const struct job *j)
{
    struct slowest s = {.rank = rank_of(j, 0)};
    size_t others = 0;

    for (size_t i = 0; i < j->files; i++) {
        struct sl_edges_part p = rank_of(j, i);

        if (!p.collectives)
            return by_cpu(j);
        if (each_ns(&p) < each_ns(&s.rank))
            s = (struct slowest){.file = i, .rank = p};
    }
    for (size_t i = 0; i < j->files; i++) {
        struct sl_edges_part p = rank_of(j, i);

        if (is_same_rank(j, i, s.file))
            continue;
        s.others_ns += each_ns(&p);
        others++;
    }
    s.others_ns /= others ? (double)others : 1;
    return each_ns(&s.rank) < SLOWER * s.others_ns ? s : by_cpu(j);
}

static void print_slowest(const struct slowest *s)
{
    char name[PATH_MAX], mine[SL_FORMAT_SIZE], theirs[SL_FORMAT_SIZE];

    name_rank(&s->rank, name, sizeof(name));
    if (s->others_ns > 0)
        printf("The slowest is %s: its NCCL kernels ran %s on average,\n"
               "those of the others %s, because they waited for it. Its summary:\n\n",
               name, sl_format_span(mine, (uint64_t)each_ns(&s->rank)),
               sl_format_span(theirs, (uint64_t)s->others_ns));
    else
        printf("The slowest is %s: it waited longest for its GPU, %s. Its summary:\n\n", name,
               sl_format_span(mine, s->rank.cpu.total_ns));
}

/* Prepares a result for the sum over files. Returns 0, or the exit status. */
static int begin_sum(const struct sl_edges_request *r, struct sl_edges_result *result)
{
    if (sl_intern_create(&result->names, NAMES_BYTES) == 0 &&
        create_summaries(result, longest_of(r)) == 0)
        return 0;
    return sl_args_complain(r->command, "not enough memory for the summary");
}

static void end_sum(struct sl_edges_result *result)
{
    destroy_summaries(result);
    sl_intern_destroy(result->names);
}

/* Prints the summary of a rank. Its files are read again, but what is wrong with them was reported
 * at the first time. */
static int print_rank(const struct job *j, size_t file)
{
    struct sl_edges_result rank = {0};
    size_t files = 0;
    int status = begin_sum(j->request, &rank);

    for (size_t i = 0; !status && i < j->files; i++) {
        struct sum *s;

        if (!is_same_rank(j, file, i))
            continue;
        if (strcmp(j->file[i].path, "-") == 0) {
            puts("(standard input cannot be read again)");
            continue;
        }
        s = calloc(1, sizeof(*s));
        status = read_file(s, j->request, j->file[i].path);
        if (!status)
            merge(&rank, &s->result, (uint32_t)i);
        end_file(s);
        files++;
    }
    if (!status && files)
        sl_edges_print_summary_text(stdout, &rank, j->request->top, files > 1 ? j->file : NULL);
    if (!status)
        print_edges(j->request, &rank);
    end_sum(&rank);
    return status;
}

static int print_job(struct job *j)
{
    const struct slowest slowest = find_slowest(j);

    sl_edges_print_parts(stdout, j->file, j->files);
    putchar('\n');
    if (sl_edges_print_lines(stdout, &j->all, j->request->top, "all ranks' CPUs waited at"))
        putchar('\n');
    print_slowest(&slowest);
    return print_rank(j, slowest.file);
}

/* Reads one file of several. Returns the exit status. */
static int add_file(struct job *j, const char *path)
{
    const struct sl_edges_request *r = j->request;
    struct sum *s = calloc(1, sizeof(*s));
    int status = read_file(s, r, path);

    if (!status) {
        struct sl_edges_part part = part_of(s, path);

        if (r->is_json)
            sl_edges_print_summary_json(stdout, &part, &s->result);
        merge(&j->all, &s->result, (uint32_t)j->files);
        j->file[j->files++] = part;
        status = sl_replay_tell(s->feed, r->command, path, "the edges are");
    }
    end_file(s);
    return status;
}

static int sum_job(const struct sl_edges_request *r, char *const *paths, size_t count)
{
    struct job j = {.request = r, .file = calloc(count, sizeof(*j.file))};
    int worst = j.file ? begin_sum(r, &j.all) : no_memory(r, paths[0]);
    int failed = worst;

    for (size_t i = 0; !failed && i < count; i++) {
        int status = add_file(&j, paths[i]);

        worst = status > worst ? status : worst;
    }
    if (!failed && j.files && r->is_json) {
        struct sl_edges_part all = find_slowest(&j).rank;

        all.path = NULL;
        sl_edges_print_summary_json(stdout, &all, &j.all);
    } else if (!failed && j.files) {
        failed = print_job(&j);
    }
    end_sum(&j.all);
    free(j.file);
    return failed > worst ? failed : worst;
}

static int sum_file(const struct sl_edges_request *r, const char *path)
{
    struct sum *s = calloc(1, sizeof(*s));
    int status = read_file(s, r, path);

    if (!status) {
        if (r->is_json) {
            sl_edges_print_summary_json(stdout, NULL, &s->result);
        } else {
            sl_edges_print_summary_text(stdout, &s->result, r->top, NULL);
            print_edges(r, &s->result);
        }
        status = sl_replay_tell(s->feed, r->command, path, "the edges are");
    }
    end_file(s);
    return status;
}

int sl_edges_sum(const struct sl_edges_request *r, char *const *paths, size_t count)
{
    return count == 1 ? sum_file(r, paths[0]) : sum_job(r, paths, count);
}
