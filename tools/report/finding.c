/*
 * finding.c - adds up the losses of all ranks by place, and finds the largest cause of each.
 *
 * Threads, memory: see finding.h.
 */
#include "report/finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/finding_text.h"
#include "report/note.h"
#include "report/spread.h"
#include "report/sums.h"

/* Losses by place. */
struct making {
    const struct sl_report *report;
    struct sl_sums groups;
    struct sl_sums after_sync;  /* of SL_PART_CPU after a wait, by the place of the wait */
    struct sl_report_time time; /* of all devices */
    uint64_t launches;          /* calls that launched GPU operations */
    /* Of each loss: the gaps, and the launches that ended them. A graph launch ends several. */
    uint64_t gaps[SL_LOSS_COUNT], held[SL_LOSS_COUNT];
    uint64_t *kernel_ns; /* of each kernel that is not communication; NULL: not wanted */
    size_t kernels;
};

const char *sl_sure_name(enum sl_sure sure)
{
    static const char *const names[] = {"measured", "inferred", "unknown"};

    return names[sure];
}

/* ---- sums ---- */

static int loss_of(const struct sl_gap *gap, enum sl_part part)
{
    return part == SL_PART_LAUNCH && gap->is_between ? SL_LOSS_BETWEEN : (int)part;
}

static uint64_t loss_ns(const uint64_t part_ns[SL_PART_COUNT], uint64_t between_ns, int loss)
{
    if (loss == SL_LOSS_BETWEEN)
        return between_ns;
    return part_ns[loss] - (loss == SL_PART_LAUNCH ? between_ns : 0);
}

/* Adds the CUDA call that made the next launch late. */
static void add_call(struct making *m, const struct sl_gap *gap)
{
    const uint32_t key[SL_SUM_KEYS] = {[SL_CAUSE_LOSS] = SL_PART_CPU,
                                       [SL_CAUSE_LINE] = gap->call->line,
                                       [SL_CAUSE_PLACE] = gap->call->place,
                                       [SL_CAUSE_CALL] = gap->call->name,
                                       [SL_CAUSE_OTHER] = gap->call->name};

    sl_sums_add(&m->groups, key, gap->call_ns);
}

/* Adds the wait because of which the queue was empty. */
static void add_after_sync(struct making *m, const struct sl_gap *gap)
{
    const uint32_t key[SL_SUM_KEYS] = {[SL_CAUSE_LOSS] = SL_PART_SYNC,
                                       [SL_CAUSE_LINE] = gap->wait->line,
                                       [SL_CAUSE_PLACE] = gap->wait->place,
                                       [SL_CAUSE_CALL] = gap->wait->name};

    sl_sums_add(&m->after_sync, key, gap->part_ns[SL_PART_CPU]);
}

/* Adds a gap. `before` is the gap before it; NULL if there is none. */
static void add_gap(struct making *m, const struct sl_recording *r, const struct sl_gap *gap,
                    const struct sl_gap *before)
{
    const struct sl_report_op *next = gap->next;
    const struct sl_report_launch *l = next && next->launch ? &r->launch[next->launch - 1] : NULL;
    int is_again = l && before && before->next && before->next->launch == next->launch;

    for (int part = SL_PART_SYNC; part < SL_PART_COUNT; part++) {
        int loss = loss_of(gap, (enum sl_part)part);
        uint32_t key[SL_SUM_KEYS] = {[SL_CAUSE_LOSS] = (uint32_t)loss};

        if (gap->part_ns[part] == 0)
            continue;
        m->gaps[loss]++;
        m->held[loss] +=
            !is_again || !before->part_ns[part] || loss_of(before, (enum sl_part)part) != loss;
        if (part == SL_PART_SYNC && gap->wait) {
            key[SL_CAUSE_LINE] = gap->wait->line;
            key[SL_CAUSE_PLACE] = gap->wait->place;
            key[SL_CAUSE_CALL] = gap->wait->name;
            key[SL_CAUSE_OTHER] = gap->wait->source;
        } else if (l) {
            key[SL_CAUSE_LINE] = l->line;
            key[SL_CAUSE_PLACE] = l->place;
            key[SL_CAUSE_CALL] = l->name;
            key[SL_CAUSE_OTHER] = part == SL_PART_QUEUED ? next->awaited : 0;
        }
        if (part == SL_PART_CPU && gap->is_after_sync && gap->wait)
            add_after_sync(m, gap);
        if (part == SL_PART_CPU && gap->call)
            add_call(m, gap);
        if (part != SL_PART_CPU || gap->part_ns[part] > gap->call_ns)
            sl_sums_add(&m->groups, key,
                        gap->part_ns[part] - (part == SL_PART_CPU ? gap->call_ns : 0));
    }
}

/* Adds an operation that may be why its device does nothing else: communication or a copy. */
static void add_op(struct making *m, const struct sl_recording *r, const struct sl_report_op *op)
{
    uint32_t key[SL_SUM_KEYS] = {[SL_CAUSE_LOSS] =
                                     op->work == SL_WORK_COPY ? SL_PART_COPY : SL_PART_TRANSFER,
                                 [SL_CAUSE_OTHER] = op->name};

    if (op->launch) {
        key[SL_CAUSE_LINE] = r->launch[op->launch - 1].line;
        key[SL_CAUSE_PLACE] = r->launch[op->launch - 1].place;
        key[SL_CAUSE_CALL] = r->launch[op->launch - 1].name;
    }
    sl_sums_add(&m->groups, key, op->end_ns - op->start_ns);
}

/* Adds the chosen steps of a recording. */
static void add_recording(struct making *m, size_t at)
{
    const struct sl_recording *r = &m->report->recordings.of[at];
    const struct sl_parts *p = &m->report->parts[at];

    for (size_t i = 0; i < p->gaps; i++)
        if (sl_report_counts_step(m->report, r, p->interval[p->gap[i].interval].step))
            add_gap(m, r, &p->gap[i], i ? &p->gap[i - 1] : NULL);
    for (size_t i = 0; i < r->launches; i++)
        m->launches += (uint64_t)sl_report_counts_part(m->report, r,
                                                       sl_recording_part(r, r->launch[i].start_ns));
    for (size_t i = 0; i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];

        if (!sl_report_counts_part(m->report, r, op->part))
            continue;
        if (op->work != SL_WORK_COMPUTE)
            add_op(m, r, op);
        else if (m->kernel_ns)
            m->kernel_ns[m->kernels++] = op->end_ns - op->start_ns;
    }
    for (size_t i = 0; i < p->intervals; i++) {
        const struct sl_interval *in = &p->interval[i];

        if (sl_report_counts_step(m->report, r, in->step))
            sl_report_time_add(&m->time, in);
    }
}

static int add_all(struct making *m)
{
    const struct sl_recordings *all = &m->report->recordings;
    size_t most = 1;

    for (size_t i = 0; i < all->count; i++)
        most += all->of[i].ops;
    m->kernel_ns = malloc(most * sizeof(*m->kernel_ns));
    if (!m->kernel_ns)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++)
        add_recording(m, i);
    sl_sums_sort(&m->groups);
    sl_sums_sort(&m->after_sync);
    return m->groups.failed || m->after_sync.failed ? -ENOMEM : 0;
}

/* Counts the ranks that lose at least 1 % of their steps in this way. */
static void count_ranks(const struct sl_report *report, struct sl_report_finding *f, int loss)
{
    size_t end;

    for (size_t first = 0; first < report->recordings.count; first = end) {
        uint64_t part_ns = 0, length_ns = 0;

        end = sl_report_rank_end(report, first);
        for (size_t at = first; at < end; at++)
            for (size_t i = 0; i < report->parts[at].intervals; i++) {
                const struct sl_interval *in = &report->parts[at].interval[i];

                if (!sl_report_counts_step(report, &report->recordings.of[at], in->step))
                    continue;
                part_ns += loss_ns(in->part_ns, in->between_ns, loss);
                length_ns += in->end_ns - in->begin_ns;
            }
        if (length_ns == 0 || part_ns < length_ns / 100)
            continue;
        f->ranks++;
        f->rank = sl_report_rank(&report->recordings.of[first]);
    }
}

/* ---- causes ---- */

/* Finds the largest cause of a loss, and adds up all its causes. */
static void find_cause(const struct making *m, int number, struct sl_loss *loss)
{
    loss->gaps = m->gaps[number];
    loss->held = m->held[number] < m->launches ? m->held[number] : m->launches;
    if (number == SL_PART_WAITING)
        number = SL_PART_TRANSFER;
    for (size_t i = 0; i < m->groups.count; i++) {
        const struct sl_sum *sum = &m->groups.sum[i];

        if (sum->key[SL_CAUSE_LOSS] != (uint32_t)number)
            continue;
        loss->cause = loss->cause ? loss->cause : sum;
        loss->total_ns += sum->total_ns;
    }
}

/* Sets the place of a finding to that of its cause. A launch without a line gets the nearest one
 * that is known. */
static void set_place(const struct sl_report *report, struct sl_report_finding *f,
                      const struct sl_sum *cause)
{
    if (!cause)
        return;
    f->line = cause->key[SL_CAUSE_LINE];
    f->place = cause->key[SL_CAUSE_PLACE];
    f->call = cause->key[SL_CAUSE_CALL];
    if (!f->line && (f->part == SL_PART_CPU || f->part == SL_PART_LAUNCH ||
                     f->part == SL_PART_LOADER || f->part == SL_PART_QUEUED))
        f->line =
            sl_near_line(report, f->part, f->part == SL_PART_CPU && cause->key[SL_CAUSE_OTHER],
                         f->place, f->call, &f->near);
}

/* Finds the part in which the late rank spends more than all ranks on the mean, and its place. */
static void explain_late_rank(const struct making *m, struct sl_loss *loss)
{
    const struct sl_report *report = m->report;
    struct making late = {.report = report};
    struct sl_report_finding f = {.id = ""};
    struct sl_loss of = {.report = report};
    double most = 0;

    for (size_t at = 0; at < report->recordings.count; at++)
        if (sl_report_rank(&report->recordings.of[at]) == report->late_rank)
            add_recording(&late, at);
    sl_sums_sort(&late.groups);
    for (int part = SL_PART_COPY; late.time.steps && part < SL_PART_COUNT; part++) {
        double more = (double)late.time.part_ns[part] / (double)late.time.steps -
                      (double)m->time.part_ns[part] / (double)m->time.steps;

        if (more <= most)
            continue;
        most = more;
        f.part = (enum sl_part)part;
    }
    if (f.part != SL_PART_COMPUTE) {
        find_cause(&late, f.part, &of);
        set_place(report, &f, of.cause);
        sl_finding_place(loss->late_place, report, &f);
        loss->late_part = f.part;
        loss->late_ns = (uint64_t)most;
    }
    sl_sums_free(&late.groups);
    sl_sums_free(&late.after_sync);
}

static void add_finding(struct making *m, struct sl_report_findings *out, int number,
                        uint64_t median_ns)
{
    uint64_t ns = loss_ns(m->time.part_ns, m->time.between_ns, number), steps = m->time.steps;
    struct sl_loss loss = {
        .report = m->report, .time = &m->time, .launches = m->launches, .median_ns = median_ns};
    int is_between = number == SL_LOSS_BETWEEN;
    struct sl_report_finding *f;

    if (steps == 0 || ns == 0 || ns < m->time.length_ns / 100)
        return;
    find_cause(m, number, &loss);
    for (size_t i = 0; i < m->after_sync.count; i++)
        loss.after_sync_ns += m->after_sync.sum[i].total_ns;
    loss.after_sync = m->after_sync.count ? m->after_sync.sum : NULL;
    f = &out->of[out->count++];
    *f = (struct sl_report_finding){.part = is_between ? SL_PART_LAUNCH : (enum sl_part)number,
                                    .is_between = is_between,
                                    .per_step_ns = ns / steps,
                                    .share = (double)ns / (double)m->time.length_ns};
    set_place(m->report, f, loss.cause);
    count_ranks(m->report, f, number);
    if (number == SL_PART_WAITING)
        explain_late_rank(m, &loss);
    sl_finding_describe(f, &loss);
}

static int by_time(const void *a, const void *b)
{
    const struct sl_report_finding *x = a, *y = b;

    if (x->per_step_ns != y->per_step_ns)
        return x->per_step_ns < y->per_step_ns ? 1 : -1;
    return x->part != y->part ? (int)x->part - (int)y->part : x->is_between - y->is_between;
}

int sl_report_findings_make(struct sl_report_findings *out, const struct sl_report *report)
{
    struct making m = {.report = report};
    uint64_t median_ns;
    int rc;

    *out = (struct sl_report_findings){0};
    rc = add_all(&m);
    median_ns = sl_spread_median(m.kernel_ns, m.kernels);
    out->time = m.time;
    for (int loss = SL_PART_COMPUTE + 1; rc == 0 && loss < SL_LOSS_COUNT; loss++)
        add_finding(&m, out, loss, median_ns);
    qsort(out->of, out->count, sizeof(out->of[0]), by_time);
    free(m.kernel_ns);
    sl_sums_free(&m.groups);
    sl_sums_free(&m.after_sync);
    return rc ? rc : sl_report_notes_make(out, report);
}
