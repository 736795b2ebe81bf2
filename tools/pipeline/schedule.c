/*
 * schedule.c - collects the phases of each device, and divides them into iterations.
 *
 * Threads, memory: see schedule.h.
 */
#include "pipeline/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "event/device.h"
#include "pipeline/stages.h"
#include "read/grow.h"

#define TIME_MOST (1ll << 61) /* in ns since the epoch, in the year 2043 */

/* ---- times ---- */

/* Hostile files have times at the ends of the range. Within these limits, differences fit. */
static int64_t limited(int64_t ns)
{
    return ns > TIME_MOST ? TIME_MOST : ns < -TIME_MOST ? -TIME_MOST : ns;
}

static int64_t base_of(const struct sl_schedule *s, uint32_t recording)
{
    const struct sl_header *h = &s->report->recordings.of[recording].header;

    return h->has_base ? limited(h->base_ns) : 0;
}

int64_t sl_schedule_epoch_ns(const struct sl_schedule *s, uint32_t recording, uint64_t ns)
{
    return limited(limited((int64_t)(ns - SL_REPORT_ORIGIN_NS)) + base_of(s, recording));
}

uint64_t sl_schedule_recording_ns(const struct sl_schedule *s, uint32_t recording, int64_t epoch_ns)
{
    int64_t at = limited(epoch_ns) - base_of(s, recording) + (int64_t)SL_REPORT_ORIGIN_NS;

    return at > 0 ? (uint64_t)at : 0;
}

int64_t sl_schedule_common_ns(const struct sl_schedule *s, const struct sl_lane *lane, int64_t ns)
{
    return limited(sl_clocks_ns(s->clocks, lane->first, limited(ns)));
}

int64_t sl_schedule_own_ns(const struct sl_schedule *s, const struct sl_lane *lane, int64_t ns)
{
    int64_t own = limited(ns);

    /* The clocks differ by a line of small slope, so each round divides the error by 2000. */
    for (int i = 0; i < 6; i++)
        own = limited(own + (limited(ns) - sl_schedule_common_ns(s, lane, own)));
    return own;
}

/* ---- lanes ---- */

static struct sl_lane *lane_of(struct sl_schedule *s, uint32_t first, uint32_t last, uint8_t device)
{
    struct sl_lane *lane;

    for (size_t i = s->lanes; i-- > 0 && s->lane[i].first == first;)
        if (s->lane[i].device == device)
            return &s->lane[i];
    lane = sl_grow((void **)&s->lane, &s->lanes, &s->lane_slots, sizeof(*lane));
    if (lane) {
        lane->rank = sl_report_rank(&s->report->recordings.of[first]);
        lane->first = first;
        lane->last = last;
        lane->device = device;
        lane->pipeline = lane->stage = SL_LANE_NONE;
    }
    return lane;
}

static uint8_t first_device(const struct sl_phases *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (sl_phase_is_own(&p->phase[i]) && p->phase[i].device != SL_DEVICE_NONE)
            return p->phase[i].device;
    return SL_DEVICE_NONE;
}

/* Returns the device on which a phase belongs to a lane: that of its kernels, else that of the
 * phase before it. */
static uint8_t device_of(const struct sl_phase *p, uint8_t *last)
{
    if (p->device != SL_DEVICE_NONE)
        *last = p->device;
    return *last;
}

static int by_start(const void *a, const void *b)
{
    const struct sl_lane_phase *x = a, *y = b;

    if (x->recording != y->recording)
        return x->recording < y->recording ? -1 : 1;
    if (x->phase->start_ns != y->phase->start_ns)
        return x->phase->start_ns < y->phase->start_ns ? -1 : 1;
    return (x->phase->end_ns < y->phase->end_ns) - (x->phase->end_ns > y->phase->end_ns);
}

/* Makes the lanes of the recordings [first, last) of one rank. Two passes: count, then fill. */
static int make_lanes_of_rank(struct sl_schedule *s, uint32_t first, uint32_t last)
{
    size_t before = s->lanes;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t r = first; r < last; r++) {
            const struct sl_phases *all = &s->phases[r];
            uint8_t device = first_device(all);

            for (size_t i = 0; i < all->count; i++) {
                struct sl_phase *p = &all->phase[i];
                struct sl_lane *lane;

                if (!sl_phase_is_own(p))
                    continue;
                lane = lane_of(s, first, last, device_of(p, &device));
                if (!lane)
                    return -ENOMEM;
                if (pass && !lane->phase) {
                    lane->phase = calloc(lane->phases, sizeof(*lane->phase));
                    lane->phases = 0;
                    if (!lane->phase)
                        return -ENOMEM;
                }
                if (pass)
                    lane->phase[lane->phases] = (struct sl_lane_phase){.phase = p, .recording = r};
                lane->phases++;
            }
        }
    for (size_t i = before; i < s->lanes; i++)
        qsort(s->lane[i].phase, s->lane[i].phases, sizeof(*s->lane[i].phase), by_start);
    return 0;
}

static int make_lanes(struct sl_schedule *s)
{
    const struct sl_recordings *all = &s->report->recordings;
    int rc = 0;

    for (size_t first = 0, end; first < all->count && rc == 0; first = end) {
        end = sl_report_rank_end(s->report, first);
        rc = make_lanes_of_rank(s, (uint32_t)first, (uint32_t)end);
    }
    return rc;
}

/* ---- guesses ---- */

/* A phase without kernels gets a place: behind the phase before it on the lane, as long as other
 * phases of its kind are, but not longer than until the next begins. */
static void guess_places(struct sl_schedule *s, struct sl_lane *lane)
{
    uint64_t sum[SL_PHASE_KINDS] = {0}, count[SL_PHASE_KINDS] = {0}, done_ns = 0, next_ns;
    size_t next = 0;

    for (size_t i = 0; i < lane->phases; i++) {
        const struct sl_phase *p = lane->phase[i].phase;

        if (p->kernels) {
            sum[p->id.kind] += p->done_ns - p->begin_ns;
            count[p->id.kind]++;
        }
    }
    for (size_t i = 0; i < lane->phases; i++) {
        struct sl_phase *p = lane->phase[i].phase;
        uint64_t length;

        if (i && lane->phase[i - 1].recording != lane->phase[i].recording)
            done_ns = 0;
        if (p->kernels) {
            done_ns = p->done_ns > done_ns ? p->done_ns : done_ns;
            continue;
        }
        s->guessed++;
        length = count[p->id.kind] ? sum[p->id.kind] / count[p->id.kind] : p->end_ns - p->start_ns;
        while (next < lane->phases && (next <= i || !lane->phase[next].phase->kernels))
            next++;
        next_ns = next < lane->phases && lane->phase[next].recording == lane->phase[i].recording
                      ? lane->phase[next].phase->begin_ns
                      : UINT64_MAX;
        p->begin_ns = done_ns > p->start_ns ? done_ns : p->start_ns;
        if (p->begin_ns > next_ns)
            p->begin_ns = next_ns > length ? next_ns - length : 0;
        p->done_ns = next_ns - p->begin_ns < length ? next_ns : p->begin_ns + length;
        if (!sl_phase_is_communication(p->id.kind))
            done_ns = p->done_ns;
    }
}

/* ---- iterations of a lane ---- */

struct division {
    struct sl_schedule *s;
    struct sl_lane *lane;
    int has_optimizer, has_ranges;
    enum sl_phase_kind last; /* of work in the current iteration */
    int64_t range;           /* the range `iteration` around the last phase */
    uint32_t next_mb[SL_PHASE_COMPUTES];
};

/* Returns the number of the range `iteration` around a phase, or -1. */
static int64_t range_number(const struct division *d, const struct sl_lane_phase *at)
{
    const struct sl_phases *p = &d->s->phases[at->recording];
    uint32_t around = at->phase->around;

    while (around && p->phase[around - 1].id.kind != SL_PHASE_ITERATION)
        around = p->phase[around - 1].around;
    return around ? p->phase[around - 1].id.mb : -1;
}

static int64_t step_number(const struct division *d, const struct sl_lane_phase *at)
{
    const struct sl_recording *r = &d->s->report->recordings.of[at->recording];
    uint32_t part = sl_recording_part(r, at->phase->start_ns);

    return part % 2 ? (int64_t)(r->step[part / 2].number & INT64_MAX) : -1;
}

/* Returns 1 if an iteration begins with the phase. */
static int begins(const struct division *d, const struct sl_lane_phase *at, int64_t range)
{
    const struct sl_lane *lane = d->lane;
    const struct sl_lane_iteration *now =
        lane->iterations ? &lane->iteration[lane->iterations - 1] : NULL;
    const struct sl_phase_id *id = &at->phase->id;

    if (!now || now->recording != at->recording)
        return 1;
    if (id->kind == SL_PHASE_COMMUNICATION)
        return 0;
    if (d->has_optimizer)
        return d->last == SL_PHASE_OPTIMIZER && id->kind != SL_PHASE_OPTIMIZER;
    if (d->has_ranges)
        return id->kind < SL_PHASE_COMPUTES && d->last != SL_PHASE_KINDS && range >= 0 &&
               range != d->range;
    return (id->kind == SL_PHASE_F || id->kind == SL_PHASE_RECV_FORWARD) && id->mb == 0 &&
           id->chunk <= 0 && now->count[SL_PHASE_F] && d->last != SL_PHASE_KINDS;
}

static void look_at(struct division *d, uint32_t recording)
{
    d->has_optimizer = d->has_ranges = 0;
    for (size_t i = 0; i < d->lane->phases; i++)
        if (d->lane->phase[i].recording == recording)
            d->has_optimizer |= d->lane->phase[i].phase->id.kind == SL_PHASE_OPTIMIZER;
    for (size_t i = 0; i < d->s->phases[recording].count; i++)
        d->has_ranges |= d->s->phases[recording].phase[i].id.kind == SL_PHASE_ITERATION;
}

static int begin(struct division *d, size_t at)
{
    struct sl_lane *lane = d->lane;
    const struct sl_lane_phase *first = &lane->phase[at];
    struct sl_lane_iteration *new;

    if (!lane->iterations || lane->iteration[lane->iterations - 1].recording != first->recording)
        look_at(d, first->recording);
    new =
        sl_grow((void **)&lane->iteration, &lane->iterations, &lane->iteration_slots, sizeof(*new));
    if (!new)
        return -ENOMEM;
    *new = (struct sl_lane_iteration){.number = -1,
                                      .begin_ns = INT64_MAX,
                                      .end_ns = INT64_MIN,
                                      .first_f_ns = INT64_MAX,
                                      .recording = first->recording,
                                      .first = at};
    memset(d->next_mb, 0, sizeof(d->next_mb));
    d->last = SL_PHASE_KINDS;
    return 0;
}

static void take_phase(struct division *d, struct sl_lane_phase *at, int64_t range)
{
    struct sl_lane *lane = d->lane;
    struct sl_lane_iteration *now = &lane->iteration[lane->iterations - 1];
    struct sl_phase *p = at->phase;
    int64_t begin_ns = sl_schedule_epoch_ns(d->s, at->recording, p->begin_ns);
    int64_t done_ns = sl_schedule_epoch_ns(d->s, at->recording, p->done_ns);

    at->iteration = (uint32_t)lane->iterations - 1;
    now->end = (size_t)(at - lane->phase) + 1;
    if (p->id.kind >= SL_PHASE_COMPUTES)
        return;
    /* A message may be received before the range or the step of the iteration begins. */
    if (d->last == SL_PHASE_KINDS)
        now->number = range >= 0 ? range : step_number(d, at);
    d->range = range >= 0 ? range : d->range;
    if (p->id.mb < 0 && p->id.kind != SL_PHASE_OPTIMIZER && p->id.chunk < 0)
        p->id.mb = (int32_t)d->next_mb[p->id.kind];
    d->next_mb[p->id.kind]++;
    now->count[p->id.kind]++;
    now->begin_ns = begin_ns < now->begin_ns ? begin_ns : now->begin_ns;
    now->end_ns = done_ns > now->end_ns ? done_ns : now->end_ns;
    if (p->id.kind == SL_PHASE_F && begin_ns < now->first_f_ns)
        now->first_f_ns = begin_ns;
    d->last = p->id.kind;
}

/* Calls, ranges and kernels are in different parts of a file, so a truncated one may have the
 * ranges of an iteration without its kernels. If the phase after an iteration has kernels, all
 * those of the iteration are there. */
static int is_before_cut(const struct sl_schedule *s, const struct sl_lane *lane,
                         const struct sl_lane_iteration *it)
{
    if (!s->report->recordings.of[it->recording].is_truncated)
        return 1;
    for (size_t i = it->first; i < lane->phases; i++) {
        const struct sl_lane_phase *phase = &lane->phase[i];

        if (phase->recording != it->recording)
            return 0;
        if (phase->phase->id.kind >= SL_PHASE_COMPUTES)
            continue;
        if (!phase->phase->kernels)
            return 0;
        if (i >= it->end)
            return 1;
    }
    return 0;
}

static int is_truncated(const struct sl_schedule *s, const struct sl_lane *lane)
{
    int any = 0;

    for (uint32_t r = lane->first; r < lane->last; r++)
        any |= s->report->recordings.of[r].is_truncated;
    return any;
}

/* An iteration is complete if it has as many phases of each kind as any has. A single one must have
 * as many B as F. Numbers that do not grow are no numbers of iterations. */
static void judge(const struct sl_schedule *s, struct sl_lane *lane)
{
    uint32_t most[SL_PHASE_COMPUTES] = {0};
    int grows = 1, any = 0;

    for (size_t i = 0; i < lane->iterations; i++) {
        for (int k = 0; k < SL_PHASE_COMPUTES; k++)
            if (lane->iteration[i].count[k] > most[k])
                most[k] = lane->iteration[i].count[k];
        grows &= lane->iteration[i].number >= 0 &&
                 (!i || lane->iteration[i].number > lane->iteration[i - 1].number);
    }
    for (size_t i = 0; i < lane->iterations; i++) {
        struct sl_lane_iteration *it = &lane->iteration[i];

        it->is_complete = it->count[SL_PHASE_F] > 0;
        for (int k = 0; k < SL_PHASE_COMPUTES; k++)
            it->is_complete &= it->count[k] == most[k] || (k == SL_PHASE_OPTIMIZER && it->count[k]);
        it->is_complete &= !most[SL_PHASE_B] || most[SL_PHASE_B] == most[SL_PHASE_F];
        it->is_complete = it->is_complete && is_before_cut(s, lane, it);
        any |= it->is_complete;
        if (!grows)
            it->number = -1;
    }
    lane->is_left_out = !any && is_truncated(s, lane);
}

static int divide_lane(struct sl_schedule *s, struct sl_lane *lane)
{
    struct division d = {.s = s, .lane = lane, .last = SL_PHASE_KINDS, .range = -1};

    for (size_t i = 0; i < lane->phases; i++) {
        int64_t range = range_number(&d, &lane->phase[i]);

        if (begins(&d, &lane->phase[i], range) && begin(&d, i) != 0)
            return -ENOMEM;
        take_phase(&d, &lane->phase[i], range);
    }
    judge(s, lane);
    return 0;
}

/* ---- all ---- */

int sl_schedule_make(struct sl_schedule *out, const struct sl_report *report,
                     struct sl_phase_names *names, const struct sl_command *command,
                     const char *stages)
{
    const struct sl_recordings *all = &report->recordings;
    int rc = 0;

    *out = (struct sl_schedule){.report = report};
    out->phases = calloc(all->count + 1, sizeof(*out->phases));
    if (!out->phases)
        return -ENOMEM;
    for (size_t i = 0; i < all->count && rc == 0; i++)
        rc = sl_phases_make(&out->phases[i], &all->of[i], names);
    if (rc == 0)
        rc = make_lanes(out);
    for (size_t i = 0; i < out->lanes && rc == 0; i++) {
        guess_places(out, &out->lane[i]);
        rc = divide_lane(out, &out->lane[i]);
    }
    if (rc == 0)
        rc = sl_stages_make(out, command, stages);
    if (rc == 0)
        rc = sl_stages_match(out);
    if (rc == 0)
        rc = sl_schedule_align(out);
    if (rc)
        return rc;
    sl_stages_time(out);
    return sl_schedule_find_waits(out);
}

void sl_schedule_free(struct sl_schedule *s)
{
    for (size_t i = 0; s->phases && i < s->report->recordings.count; i++)
        sl_phases_free(&s->phases[i]);
    for (size_t i = 0; i < s->lanes; i++) {
        free(s->lane[i].phase);
        free(s->lane[i].iteration);
    }
    for (size_t i = 0; i < s->pipelines; i++) {
        free(s->pipeline[i].lane);
        free(s->pipeline[i].iteration);
        free(s->pipeline[i].of);
    }
    free(s->phases);
    free(s->lane);
    free(s->pipeline);
    sl_clocks_destroy(s->clocks);
}
