/*
 * finding.c - adds up the losses of all ranks by place, and puts the largest into words.
 *
 * Threads, memory: see finding.h.
 */
#include "report/finding.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/format.h"
#include "print/short_name.h"
#include "report/spread.h"
#include "report/sums.h"

#define SHORT_KERNEL_NS                                                                            \
    20000u /* below this, a launch takes longer than the kernel, if the CPU is busy */
#define LONG_GAP_NS    200000u /* mostly more than one operator of Python */
#define LONG_LAUNCH_NS 1000000u
#define NAME_WIDTH     48

/* The members of a group's key. */
enum {
    KEY_PART,
    KEY_LINE,
    KEY_PLACE,
    KEY_CALL,
    KEY_OTHER /* the awaited operation */
};

/* The work of a step, on the mean of all devices. */
struct work {
    uint64_t launches;  /* GPU operations that a call launched, in a step */
    uint64_t median_ns; /* of the kernels that are not communication */
};

struct making {
    const struct sl_report *report;
    struct sl_report_findings *out;
    struct sl_sums groups;
    struct work work;
    const char *per; /* "a step", or "in all" if there are no steps */
};

const char *sl_sure_name(enum sl_sure sure)
{
    static const char *const names[] = {"measured", "inferred", "unknown"};

    return names[sure];
}

/* ---- sums ---- */

static void add_gap(struct making *m, const struct sl_recording *r, const struct sl_gap *gap)
{
    const struct sl_report_op *next = gap->next;
    const struct sl_report_launch *l = next && next->launch ? &r->launch[next->launch - 1] : NULL;

    for (int part = SL_PART_SYNC; part < SL_PART_COUNT; part++) {
        uint32_t key[SL_SUM_KEYS] = {[KEY_PART] = (uint32_t)part};

        if (gap->part_ns[part] == 0)
            continue;
        if (part == SL_PART_SYNC && gap->wait) {
            key[KEY_LINE] = gap->wait->line;
            key[KEY_PLACE] = gap->wait->place;
            key[KEY_CALL] = gap->wait->name;
            key[KEY_OTHER] = gap->wait->source;
        } else if (l) {
            key[KEY_LINE] = l->line;
            key[KEY_PLACE] = l->place;
            key[KEY_CALL] = l->name;
            key[KEY_OTHER] = part == SL_PART_QUEUED ? next->awaited : 0;
        }
        sl_sums_add(&m->groups, key, gap->part_ns[part]);
    }
}

/* Adds an operation that may be why its device does nothing else: communication or a copy. */
static void add_op(struct making *m, const struct sl_recording *r, const struct sl_report_op *op)
{
    uint32_t key[SL_SUM_KEYS] = {[KEY_PART] =
                                     op->work == SL_WORK_COPY ? SL_PART_COPY : SL_PART_TRANSFER,
                                 [KEY_OTHER] = op->name};

    if (op->launch) {
        key[KEY_LINE] = r->launch[op->launch - 1].line;
        key[KEY_PLACE] = r->launch[op->launch - 1].place;
        key[KEY_CALL] = r->launch[op->launch - 1].name;
    }
    sl_sums_add(&m->groups, key, op->end_ns - op->start_ns);
}

/* Adds the chosen steps of a recording. `kernel` has room for the lengths of all kernels. */
static void add_recording(struct making *m, size_t at, uint64_t *kernel, size_t *kernels)
{
    const struct sl_recording *r = &m->report->recordings.of[at];
    const struct sl_parts *p = &m->report->parts[at];

    for (size_t i = 0; i < p->gaps; i++)
        if (sl_report_counts_step(m->report, r, p->interval[p->gap[i].interval].step))
            add_gap(m, r, &p->gap[i]);
    for (size_t i = 0; i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];

        if (!sl_report_counts_part(m->report, r, op->part))
            continue;
        m->work.launches += op->launch != 0;
        if (op->work == SL_WORK_COMPUTE)
            kernel[(*kernels)++] = op->end_ns - op->start_ns;
        else
            add_op(m, r, op);
    }
    for (size_t i = 0; i < p->intervals; i++) {
        const struct sl_interval *in = &p->interval[i];

        if (!sl_report_counts_step(m->report, r, in->step))
            continue;
        m->out->time.steps++;
        m->out->time.length_ns += in->end_ns - in->begin_ns;
        for (int part = 0; part < SL_PART_COUNT; part++)
            m->out->time.part_ns[part] += in->part_ns[part];
    }
}

static int add_all(struct making *m)
{
    const struct sl_recordings *all = &m->report->recordings;
    size_t most = 1, kernels = 0;
    uint64_t *kernel;

    for (size_t i = 0; i < all->count; i++)
        most += all->of[i].ops;
    kernel = malloc(most * sizeof(*kernel));
    if (!kernel)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++)
        add_recording(m, i, kernel, &kernels);
    m->work.median_ns = sl_spread_median(kernel, kernels);
    if (m->out->time.steps)
        m->work.launches /= m->out->time.steps;
    free(kernel);
    sl_sums_sort(&m->groups);
    return m->groups.failed ? -ENOMEM : 0;
}

/* Counts the ranks that lose at least 1 % of their steps in this way. */
static void count_ranks(const struct making *m, struct sl_report_finding *f)
{
    const struct sl_report *report = m->report;

    for (size_t i = 0; i < report->recordings.count; i++) {
        uint64_t part_ns = 0, length_ns = 0;
        const struct sl_parts *p = &report->parts[i];

        for (size_t k = 0; k < p->intervals; k++) {
            if (!sl_report_counts_step(report, &report->recordings.of[i], p->interval[k].step))
                continue;
            part_ns += p->interval[k].part_ns[f->part];
            length_ns += p->interval[k].end_ns - p->interval[k].begin_ns;
        }
        if (length_ns == 0 || part_ns < length_ns / 100)
            continue;
        f->ranks++;
        f->rank = sl_report_rank(&report->recordings.of[i]);
    }
}

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static void put(char *to, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to, SL_FINDING_TEXT, format, args);
    va_end(args);
}

static const char *shortened(char *to, const struct making *m, uint32_t id, const char *unknown)
{
    const char *name = sl_report_name(m->report, id);

    return *name ? sl_short_name(to, NAME_WIDTH, name, strlen(name)) : unknown;
}

/* Writes the place of a finding: the line of code, else the operator, else the call. */
static const char *place_of(char *to, const struct making *m, const struct sl_report_finding *f)
{
    const char *line = sl_report_name(m->report, f->line), *base = strrchr(line, '/');

    if (*line)
        return sl_short_name(to, NAME_WIDTH, base ? base + 1 : line,
                             strlen(base ? base + 1 : line));
    return shortened(to, m, f->place ? f->place : f->call, "(place not known)");
}

static const char few_launches[] =
    "torch.compile(mode=\"reduce-overhead\") or CUDA graphs: fewer, larger launches";

/* Returns how often a cause occurs in a step. */
static double times_of(const struct making *m, const struct sl_sum *cause)
{
    return m->out->time.steps ? (double)cause->count / (double)m->out->time.steps : 0;
}

static void describe_late_cpu(const struct making *m, struct sl_report_finding *f,
                              const char *where, const struct sl_sum *cause)
{
    uint64_t mean_ns = cause ? cause->total_ns / cause->count : 0;
    char span[SL_FORMAT_SIZE];

    if (mean_ns >= LONG_GAP_NS) {
        put(f->text, "before %s the CPU does other work for %s, %.1f times %s", where,
            sl_format_span(span, mean_ns), times_of(m, cause), m->per);
        put(f->advice, "look at the code before it (data, Python, I/O): make it shorter, or do it "
                       "in another thread");
        return;
    }
    put(f->text, "%s and others: %" PRIu64 " launches %s, half the kernels under %s", where,
        m->work.launches, m->per, sl_format_span(span, m->work.median_ns));
    put(f->advice, "%s",
        m->work.median_ns < SHORT_KERNEL_NS
            ? few_launches
            : "make the CPU work between the launches shorter, or do it in another thread");
}

static void describe_launch(const struct making *m, struct sl_report_finding *f, const char *where,
                            const struct sl_sum *cause)
{
    uint64_t mean_ns = cause ? cause->total_ns / cause->count : 0;
    char span[SL_FORMAT_SIZE];

    if (mean_ns >= LONG_LAUNCH_NS) {
        put(f->text, "%s: a launch takes %s, %.1f times %s", where, sl_format_span(span, mean_ns),
            times_of(m, cause), m->per);
        put(f->advice, "first launches load modules: leave them out (--steps)");
        return;
    }
    put(f->text, "the GPU waits for launches under way; %" PRIu64 " launches %s", m->work.launches,
        m->per);
    put(f->advice, "%s", few_launches);
}

/* Names the rank that the others waited longest for. */
static void describe_late_rank(const struct making *m, struct sl_report_finding *f,
                               const char *collective)
{
    int64_t rank = m->report->late_rank;

    put(f->text, "waits in %s, %.0f %% of the time for rank %" PRId64, collective,
        100 * m->report->late_ratio, rank);
    put(f->advice, "see what holds rank %" PRId64 " up: --rank %" PRId64, rank, rank);
}

static void describe(const struct making *m, struct sl_report_finding *f,
                     const struct sl_sum *cause)
{
    char where[NAME_WIDTH + 1], call[NAME_WIDTH + 1], other[NAME_WIDTH + 1], span[SL_FORMAT_SIZE];
    const char *in = place_of(where, m, f), *what = shortened(call, m, f->call, "a call"),
               *source = shortened(other, m, cause ? cause->key[KEY_OTHER] : 0, "");

    switch (f->part) {
    case SL_PART_SYNC:
        f->id = "sync";
        put(f->text, "%s: %s returns %s after the GPU has nothing left to do, %.1f times %s", in,
            what, sl_format_span(span, cause ? cause->total_ns / cause->count : 0),
            cause ? times_of(m, cause) : 0, m->per);
        put(f->advice, "wait less often; a long delay means that the CPU is busy");
        break;
    case SL_PART_CPU:
        f->id = "cpu-late";
        f->sure = SL_SURE_INFERRED;
        describe_late_cpu(m, f, in, cause);
        break;
    case SL_PART_LAUNCH:
        f->id = "launch";
        f->sure = SL_SURE_INFERRED;
        describe_launch(m, f, in, cause);
        break;
    case SL_PART_LOADER:
        f->id = "loader";
        put(f->text, "the thread that launches waits for the next batch of the DataLoader");
        put(f->advice, "num_workers, prefetch_factor, pin_memory=True, persistent_workers=True");
        break;
    case SL_PART_QUEUED:
        f->id = "queued";
        f->sure = SL_SURE_INFERRED;
        put(f->text,
            *source ? "launched in time, but waits for %s on another stream"
                    : "launched in time, but begins late%s",
            source);
        break;
    case SL_PART_COPY:
        f->id = "copy";
        put(f->text, "%s: %s, and nothing runs beside it", in, *source ? source : "copies");
        put(f->advice, "%s",
            strstr(source, "Pageable") ? "pin_memory=True and .to(device, non_blocking=True)"
                                       : "copy on another stream while kernels run");
        break;
    case SL_PART_TRANSFER:
        f->id = "transfer";
        put(f->text, "%s, and nothing runs beside it", *source ? source : "communication");
        put(f->advice, "let it overlap with computing: DDP's bucket_cap_mb, FSDP's prefetching");
        break;
    case SL_PART_WAITING:
        f->id = "rank-late";
        describe_late_rank(m, f, *source ? source : "collectives");
        break;
    default:
        f->id = "unknown";
        f->sure = SL_SURE_UNKNOWN;
        put(f->text,
            "idle; the launch of the next operation is not in the file, or its times do not fit");
        put(f->advice, "record CPU activity too; `syncline check` says whether the clocks differ");
        break;
    }
}

static void add_finding(struct making *m, enum sl_part part)
{
    struct sl_report_findings *out = m->out;
    uint64_t part_ns = out->time.part_ns[part];
    const struct sl_sum *cause = NULL;
    struct sl_report_finding *f;

    if (out->time.steps == 0 || part_ns == 0 || part_ns < out->time.length_ns / 100)
        return;
    for (size_t i = 0; i < m->groups.count && !cause; i++)
        if (m->groups.sum[i].key[KEY_PART] ==
            (uint32_t)(part == SL_PART_WAITING ? SL_PART_TRANSFER : part))
            cause = &m->groups.sum[i];
    f = &out->of[out->count++];
    *f = (struct sl_report_finding){.part = part,
                                    .per_step_ns = part_ns / out->time.steps,
                                    .share = (double)part_ns / (double)out->time.length_ns};
    if (cause) {
        f->line = cause->key[KEY_LINE];
        f->place = cause->key[KEY_PLACE];
        f->call = cause->key[KEY_CALL];
    }
    count_ranks(m, f);
    describe(m, f, cause);
}

static int by_time(const void *a, const void *b)
{
    const struct sl_report_finding *x = a, *y = b;

    if (x->per_step_ns != y->per_step_ns)
        return x->per_step_ns < y->per_step_ns ? 1 : -1;
    return (int)x->part - (int)y->part;
}

int sl_report_findings_make(struct sl_report_findings *out, const struct sl_report *report)
{
    struct making m = {
        .report = report, .out = out, .per = sl_report_has_steps(report) ? "a step" : "in all"};
    uint64_t largest = 0;
    int rc;

    *out = (struct sl_report_findings){0};
    rc = add_all(&m);
    for (int part = SL_PART_COMPUTE + 1; rc == 0 && part < SL_PART_COUNT; part++) {
        if (out->time.part_ns[part] > largest) {
            largest = out->time.part_ns[part];
            out->bound = (enum sl_part)part;
        }
        add_finding(&m, (enum sl_part)part);
    }
    if (largest < out->time.length_ns / 10 || largest == 0)
        out->bound = SL_PART_COMPUTE;
    qsort(out->of, out->count, sizeof(out->of[0]), by_time);
    sl_sums_free(&m.groups);
    return rc;
}
