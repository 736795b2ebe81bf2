/*
 * step_stats.c - medians, slopes and sums over the chosen steps of a device.
 *
 * Threads, memory: see step_stats.h.
 */
#include "report/step_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/metric.h"
#include "report/spread.h"

/* Lengths that only vary at random seldom have as large a part of the pairs in one direction. */
#define AGREE 0.75

/* The steps of one device. */
struct steps {
    const struct sl_interval **in;
    uint64_t *number, *value; /* of each step: its number; room for a value */
    size_t count;
};

static const enum sl_part late_parts[] = {SL_PART_SYNC, SL_PART_CPU, SL_PART_LOADER,
                                          SL_PART_LAUNCH};

const char *sl_step_bound_name(enum sl_step_bound bound)
{
    static const char *const names[SL_BOUND_COUNT] = {"GPU", "launch", "unknown"};

    return names[bound];
}

enum sl_step_bound sl_step_bound(const struct sl_report *report, const struct sl_interval *in,
                                 uint64_t *late_ns)
{
    double limit =
        sl_steps_setting(report, SL_STEPS_LAUNCH_RATIO) * (double)(in->end_ns - in->begin_ns);
    uint64_t late = 0;

    for (size_t i = 0; i < sizeof(late_parts) / sizeof(late_parts[0]); i++)
        late += in->part_ns[late_parts[i]];
    late -= in->between_ns; /* these launches came in time */
    *late_ns += late;
    if (in->end_ns == in->begin_ns)
        return SL_BOUND_UNKNOWN;
    if ((double)late >= limit)
        return SL_BOUND_LAUNCH;
    return (double)(late + in->part_ns[SL_PART_UNKNOWN]) >= limit ? SL_BOUND_UNKNOWN : SL_BOUND_GPU;
}

enum sl_step_bound sl_step_stats_bound(const struct sl_step_stats *s)
{
    enum sl_step_bound most = SL_BOUND_GPU;

    for (int i = 0; i < SL_BOUND_COUNT; i++)
        if (s->bound[i] > s->bound[most])
            most = (enum sl_step_bound)i;
    return most;
}

enum sl_part sl_step_stats_grown(const struct sl_step_stats *s, const struct sl_interval *in,
                                 uint64_t *more_ns)
{
    enum sl_part grown = SL_PART_COMPUTE;

    *more_ns = 0;
    for (int part = 0; part < SL_PART_COUNT; part++) {
        if (in->part_ns[part] <= s->median_part_ns[part] ||
            in->part_ns[part] - s->median_part_ns[part] <= *more_ns)
            continue;
        *more_ns = in->part_ns[part] - s->median_part_ns[part];
        grown = (enum sl_part)part;
    }
    return grown;
}

static void free_steps(struct steps *s)
{
    free(s->in);
    free(s->number);
    free(s->value);
}

static int collect(struct steps *s, const struct sl_report *report, size_t first, size_t end,
                   uint8_t device)
{
    size_t most = 1;

    for (size_t at = first; at < end; at++)
        most += report->parts[at].intervals;
    s->in = malloc(most * sizeof(*s->in));
    s->number = malloc(most * sizeof(*s->number));
    s->value = malloc(most * sizeof(*s->value));
    if (!s->in || !s->number || !s->value)
        return -ENOMEM;
    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < report->parts[at].intervals; i++) {
            const struct sl_interval *in = &report->parts[at].interval[i];

            if (in->device != device || !sl_report_counts_step(report, r, in->step))
                continue;
            s->number[s->count] = in->step ? r->step[in->step - 1].number : s->count;
            s->in[s->count++] = in;
        }
    }
    return 0;
}

/* Sets `value` to the length of a part, or of the steps for SL_PART_COUNT. */
static uint64_t *values_of(const struct steps *s, enum sl_part part)
{
    for (size_t i = 0; i < s->count; i++)
        s->value[i] =
            part == SL_PART_COUNT ? s->in[i]->end_ns - s->in[i]->begin_ns : s->in[i]->part_ns[part];
    return s->value;
}

static int find_drift(struct sl_step_stats *out, const struct sl_report *report,
                      const struct steps *s)
{
    double sign, agree;

    if (sl_spread_slope(s->number, values_of(s, SL_PART_COUNT), s->count, &out->slope_ns, &agree) !=
        0)
        return -ENOMEM;
    if (s->count)
        out->drift_ns = out->slope_ns * (double)(s->number[s->count - 1] - s->number[0]);
    out->is_drift = agree >= AGREE &&
                    fabs(out->drift_ns) >
                        sl_steps_setting(report, SL_STEPS_DRIFT_RATIO) * (double)out->median_ns;
    sign = out->slope_ns < 0 ? -1 : 1;
    for (int part = 0; out->is_drift && part < SL_PART_COUNT; part++) {
        double slope;

        if (sl_spread_slope(s->number, values_of(s, (enum sl_part)part), s->count, &slope,
                            &agree) != 0)
            return -ENOMEM;
        if (part && sign * slope <= sign * out->part_slope_ns)
            continue;
        out->part_slope_ns = slope;
        out->drift_part = (enum sl_part)part;
    }
    return 0;
}

double sl_steps_setting(const struct sl_report *report, enum sl_steps_setting which)
{
    return sl_setting(&report->settings, &sl_metric_steps, which).number;
}

static void find_long(struct sl_step_stats *out, const struct steps *s)
{
    uint64_t more_ns;

    for (size_t i = 0; i < s->count; i++) {
        uint64_t length_ns = s->in[i]->end_ns - s->in[i]->begin_ns;

        out->long_steps += length_ns > out->limit_ns;
        if (i && length_ns <= out->longest_ns)
            continue;
        out->longest_ns = length_ns;
        out->longest = s->number[i];
        out->longest_part = sl_step_stats_grown(out, s->in[i], &more_ns);
    }
}

int sl_step_stats_make(struct sl_step_stats *out, const struct sl_report *report, size_t first,
                       size_t end, uint8_t device)
{
    struct steps s = {0};
    int rc = collect(&s, report, first, end, device);

    *out = (struct sl_step_stats){.limit_ns = UINT64_MAX, .steps = s.count};
    for (int part = 0; rc == 0 && part < SL_PART_COUNT; part++)
        out->median_part_ns[part] = sl_spread_median(values_of(&s, (enum sl_part)part), s.count);
    for (size_t i = 0; rc == 0 && i < s.count; i++) {
        out->length_ns += s.in[i]->end_ns - s.in[i]->begin_ns;
        out->between_ns += s.in[i]->between_ns;
        out->bound[sl_step_bound(report, s.in[i], &out->late_ns)]++;
    }
    if (rc == 0) {
        out->median_ns = sl_spread_median(values_of(&s, SL_PART_COUNT), s.count);
        out->limit_ns =
            sl_spread_limit(s.value, s.count, sl_steps_setting(report, SL_STEPS_DEVIATIONS),
                            sl_steps_setting(report, SL_STEPS_LONG_RATIO));
        find_long(out, &s);
        rc = find_drift(out, report, &s);
    }
    free_steps(&s);
    return rc;
}
