/*
 * print_head.c - the first sentences of the first screen: whose recording it is, and what held the
 * GPUs up.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <string.h>

#include "print/format.h"
#include "report/print.h"
#include "report/screen.h"

#define LOSSES 3 /* in the verdict */
#define BOUND  0.1

/* ---- the head: whose recording it is ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void sl_screen_count(const struct sl_report *report, size_t *ranks, size_t *devices)
{
    const struct sl_recordings *all = &report->recordings;

    *ranks = *devices = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct sl_recording *r = &all->of[i];

        if (i && sl_report_rank(r) >= 0 && sl_report_rank(r) == sl_report_rank(&all->of[i - 1]))
            continue;
        ++*ranks;
        for (size_t k = 0; k < r->ops; k++)
            *devices += k == 0 || r->op[k].device != r->op[k - 1].device;
    }
}

/* Finds the lowest and the highest number of a chosen step. Returns 0 if there is none. */
static int step_range(const struct sl_report *report, uint64_t *first, uint64_t *last)
{
    *first = UINT64_MAX;
    *last = 0;
    for (size_t i = 0; i < report->recordings.count; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        for (uint32_t k = 0; k < r->steps; k++) {
            if (!sl_report_counts_step(report, r, k + 1))
                continue;
            *first = r->step[k].number < *first ? r->step[k].number : *first;
            *last = r->step[k].number > *last ? r->step[k].number : *last;
        }
    }
    return *first <= *last;
}

const char *sl_report_title(const struct sl_report *report)
{
    const struct sl_recording *r = &report->recordings.of[0];

    return *r->header.job ? r->header.job : base_name(r->path);
}

void sl_report_print_head(FILE *f, const struct sl_report *report,
                          const struct sl_report_findings *findings)
{
    const struct sl_recording *r = &report->recordings.of[0];
    const struct sl_header *h = &r->header;
    uint64_t first, last, dropped = sl_report_lost(report);
    char span[SL_FORMAT_SIZE], number[SL_FORMAT_SIZE];
    size_t ranks, devices;

    sl_screen_count(report, &ranks, &devices);
    if (h->has_world_size)
        fprintf(f, "%zu of %" PRId64 " rank%s", ranks, h->world_size,
                h->world_size == 1 ? "" : "s");
    else
        fprintf(f, "%zu rank%s", ranks, ranks == 1 ? "" : "s");
    if (*h->host)
        fprintf(f, " on %s", h->host);
    fprintf(f, ", %zu ", devices);
    if (h->devices)
        fprintf(f, "x %s", h->device[0].name);
    else
        fprintf(f, "GPU%s", devices == 1 ? "" : "s");
    if (step_range(report, &first, &last))
        fprintf(f, "; steps %" PRIu64 "..%" PRIu64, first, last);
    else if (findings->time.steps)
        fputs("; no steps", f);
    if (findings->time.steps && findings->time.length_ns) {
        sl_format_about(span, findings->time.length_ns / findings->time.steps);
        fprintf(f, ", %s%s", span, sl_report_has_steps(report) ? " each" : "");
    }
    if (dropped)
        fprintf(f, "; %s records were lost", sl_format_count(number, dropped));
    else
        fputs(r->status ? "; incomplete" : "; complete", f);
}

/* ---- the verdict ---- */

/* Names what holds the steps up: the largest loss, if it is 10 % of them or more. */
static const char *verdict(const struct sl_report_findings *findings)
{
    const struct sl_report_finding *largest = findings->of;

    if (findings->count == 0 || largest->share < BOUND)
        return "The GPUs are busy";
    switch (largest->part) {
    case SL_PART_TRANSFER:
        return "Held up by communication";
    case SL_PART_WAITING:
        return "Held up by a late rank";
    case SL_PART_COPY:
        return "Held up by copies";
    case SL_PART_QUEUED:
        return "Held up by other GPU work";
    case SL_PART_UNKNOWN:
        return "Idle for an unknown reason";
    default:
        return largest->is_between ? "Held up by gaps between kernels" : "Held up by the CPU";
    }
}

const char *sl_screen_part(enum sl_part part)
{
    static const char *const names[SL_PART_COUNT] = {"compute", "transfer", "waiting",     "copy",
                                                     "sync",    "CPU late", "data loader", "launch",
                                                     "queued",  "unknown"};

    return names[part];
}

const char *sl_screen_loss(const struct sl_report_finding *f)
{
    return f->is_between ? "kernel gaps" : sl_screen_part(f->part);
}

/* Says why there is no time that could be divided. */
static void put_nothing(FILE *f, const struct sl_report *report,
                        const struct sl_report_findings *findings)
{
    const struct sl_recordings *all = &report->recordings;
    uint64_t left_out = 0;
    char number[SL_FORMAT_SIZE];
    size_t ops = 0;

    for (size_t i = 0; i < all->count; i++) {
        ops += all->of[i].ops;
        left_out += all->of[i].left_out;
    }
    if (findings->time.steps)
        fputs("All GPU operations in the chosen steps have a length of 0", f);
    else if (left_out && !ops)
        fprintf(f,
                "No GPU operation could be read, and events with impossible ids or times were "
                "left out (%s)",
                sl_format_count(number, left_out));
    else
        fprintf(f, "No GPU operation in the %s",
                ops || sl_report_has_steps(report) ? "chosen steps" : "recording");
    fputs(", so there is nothing to report.", f);
}

void sl_report_print_verdict(FILE *f, const struct sl_report *report,
                             const struct sl_report_findings *findings)
{
    const struct sl_report_time *t = &findings->time;

    if (t->length_ns == 0) {
        put_nothing(f, report, findings);
        return;
    }
    fprintf(f, "%s: the GPUs compute %.0f %% of %s", verdict(findings),
            sl_screen_percent(t->part_ns[SL_PART_COMPUTE], t->length_ns),
            sl_report_has_steps(report) ? "a step" : "the time");
    for (size_t i = 0; i < findings->count && i < LOSSES; i++)
        fprintf(f, "%s %s %.0f %%", i ? "," : ";", sl_screen_loss(&findings->of[i]),
                100 * findings->of[i].share);
    fputs(".", f);
}
