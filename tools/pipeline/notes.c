/*
 * notes.c - the sentences that the text, the JSON and the page share.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "event/device.h"
#include "pipeline/print.h"
#include "print/format.h"
#include "report/screen.h"

#define SENTENCE     512
#define MISSING      8 /* ranks that are named */
#define MISSING_SIZE 256

const struct sl_lane *sl_pipeline_lane(const struct sl_pipeline_view *v, size_t pipeline,
                                       size_t stage)
{
    return &v->schedule->lane[v->schedule->pipeline[pipeline].lane[stage]];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *sl_pipeline_lane_text(char *to, size_t size, const struct sl_pipeline_view *v,
                            const struct sl_lane *lane)
{
    const struct sl_recording *r = &v->schedule->report->recordings.of[lane->first];
    int at = lane->rank >= 0 ? snprintf(to, size, "rank %" PRId64, lane->rank)
                             : snprintf(to, size, "%.60s", base_name(r->path));

    if (at > 0 && (size_t)at < size && r->header.host[0])
        snprintf(to + at, size - (size_t)at, " (%s)", r->header.host);
    return to;
}

const char *sl_pipeline_cause(enum sl_part part)
{
    return part == SL_PART_COMPUTE    ? "kernels of no phase"
           : part == SL_PART_WAITING  ? "waiting for another stage"
           : part == SL_PART_TRANSFER ? "communication"
                                      : sl_screen_part(part);
}

/* ---- the typical iteration ---- */

struct length {
    int64_t ns;
    size_t at;
};

static int by_length(const void *a, const void *b)
{
    const struct length *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Iterations that follow another one come first, because the begin of the others is less sure. */
size_t sl_pipeline_typical(const struct sl_pipeline_view *v, size_t pipeline)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[pipeline];
    struct length *length = calloc(p->iterations + 1, sizeof(*length));
    size_t count = 0, typical = SIZE_MAX;

    for (int follows = 1; follows >= 0 && !count && length; follows--)
        for (size_t i = 0; i < p->iterations; i++)
            if (p->iteration[i].follows >= follows && sl_bubble_has(&v->bubble[pipeline], p, i))
                length[count++] =
                    (struct length){p->iteration[i].end_ns - p->iteration[i].begin_ns, i};
    if (count) {
        qsort(length, count, sizeof(*length), by_length);
        typical = length[(count - 1) / 2].at;
    }
    free(length);
    return typical;
}

/* ---- names and kernels without a phase ---- */

struct ranked {
    uint64_t value;
    uint32_t at;
};

static int largest_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static size_t take_largest(struct ranked *all, size_t count, uint32_t *to, size_t most)
{
    if (count)
        qsort(all, count, sizeof(*all), largest_first);
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++)
        to[i] = all[i].at;
    free(all);
    return count;
}

size_t sl_pipeline_strangers(const struct sl_phase_names *n, uint32_t *order, size_t most)
{
    struct ranked *all = calloc(n->strangers + 1, sizeof(*all));

    for (size_t i = 0; all && i < n->strangers; i++)
        all[i] = (struct ranked){n->stranger[i].count, (uint32_t)i};
    return all ? take_largest(all, n->strangers, order, most) : 0;
}

size_t sl_pipeline_loose(const struct sl_phase_names *n, uint32_t *name, size_t most)
{
    struct ranked *all;
    size_t count = 0, named = 0;

    for (size_t i = 0; i < n->slots; i++)
        count += n->loose_name_ns[i] != 0;
    all = calloc(count + 1, sizeof(*all));
    for (size_t i = 0; all && i < n->slots; i++)
        if (n->loose_name_ns[i])
            all[named++] = (struct ranked){n->loose_name_ns[i], (uint32_t)i};
    return all ? take_largest(all, named, name, most) : 0;
}

/* ---- ranks that are missing ---- */

static int has_lane(const struct sl_schedule *s, int64_t rank)
{
    for (size_t i = 0; i < s->lanes; i++)
        if (s->lane[i].rank == rank)
            return 1;
    return 0;
}

/* Writes the first ranks of the job that have no phases, such as "ranks 2, 5 and more". Returns
 * their number. */
static size_t missing_text(char *to, size_t size, const struct sl_schedule *s)
{
    int64_t rank[MISSING];
    size_t count = 0;
    int at;

    /* Ranks that are not named may be any. */
    if (s->lanes && s->lane[0].rank >= 0 && s->world > s->ranks)
        for (int64_t i = 0; count < MISSING && (uint64_t)i < s->world; i++)
            if (!has_lane(s, i))
                rank[count++] = i;
    if (!count) {
        snprintf(to, size, "a rank");
        return 1;
    }
    at = snprintf(to, size, "rank%s %" PRId64, count > 1 ? "s" : "", rank[0]);
    for (size_t i = 1; i < count; i++)
        at += snprintf(to + at, size - (size_t)at, "%s %" PRId64,
                       i + 1 == count && s->world - s->ranks == count ? " and" : ",", rank[i]);
    if (s->world - s->ranks > count)
        snprintf(to + at, size - (size_t)at, " and %" PRIu64 " more", s->world - s->ranks - count);
    return s->world - s->ranks;
}

/* Writes what the measured stages lack, such as " (rank 2 is missing)". */
static void put_lack(char *to, size_t size, const struct sl_pipeline_view *v, size_t pipeline)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[pipeline];
    const size_t left_out = p->stages - v->bubble[pipeline].stages;
    char missing[MISSING_SIZE], without[48] = "";
    size_t count;

    *to = '\0';
    for (size_t i = 0; left_out == 1 && i < p->stages; i++)
        if (sl_pipeline_lane(v, pipeline, i)->is_left_out)
            snprintf(without, sizeof(without), "stage %zu is left out", i);
    if (left_out > 1)
        snprintf(without, sizeof(without), "%zu are left out", left_out);
    if (p->lacks_ranks) {
        count = missing_text(missing, sizeof(missing), v->schedule);
        snprintf(to, size, " (%s%s%s %s missing)", without, left_out ? ", " : "", missing,
                 count > 1 ? "are" : "is");
    } else if (left_out) {
        snprintf(to, size, " (%s)", without);
    }
}

/* ---- sentences ---- */

char *sl_pipeline_sentence(char *to, size_t size, const struct sl_pipeline_view *v, size_t pipeline)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[pipeline];
    const struct sl_bubble *b = &v->bubble[pipeline];
    char length[SL_FORMAT_SIZE], chunks[48] = "", lack[MISSING_SIZE + 64];
    uint64_t times = (uint64_t)b->measured * b->stages;

    put_lack(lack, sizeof(lack), v, pipeline);
    if (p->chunks > 1)
        snprintf(chunks, sizeof(chunks), " of %" PRIu32 " chunks", p->chunks);
    if (!b->all.length_ns || !times)
        snprintf(to, size, "%zu stage%s%s: no iteration has GPU work in phases", p->stages,
                 p->stages == 1 ? "" : "s", lack);
    else
        snprintf(to, size,
                 "%zu stage%s%s, %" PRIu32 " micro-batch%s%s, %zu iteration%s of %s: the bubble is "
                 "%.1f %%",
                 p->stages, p->stages == 1 ? "" : "s", lack, p->mbs, p->mbs == 1 ? "" : "es",
                 chunks, b->measured, b->measured == 1 ? "" : "s",
                 sl_format_about(length, b->all.length_ns / times),
                 100 * sl_bubble_rate(b->all.span_ns, b->all.length_ns));
    return to;
}

struct out {
    const struct sl_pipeline_view *v;
    void (*take)(void *user, const char *sentence);
    void *user;
    char text[SENTENCE];
};

/* Says which ranks have no iteration that is measured, or fewer than others. */
static void note_ends(struct out *o, const struct sl_pipeline *p)
{
    for (size_t i = 0; i < p->stages; i++) {
        const struct sl_lane *lane = &o->v->schedule->lane[p->lane[i]];
        char who[128];
        size_t has = 0;

        if (lane->is_left_out) {
            snprintf(o->text, sizeof(o->text),
                     "%s is left out of all sums: its file is truncated, and no iteration is whole "
                     "before the cut",
                     sl_pipeline_lane_text(who, sizeof(who), o->v, lane));
            o->take(o->user, o->text);
            continue;
        }
        for (size_t k = 0; k < p->iterations; k++)
            has += sl_schedule_of(o->v->schedule, p, k, i) != NULL;
        if (has == p->iterations)
            continue;
        snprintf(o->text, sizeof(o->text),
                 "%s has %zu of %zu iterations: it recorded less than the others, or ended early",
                 sl_pipeline_lane_text(who, sizeof(who), o->v, lane), has, p->iterations);
        o->take(o->user, o->text);
    }
}

static void note_clocks(struct out *o, const struct sl_pipeline *p)
{
    const struct sl_schedule *s = o->v->schedule;
    const struct sl_lane *base = &s->lane[p->lane[0]];
    char a[128], b[128];

    for (size_t i = 1; i < p->stages; i++) {
        const struct sl_lane *lane = &s->lane[p->lane[i]];

        if (sl_clocks_reference(s->clocks, lane->first) ==
            sl_clocks_reference(s->clocks, base->first))
            continue;
        snprintf(o->text, sizeof(o->text),
                 "nothing connects the clock of %s with that of %s, so their times are not "
                 "compared: each stage has an iteration of its own",
                 sl_pipeline_lane_text(a, sizeof(a), o->v, lane),
                 sl_pipeline_lane_text(b, sizeof(b), o->v, base));
        o->take(o->user, o->text);
    }
}

static void note_pipeline(struct out *o, size_t at)
{
    const struct sl_pipeline *p = &o->v->schedule->pipeline[at];

    if (o->v->bubble[at].is_partial && p->iterations && o->v->bubble[at].stages)
        o->take(o->user, "no iteration is complete on all stages, so the part that was recorded is "
                         "measured");
    else if (p->completes < p->iterations) {
        snprintf(o->text, sizeof(o->text),
                 "%zu of %zu iterations are left out, because they are not complete on all stages",
                 p->iterations - p->completes, p->iterations);
        o->take(o->user, o->text);
    }
    note_ends(o, p);
    if (p->is_by_order)
        o->take(o->user, "ranks have different numbers of iterations, and nothing numbers them: "
                         "they are matched from the first on");
    note_clocks(o, p);
    if (p->lacks_ranks)
        o->take(o->user, "stages may be missing, so theory is not known and the bubble is that of "
                         "the stages that are there: name the traces of all ranks, or the ranks of "
                         "each stage with --stages");
    else if (p->stages == 1)
        o->take(o->user, "the pipeline has one stage: other ranks have no trace, or they send "
                         "nothing to it; --stages names the ranks of each stage");
}

static void note_conflicts(struct out *o)
{
    const struct sl_schedule *s = o->v->schedule;
    const struct sl_clocks_conflict *conflict;
    char a[128], b[128], span[SL_FORMAT_SIZE];
    size_t conflicts;

    conflict = sl_clocks_conflicts(s->clocks, &conflicts);
    for (size_t i = 0; i < conflicts; i++) {
        const struct sl_lane at[2] = {{.first = conflict[i].a, .rank = -1},
                                      {.first = conflict[i].b, .rank = -1}};
        struct sl_lane lane[2] = {at[0], at[1]};

        for (int k = 0; k < 2; k++)
            lane[k].rank = sl_report_rank(&s->report->recordings.of[lane[k].first]);
        snprintf(o->text, sizeof(o->text),
                 "the times of %s and %s contradict each other by %s: their messages are not "
                 "matched rightly, or a clock jumped",
                 sl_pipeline_lane_text(a, sizeof(a), o->v, &lane[0]),
                 sl_pipeline_lane_text(b, sizeof(b), o->v, &lane[1]),
                 sl_format_about(span, conflict[i].ns));
        o->take(o->user, o->text);
    }
}

void sl_pipeline_notes(const struct sl_pipeline_view *v,
                       void (*take)(void *user, const char *sentence), void *user)
{
    struct out o = {.v = v, .take = take, .user = user};
    const struct sl_schedule *s = v->schedule;
    char missing[MISSING_SIZE];

    if (!s->lanes)
        take(user, "no range matches a pattern, so no phase is known: give patterns with "
                   "--patterns");
    else if (s->world > s->ranks) {
        const size_t count = missing_text(missing, sizeof(missing), s);

        snprintf(o.text, sizeof(o.text),
                 "%s %s no trace with phases: %zu of the %" PRIu64 " ranks of the job %s one",
                 missing, count > 1 ? "have" : "has", s->ranks, s->world,
                 s->ranks == 1 ? "has" : "have");
        take(user, o.text);
    }
    if (s->order == SL_STAGES_RANK && s->lanes > 1)
        take(user, "the stages are in the order of the ranks, because nothing else tells it; "
                   "--stages names another order");
    for (size_t i = 0; i < s->pipelines; i++)
        note_pipeline(&o, i);
    if (s->guessed) {
        snprintf(o.text, sizeof(o.text),
                 "%" PRIu64 " ranges have no kernel: their places are guessed, hatched in the "
                 "picture, and not counted as work",
                 s->guessed);
        take(user, o.text);
    }
    note_conflicts(&o);
}
