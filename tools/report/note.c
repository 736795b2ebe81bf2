/*
 * note.c - looks at the steps of all devices, and puts the worst into words.
 *
 * Threads, memory: see note.h.
 */
#include "report/note.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "print/format.h"
#include "report/cost.h"
#include "report/metric.h"
#include "report/scaled.h"
#include "report/step_stats.h"

#define MANY_GAPS 10 /* percent of the time between queued kernels that are worth a word */

/* A device with the largest value of something. */
struct worst {
    struct sl_step_stats stats;
    int64_t rank;
    uint8_t device;
    double value;
};

struct steps {
    uint64_t steps, long_steps, bound[SL_BOUND_COUNT], late_ns, between_ns, length_ns;
    size_t devices, drifts;
    struct worst longest, drift;
};

__attribute__((format(printf, 2, 3))) static void put_lack(struct sl_report_findings *out,
                                                           const char *format, ...)
{
    va_list args;

    if (out->lacks == SL_LACKS_MAX)
        return;
    va_start(args, format);
    vsnprintf(out->lack[out->lacks++], SL_FINDING_TEXT, format, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void put(struct sl_report_findings *out,
                                                      const char *format, ...)
{
    va_list args;

    if (out->notes == SL_NOTES_MAX)
        return;
    va_start(args, format);
    vsnprintf(out->note[out->notes++], SL_FINDING_TEXT, format, args);
    va_end(args);
}

static const char *who(char to[48], const struct worst *w)
{
    if (w->rank < 0)
        snprintf(to, 48, "on GPU %u", w->device);
    else
        snprintf(to, 48, "on rank %" PRId64, w->rank);
    return to;
}

static void see(struct worst *w, double value, const struct sl_step_stats *stats, int64_t rank,
                uint8_t device)
{
    if (value > w->value)
        *w = (struct worst){*stats, rank, device, value};
}

static int add_device(struct steps *all, const struct sl_report *report, size_t first, size_t end,
                      uint8_t device)
{
    int64_t rank = sl_report_rank(&report->recordings.of[first]);
    struct sl_step_stats s;

    if (sl_step_stats_make(&s, report, first, end, device) != 0)
        return -ENOMEM;
    all->devices++;
    all->steps += s.steps;
    all->long_steps += s.long_steps;
    all->late_ns += s.late_ns;
    all->between_ns += s.between_ns;
    all->length_ns += s.length_ns;
    for (int i = 0; i < SL_BOUND_COUNT; i++)
        all->bound[i] += s.bound[i];
    if (s.long_steps)
        see(&all->longest, (double)s.longest_ns / (double)s.median_ns, &s, rank, device);
    all->drifts += (size_t)s.is_drift;
    if (s.is_drift)
        see(&all->drift, fabs(s.drift_ns) / (double)s.median_ns, &s, rank, device);
    return 0;
}

static void say_launches(struct sl_report_findings *out, const struct steps *all)
{
    uint64_t late = all->bound[SL_BOUND_LAUNCH], unknown = all->bound[SL_BOUND_UNKNOWN];
    double percent = all->length_ns ? 100 * (double)all->late_ns / (double)all->length_ns : 0;
    double between = all->length_ns ? 100 * (double)all->between_ns / (double)all->length_ns : 0;

    if (all->steps == 0)
        return;
    if (late == all->steps)
        snprintf(out->launches, sizeof(out->launches),
                 "Launch-bound in all steps: late launches (sync, cpu, loader and launch together) "
                 "cost %.0f %% of the time.",
                 percent);
    else if (late)
        snprintf(out->launches, sizeof(out->launches),
                 "Launch-bound in %" PRIu64 " of %" PRIu64
                 " steps: late launches (sync, cpu, loader and launch together) cost %.0f %% of "
                 "the time.",
                 late, all->steps, percent);
    else if (unknown)
        snprintf(out->launches, sizeof(out->launches),
                 "Whether launches come in time is not known for %" PRIu64 " of %" PRIu64 " steps.",
                 unknown, all->steps);
    else if (between >= MANY_GAPS)
        snprintf(out->launches, sizeof(out->launches),
                 "GPU-bound in all steps: launches come in time, but gaps between queued kernels "
                 "cost %.0f %% of the time.",
                 between);
    else
        snprintf(out->launches, sizeof(out->launches),
                 "GPU-bound in all steps: launches come in time, so only less GPU work makes them "
                 "shorter.");
}

static void say_long_steps(struct sl_report_findings *out, const struct steps *all)
{
    const struct sl_step_stats *s = &all->longest.stats;
    char longest[SL_FORMAT_SIZE], median[SL_FORMAT_SIZE], rank[48];

    if (all->long_steps)
        put(out,
            "%" PRIu64 " of %" PRIu64 " steps %s long: step %" PRIu64 " %s took %s (median %s); "
            "`%s` grew most. Details: --only steps",
            all->long_steps, all->steps, all->long_steps == 1 ? "is" : "are", s->longest,
            who(rank, &all->longest), sl_format_about(longest, s->longest_ns),
            sl_format_about(median, s->median_ns), sl_part_name(s->longest_part));
}

static void say_drift(struct sl_report_findings *out, const struct steps *all)
{
    const struct sl_step_stats *s = &all->drift.stats;
    char slope[SL_FORMAT_SIZE], rank[48];

    if (all->drifts)
        put(out,
            "Steps become %s on %zu of %zu GPUs: %s by %s each, %.1f %% of a step from the first "
            "to the last; `%s` changes most. Details: --only ranks",
            s->slope_ns > 0 ? "longer" : "shorter", all->drifts, all->devices,
            who(rank, &all->drift), sl_format_about(slope, (uint64_t)(fabs(s->slope_ns) + 0.5)),
            100 * all->drift.value, sl_part_name(s->drift_part));
}

/* ---- the recording ---- */

static int say_cost(struct sl_report_findings *out, const struct sl_report *report)
{
    double worst = sl_setting(&report->settings, &sl_metric_cost, 0).number;
    int has_steps = sl_report_has_steps(report), rc = 0;
    size_t end, over = 0;
    char where[48] = "";

    for (size_t first = 0; first < report->recordings.count && rc == 0; first = end) {
        struct sl_cost cost;
        double share;

        end = sl_report_rank_end(report, first);
        rc = sl_cost_make(report, first, end, &cost);
        sl_sums_free(&cost.by_name);
        share = cost.length_ns ? (double)cost.recording_ns / (double)cost.length_ns : 0;
        if (share <= worst)
            continue;
        over++;
        worst = share;
        if (sl_report_rank(&report->recordings.of[first]) >= 0)
            snprintf(where, sizeof(where), " on rank %" PRId64,
                     sl_report_rank(&report->recordings.of[first]));
    }
    if (over)
        put(out,
            "The recording itself cost up to %.1f %% of the %s%s, which %s shorter without it. "
            "Details: --only cost",
            100 * worst, has_steps ? "steps" : "time", where, has_steps ? "are" : "is");
    return rc ? -ENOMEM : 0;
}

static void say_lost(struct sl_report_findings *out, const struct sl_report *report)
{
    uint64_t lost = sl_report_lost(report);
    char number[SL_FORMAT_SIZE];

    if (lost)
        put(out,
            "%s records were lost, and no file says when: causes of idle time near the losses may "
            "be wrong.",
            sl_format_count(number, lost));
}

static void say_replays(struct sl_report_findings *out, const struct sl_report *report)
{
    for (size_t at = 0; at < report->recordings.count; at++)
        for (size_t i = 0; i < report->recordings.of[at].ops; i++)
            if (sl_report_is_whole_replay(&report->recordings.of[at].op[i])) {
                put(out, "%s", sl_report_whole_replays);
                return;
            }
}

/* Scales the totals of the first rank with several windows. */
static void say_scaled(struct sl_report_findings *out, const struct sl_report *report)
{
    size_t end;

    for (size_t first = 0; first < report->recordings.count; first = end) {
        struct sl_scaled s;

        end = sl_report_rank_end(report, first);
        s = sl_scaled_make(report, first, end);
        if (s.windows < 2 || s.factor <= 0)
            continue;
        if (s.is_steps)
            put(out,
                "%zu windows hold %" PRIu64 " of the %" PRIu64
                " steps from the first to the last. Totals scaled to all of them, by the factor "
                "%.2f: --only scaled",
                s.windows, s.recorded, s.all, s.factor);
        else
            put(out,
                "%zu windows hold %.1f %% of the time from the first to the last. Totals scaled to "
                "all of it, by the factor %.2f: --only scaled",
                s.windows, 100 / s.factor, s.factor);
        return;
    }
}

/* Says which part of the recorded time the chosen steps are, if it is not most. */
static void say_covered(struct sl_report_findings *out, const struct sl_report *report)
{
    uint64_t in_ns = out->time.length_ns, all_ns = 0;

    for (size_t i = 0; i < report->recordings.count; i++)
        for (size_t k = 0; k < report->parts[i].intervals; k++)
            all_ns += report->parts[i].interval[k].end_ns - report->parts[i].interval[k].begin_ns;
    if (in_ns && in_ns < all_ns / 2)
        snprintf(out->covered, sizeof(out->covered),
                 "The steps are only %.0f %% of the recorded time; the rest, as start-up and "
                 "pauses, is in --only parts.",
                 100 * (double)in_ns / (double)all_ns);
}

static int communicates(const struct sl_report *report)
{
    for (size_t i = 0; i < report->recordings.count; i++)
        for (size_t k = 0; k < report->recordings.of[i].ops; k++)
            if (report->recordings.of[i].op[k].work == SL_WORK_COMMUNICATION)
                return 1;
    return 0;
}

/* Returns why no collective of several ranks could be matched. */
static const char *why_unmatched(char to[128], const struct sl_report *report)
{
    const struct sl_recording *r = report->recordings.of;

    snprintf(to, 128, "that needs the traces of all %" PRId64 " ranks, recorded in the same steps.",
             r->header.world_size);
    if (report->ranks < (uint64_t)r->header.world_size)
        return to;
    if (!r->header.has_base)
        return "the files lack baseTimeNanoseconds, so the times of ranks cannot be compared.";
    if (!report->is_one_host)
        return "no collective joins the hosts, so their clocks cannot be aligned.";
    if (!report->is_host_known)
        return "the files name no hosts, and the ends of collectives do not show that the ranks "
               "share "
               "a clock.";
    return to;
}

/* Says what the recording lacks, and which recording has it. */
static void say_lacks(struct sl_report_findings *out, const struct sl_report *report)
{
    const struct sl_header *h = &report->recordings.of[0].header;
    int without_sync = 0, without_steps = 0, waits = out->time.part_ns[SL_PART_WAITING] > 0;
    char why[128];

    for (size_t i = 0; i < report->recordings.count; i++) {
        without_sync |= !report->recordings.of[i].has_sync_rows;
        without_steps |= report->recordings.of[i].steps == 0;
    }
    if (without_sync)
        put_lack(out, "Waits of streams are not known: record with syncline, or with "
                      "enable_cuda_sync_events=True (experimental_config of torch.profiler).");
    if (communicates(report) && report->matched == 0 && h->has_world_size && h->world_size > 1)
        put_lack(out, "Waiting for late ranks is not told from transfer: %s",
                 why_unmatched(why, report));
    else if (report->matched && !report->is_host_known && waits)
        put_lack(out,
                 "Waiting for late ranks is inferred: the files do not name their hosts, but the "
                 "ends of collectives agree as on one host.");
    if (without_steps)
        put_lack(out, "No steps: call step() of torch.profiler or of syncline in each iteration; "
                      "see README.");
}

int sl_report_notes_make(struct sl_report_findings *out, const struct sl_report *report)
{
    uint8_t seen[UINT8_MAX + 1];
    struct steps all = {.steps = 0};
    size_t end;
    int rc = 0;

    for (size_t first = 0; first < report->recordings.count; first = end) {
        end = sl_report_rank_end(report, first);
        sl_report_devices(report, first, end, seen);
        for (int device = 0; device <= UINT8_MAX && rc == 0; device++)
            if (seen[device])
                rc = add_device(&all, report, first, end, (uint8_t)device);
    }
    if (rc)
        return rc;
    if (sl_report_has_steps(report))
        say_launches(out, &all);
    if (out->time.length_ns) {
        say_covered(out, report);
        say_lacks(out, report);
    }
    say_lost(out, report);
    say_long_steps(out, &all);
    say_drift(out, &all);
    say_replays(out, report);
    say_scaled(out, report);
    return say_cost(out, report);
}
