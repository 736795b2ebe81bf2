/*
 * stages.c - orders the lanes into pipelines, and matches their iterations.
 *
 * Threads, memory: see stages.h.
 */
#include "pipeline/stages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "read/grow.h"

#define RANKS_MOST 4096 /* in --stages */

/* ---- pipelines ---- */

static int add_stage(struct sl_schedule *s, struct sl_pipeline *p, uint32_t lane)
{
    uint32_t *grown = realloc(p->lane, (p->stages + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    p->lane = grown;
    p->lane[p->stages] = lane;
    s->lane[lane].pipeline = (uint32_t)(p - s->pipeline);
    s->lane[lane].stage = (uint32_t)p->stages++;
    return 0;
}

static struct sl_pipeline *add_pipeline(struct sl_schedule *s)
{
    return sl_grow((void **)&s->pipeline, &s->pipelines, &s->pipeline_slots, sizeof(*s->pipeline));
}

static uint32_t lane_of_rank(const struct sl_schedule *s, int64_t rank)
{
    uint32_t i = 0;

    while (i < s->lanes && s->lane[i].rank != rank)
        i++;
    return i < s->lanes ? i : SL_LANE_NONE;
}

/* A rank that --stages names. */
struct named {
    uint32_t lane;
    uint32_t stage, place; /* the place among the ranks of the stage */
};

static int by_place(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->stage > y->stage) - (x->stage < y->stage);
}

/* Reads --stages: the ranks of a stage with commas between them, stages with semicolons. Without a
 * semicolon each rank is a stage. Returns the number of ranks, or 0 after a line on stderr. */
static size_t read_stages(const struct sl_schedule *s, const struct sl_command *command,
                          const char *text, struct named *named)
{
    int is_plain = !strchr(text, ';');
    uint32_t stage = 0, place = 0, replicas = 0;
    size_t count = 0;

    for (const char *at = text;; at++) {
        size_t size = strspn(at, "0123456789");
        char number[24];
        uint64_t rank;
        uint32_t lane;

        snprintf(number, sizeof(number), "%.*s", (int)(size < 20 ? size : 20), at);
        if (!size || sl_args_number(number, INT64_MAX, &rank) != 0 || !strchr(",;", at[size]) ||
            count == RANKS_MOST) {
            sl_args_complain(command,
                             "--stages %s is not valid: give the ranks of each stage, as 0,1;2,3, "
                             "or one rank for each stage, as 0,1,2,3",
                             text);
            return 0;
        }
        lane = lane_of_rank(s, (int64_t)rank);
        for (size_t i = 0; i < count; i++)
            if (lane != SL_LANE_NONE && named[i].lane == lane) {
                sl_args_complain(command, "--stages names rank %" PRIu64 " twice", rank);
                return 0;
            }
        if (lane == SL_LANE_NONE) {
            sl_args_complain(command,
                             "--stages names rank %" PRIu64
                             ", which has no trace with ranges of a pipeline",
                             rank);
            return 0;
        }
        named[count++] = (struct named){lane, stage, place++};
        at += size;
        if (!stage)
            replicas = place;
        if (*at == ',' && !is_plain)
            continue;
        if (place != replicas) {
            sl_args_complain(command,
                             "--stages %s is not valid: stage 0 has %" PRIu32 " and stage %" PRIu32
                             " has %" PRIu32 " of the ranks, but each pipeline needs one of each "
                             "stage",
                             text, replicas, stage, place);
            return 0;
        }
        if (!*at)
            return count;
        stage++;
        place = 0;
    }
}

static int take_stages(struct sl_schedule *s, const struct sl_command *command, const char *text)
{
    struct named *named = calloc(RANKS_MOST, sizeof(*named));
    struct sl_pipeline *p = NULL;
    size_t count;
    int rc = 0;

    if (!named)
        return -ENOMEM;
    count = read_stages(s, command, text, named);
    if (!count)
        rc = SL_EXIT_USAGE;
    else
        qsort(named, count, sizeof(*named), by_place);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!i || named[i].place != named[i - 1].place)
            p = add_pipeline(s);
        rc = p ? add_stage(s, p, named[i].lane) : -ENOMEM;
    }
    free(named);
    return rc;
}

/* Returns the lowest lane of the pipeline of a lane, in a forest of lanes. */
static uint32_t root_of(const uint32_t *to, uint32_t lane)
{
    while (to[lane] != lane)
        lane = to[lane];
    return lane;
}

/* Joins the lanes that send to each other. Returns 1 if any do. */
static int join_pairs(const struct sl_schedule *s, uint32_t *to)
{
    int any = 0;

    for (uint32_t i = 0; i < s->lanes; i++)
        for (uint32_t k = s->lane[i].first; k < s->lane[i].last; k++) {
            const struct sl_recording *r = &s->report->recordings.of[k];
            int32_t last = -1;

            for (size_t n = 0; n < r->pairs; n++) {
                uint32_t peer, a, b;

                if (r->pair[n].peer == last)
                    continue;
                last = r->pair[n].peer;
                peer = lane_of_rank(s, last);
                if (last < 0 || peer == SL_LANE_NONE || s->lane[peer].rank == s->lane[i].rank)
                    continue;
                a = root_of(to, i);
                b = root_of(to, peer);
                to[a > b ? a : b] = a > b ? b : a;
                any = 1;
            }
        }
    return any;
}

static int64_t first_f(const struct sl_lane *lane)
{
    for (int complete = 1; complete >= 0; complete--)
        for (size_t i = 0; i < lane->iterations; i++)
            if (lane->iteration[i].first_f_ns != INT64_MAX &&
                lane->iteration[i].is_complete >= complete)
                return lane->iteration[i].first_f_ns;
    return INT64_MAX;
}

static const char *host_of(const struct sl_schedule *s, const struct sl_lane *lane)
{
    return s->report->recordings.of[lane->first].header.host;
}

/* Returns 1 if the first F of the lanes can be compared: they are of one host, and none is a guess,
 * as that of a truncated file may be. If no file names its
 * host, the ranks say more, where they are known. */
static int has_first_f(const struct sl_schedule *s)
{
    int has_ranks = 1;

    for (size_t i = 0; i < s->lanes; i++) {
        has_ranks &= s->lane[i].rank >= 0;
        if (s->lane[i].is_left_out || strcmp(host_of(s, &s->lane[i]), host_of(s, &s->lane[0])) != 0)
            return 0;
    }
    return *host_of(s, &s->lane[0]) || !has_ranks;
}

/* Orders the lanes by their first F. The insertion keeps the order of ranks where they are equal.
 */
static int take_by_first_f(struct sl_schedule *s, struct sl_pipeline *p)
{
    for (uint32_t i = 0; i < s->lanes; i++) {
        size_t at;

        if (add_stage(s, p, i) != 0)
            return -ENOMEM;
        for (at = p->stages - 1; at && first_f(&s->lane[p->lane[at - 1]]) > first_f(&s->lane[i]);
             at--)
            p->lane[at] = p->lane[at - 1];
        p->lane[at] = i;
    }
    for (size_t i = 0; i < p->stages; i++)
        s->lane[p->lane[i]].stage = (uint32_t)i;
    return 0;
}

static int take_pipelines(struct sl_schedule *s)
{
    uint32_t *to = calloc(s->lanes + 1, sizeof(*to));
    struct sl_pipeline *p = NULL;
    int rc = 0;

    if (!to)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->lanes; i++)
        to[i] = i;
    if (join_pairs(s, to)) {
        s->order = SL_STAGES_PAIRS;
        for (uint32_t root = 0; root < s->lanes && rc == 0; root++) {
            if (to[root] != root)
                continue;
            p = add_pipeline(s);
            rc = p ? 0 : -ENOMEM;
            for (uint32_t i = root; i < s->lanes && rc == 0; i++)
                if (root_of(to, i) == root)
                    rc = add_stage(s, p, i);
        }
    } else if (s->lanes) {
        p = add_pipeline(s);
        s->order = has_first_f(s) ? SL_STAGES_FIRST_F : SL_STAGES_RANK;
        if (!p)
            rc = -ENOMEM;
        else if (s->order == SL_STAGES_FIRST_F)
            rc = take_by_first_f(s, p);
        for (uint32_t i = 0; s->order == SL_STAGES_RANK && i < s->lanes && rc == 0; i++)
            rc = add_stage(s, p, i);
    }
    free(to);
    return rc;
}

/* Returns the place of the first F with this chunk and micro-batch 0 in its iteration, or -1. */
static int64_t place_of(const struct sl_lane *lane, const struct sl_lane_iteration *it,
                        int32_t chunk)
{
    int64_t place = 0;

    for (size_t i = it->first; i < it->end; i++) {
        const struct sl_phase_id *id = &lane->phase[i].phase->id;

        if (id->kind != SL_PHASE_F)
            continue;
        if (id->mb == 0 && (id->chunk < 0 ? 0 : id->chunk) == chunk)
            return place;
        place++;
    }
    return -1;
}

/* Returns 1 if chunk 1 comes earlier on the last stage than on the first: it begins there. */
static int is_v(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    int64_t place[2] = {-1, -1};

    if (p->stages < 2 || p->chunks < 2)
        return 0;
    for (int side = 0; side < 2; side++) {
        const struct sl_lane *lane = &s->lane[p->lane[side ? p->stages - 1 : 0]];

        for (size_t i = 0; i < lane->iterations && place[side] < 0; i++)
            if (lane->iteration[i].is_complete)
                place[side] = place_of(lane, &lane->iteration[i], 1);
    }
    return place[0] >= 0 && place[1] >= 0 && place[1] < place[0];
}

static int sends_to_strangers(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    for (size_t i = 0; i < p->stages; i++)
        for (uint32_t k = s->lane[p->lane[i]].first; k < s->lane[p->lane[i]].last; k++) {
            const struct sl_recording *r = &s->report->recordings.of[k];

            for (size_t n = 0; n < r->pairs; n++)
                if (r->pair[n].peer >= 0 && lane_of_rank(s, r->pair[n].peer) == SL_LANE_NONE)
                    return 1;
        }
    return 0;
}

/* Finds the numbers of micro-batches and chunks. */
static void measure(const struct sl_schedule *s, struct sl_pipeline *p)
{
    uint32_t most = 0;

    p->chunks = 1;
    for (size_t i = 0; i < p->stages; i++) {
        const struct sl_lane *lane = &s->lane[p->lane[i]];

        for (size_t k = 0; k < lane->phases; k++)
            if (lane->phase[k].phase->id.kind == SL_PHASE_F &&
                lane->phase[k].phase->id.chunk + 1 > (int32_t)p->chunks)
                p->chunks = (uint32_t)lane->phase[k].phase->id.chunk + 1;
        for (size_t k = 0; k < lane->iterations; k++)
            if (lane->iteration[k].count[SL_PHASE_F] > most)
                most = lane->iteration[k].count[SL_PHASE_F];
    }
    if (p->chunks > most)
        p->chunks = most ? most : 1;
    p->mbs = (most + p->chunks - 1) / p->chunks;
    p->is_v = is_v(s, p);
}

static void count_ranks(struct sl_schedule *s)
{
    for (size_t i = 0; i < s->report->recordings.count; i++) {
        const struct sl_header *h = &s->report->recordings.of[i].header;

        if (h->has_world_size && h->world_size > 0 && (uint64_t)h->world_size > s->world)
            s->world = (uint64_t)h->world_size;
    }
    for (size_t i = 0; i < s->lanes; i++)
        s->ranks += !i || s->lane[i].rank != s->lane[i - 1].rank;
}

/* Returns 1 if a rank without phases may be a stage of the pipeline. The ranks to which its ranks
 * send tell, if any do. */
static int lacks_ranks(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    if (s->order == SL_STAGES_GIVEN)
        return 0;
    if (s->order == SL_STAGES_PAIRS && p->stages > 1)
        return sends_to_strangers(s, p);
    return s->world > s->ranks || sends_to_strangers(s, p);
}

int sl_stages_make(struct sl_schedule *s, const struct sl_command *command, const char *stages)
{
    int rc = stages ? take_stages(s, command, stages) : take_pipelines(s);

    count_ranks(s);
    for (size_t i = 0; i < s->pipelines && rc == 0; i++) {
        measure(s, &s->pipeline[i]);
        s->pipeline[i].lacks_ranks = lacks_ranks(s, &s->pipeline[i]);
    }
    return rc;
}

int sl_schedule_neighbour(const struct sl_pipeline *p, size_t stage, int32_t chunk, int step,
                          size_t *to_stage, int32_t *to_chunk)
{
    int64_t stages = (int64_t)p->stages, place = (int64_t)(chunk < 0 ? 0 : chunk) * stages;

    place += p->is_v && chunk > 0 && chunk % 2 ? stages - 1 - (int64_t)stage : (int64_t)stage;
    place += step;
    if (place < 0 || place >= (int64_t)p->chunks * stages)
        return 0;
    *to_chunk = (int32_t)(place / stages);
    *to_stage = (size_t)(place % stages);
    if (p->is_v && *to_chunk % 2)
        *to_stage = p->stages - 1 - *to_stage;
    return 1;
}

/* ---- iterations ---- */

const struct sl_lane_iteration *sl_schedule_of(const struct sl_schedule *s,
                                               const struct sl_pipeline *p, size_t iteration,
                                               size_t stage)
{
    uint32_t at = p->of[iteration * p->stages + stage];

    return at == SL_LANE_NONE ? NULL : &s->lane[p->lane[stage]].iteration[at];
}

static int has_numbers(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    for (size_t i = 0; i < p->stages; i++)
        if (!s->lane[p->lane[i]].is_left_out &&
            (!s->lane[p->lane[i]].iterations || s->lane[p->lane[i]].iteration[0].number < 0))
            return 0;
    return 1;
}

/* Returns 1 if iterations can be matched by time. Ranks of unknown hosts probably share a clock, if
 * they ran at one time; that is needed only where the order does not tell. */
static int is_one_clock(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    const struct sl_lane *first = &s->lane[p->lane[0]];
    int is_even = 1, is_together = 1;

    for (size_t i = 1; i < p->stages; i++) {
        const struct sl_lane *lane = &s->lane[p->lane[i]];

        if (strcmp(host_of(s, lane), host_of(s, first)) != 0)
            return 0;
        is_even &= lane->iterations == first->iterations;
        is_together &=
            lane->iterations && first->iterations &&
            lane->iteration[0].begin_ns < first->iteration[first->iterations - 1].end_ns &&
            first->iteration[0].begin_ns < lane->iteration[lane->iterations - 1].end_ns;
    }
    return *host_of(s, first) || (is_together && !is_even);
}

/* Returns how long two iterations overlap, in ns; below 0 how far they are apart. */
static int64_t overlap(const struct sl_lane_iteration *a, const struct sl_lane_iteration *b)
{
    int64_t begin_ns = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
    int64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns, ns;

    return __builtin_sub_overflow(end_ns, begin_ns, &ns) ? INT64_MIN : ns;
}

enum how {
    BY_NUMBER,
    BY_TIME,
    BY_ORDER
};

/* Returns the iteration of a lane that is iteration `at` of the lane `base`, or SL_LANE_NONE. Those
 * before `from` are taken. */
static uint32_t match(const struct sl_lane *base, size_t at, const struct sl_lane *lane,
                      enum how how, uint32_t from)
{
    const struct sl_lane_iteration *it = &base->iteration[at];
    int64_t best_ns = 0;
    uint32_t best = SL_LANE_NONE;

    if (how == BY_ORDER)
        return at < lane->iterations ? (uint32_t)at : SL_LANE_NONE;
    for (uint32_t i = from; i < lane->iterations; i++) {
        int64_t ns = overlap(it, &lane->iteration[i]);

        if (how == BY_NUMBER && lane->iteration[i].number >= it->number)
            return lane->iteration[i].number == it->number ? i : SL_LANE_NONE;
        if (how == BY_TIME && ns > best_ns) {
            best_ns = ns;
            best = i;
        }
        if (how == BY_TIME && lane->iteration[i].begin_ns > it->end_ns)
            break;
    }
    return best;
}

/* Returns the lane of the pipeline with the most iterations. */
static const struct sl_lane *longest(const struct sl_schedule *s, const struct sl_pipeline *p)
{
    const struct sl_lane *base = &s->lane[p->lane[0]];

    for (size_t i = 1; i < p->stages; i++)
        if (base->is_left_out ||
            (!s->lane[p->lane[i]].is_left_out && s->lane[p->lane[i]].iterations > base->iterations))
            base = &s->lane[p->lane[i]];
    return base;
}

static int match_pipeline(const struct sl_schedule *s, struct sl_pipeline *p)
{
    const struct sl_lane *base = longest(s, p);
    enum how how = has_numbers(s, p) ? BY_NUMBER : is_one_clock(s, p) ? BY_TIME : BY_ORDER;

    p->iterations = base->iterations;
    p->iteration = calloc(p->iterations + 1, sizeof(*p->iteration));
    p->of = calloc(p->iterations * p->stages + 1, sizeof(*p->of));
    if (!p->iteration || !p->of)
        return -ENOMEM;
    for (size_t stage = 0; stage < p->stages; stage++) {
        const struct sl_lane *lane = &s->lane[p->lane[stage]];
        uint32_t from = 0;

        p->is_by_order |=
            how == BY_ORDER && !lane->is_left_out && lane->iterations != base->iterations;
        for (size_t i = 0; i < p->iterations; i++) {
            uint32_t at = match(base, i, lane, how, from);

            p->of[i * p->stages + stage] = at;
            from = at == SL_LANE_NONE ? from : at + 1;
        }
    }
    for (size_t i = 0; i < p->iterations; i++) {
        struct sl_iteration *it = &p->iteration[i];

        it->number = base->iteration[i].number;
        it->is_complete = 1;
        for (size_t stage = 0; stage < p->stages; stage++) {
            const struct sl_lane_iteration *of = sl_schedule_of(s, p, i, stage);

            it->is_complete &= s->lane[p->lane[stage]].is_left_out || (of && of->is_complete);
        }
    }
    return 0;
}

int sl_stages_match(struct sl_schedule *s)
{
    int rc = 0;

    for (size_t i = 0; i < s->pipelines && rc == 0; i++)
        rc = match_pipeline(s, &s->pipeline[i]);
    return rc;
}

static void time_iteration(const struct sl_schedule *s, struct sl_pipeline *p, size_t at)
{
    struct sl_iteration *it = &p->iteration[at];
    const struct sl_iteration *before = at ? it - 1 : NULL;

    it->begin_ns = INT64_MAX;
    it->end_ns = INT64_MIN;
    it->follows = before && before->end_ns != INT64_MIN;
    for (size_t stage = 0; stage < p->stages; stage++) {
        const struct sl_lane *lane = &s->lane[p->lane[stage]];
        const struct sl_lane_iteration *of = sl_schedule_of(s, p, at, stage);
        const struct sl_lane_iteration *last = at ? sl_schedule_of(s, p, at - 1, stage) : NULL;
        int64_t begin_ns, end_ns;

        if (lane->is_left_out)
            continue;
        /* The iteration before must be recorded to its end, by all, in the same file. */
        it->follows &= of && last && last->recording == of->recording;
        if (!of || of->end_ns < of->begin_ns)
            continue;
        begin_ns = sl_schedule_common_ns(s, lane, of->begin_ns);
        end_ns = sl_schedule_common_ns(s, lane, of->end_ns);
        it->begin_ns = begin_ns < it->begin_ns ? begin_ns : it->begin_ns;
        it->end_ns = end_ns > it->end_ns ? end_ns : it->end_ns;
    }
    if (it->follows && before->end_ns < it->end_ns)
        it->begin_ns = before->end_ns;
    else
        it->follows = 0;
    it->is_complete &= it->end_ns > it->begin_ns || !p->is_comparable;
    p->completes += (size_t)it->is_complete;
}

void sl_stages_time(struct sl_schedule *s)
{
    for (size_t k = 0; k < s->pipelines; k++) {
        struct sl_pipeline *p = &s->pipeline[k];

        p->is_comparable = 1;
        for (size_t i = 1; i < p->stages; i++)
            p->is_comparable &= sl_clocks_reference(s->clocks, s->lane[p->lane[i]].first) ==
                                sl_clocks_reference(s->clocks, s->lane[p->lane[0]].first);
        for (size_t i = 0; i < p->iterations; i++)
            time_iteration(s, p, i);
    }
}
