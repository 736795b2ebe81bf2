/*
 * print_json.c - prints the pipelines as one JSON object, in the schema of
 * docs/pipeline.schema.json.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "event/device.h"
#include "pipeline/print.h"
#include "report/print.h"

#define SCHEMA      1
#define STRANGERS   100
#define LOOSE_NAMES 20

static void put_real(FILE *f, const char *before, int has, double value)
{
    char digits[40];

    if (!has || !isfinite(value)) {
        fprintf(f, "%snull", before);
        return;
    }
    *sl_json_double(digits, value, 9) = '\0';
    fprintf(f, "%s%s", before, digits);
}

static void put_id(FILE *f, const char *before, int64_t id)
{
    if (id >= 0)
        fprintf(f, "%s%" PRId64, before, id);
    else
        fprintf(f, "%snull", before);
}

static void put_text(FILE *f, const char *before, const char *text)
{
    fputs(before, f);
    if (text && *text)
        sl_report_json_text(f, text);
    else
        fputs("null", f);
}

/* ---- phases ---- */

static void put_phase(FILE *f, const struct sl_pipeline_view *v, const struct sl_lane *lane,
                      const struct sl_lane_phase *at, int64_t iteration)
{
    const struct sl_schedule *s = v->schedule;
    const struct sl_phase *p = at->phase;
    int64_t begin_ns =
        sl_schedule_common_ns(s, lane, sl_schedule_epoch_ns(s, at->recording, p->begin_ns));

    fprintf(f, "{\"phase\": \"%s\"", sl_phase_name(p->id.kind));
    put_id(f, ", \"micro_batch\": ", p->id.mb);
    put_id(f, ", \"chunk\": ", p->id.chunk);
    put_id(f, ", \"iteration\": ", iteration);
    fprintf(f,
            ", \"begin_ns\": %" PRId64 ", \"span_ns\": %" PRIu64 ", \"kernel_ns\": %" PRIu64
            ", \"kernels\": %" PRIu32 ", \"is_guessed\": %s}",
            begin_ns, p->done_ns - p->begin_ns, p->kernel_ns, p->kernels,
            p->kernels ? "false" : "true");
}

static int64_t iteration_of(const struct sl_pipeline *p, size_t stage, uint32_t of_lane)
{
    for (size_t i = 0; i < p->iterations; i++)
        if (p->of[i * p->stages + stage] == of_lane)
            return (int64_t)i;
    return -1;
}

static void put_phases(FILE *f, const struct sl_pipeline_view *v, const struct sl_pipeline *p,
                       size_t stage)
{
    const struct sl_lane *lane = &v->schedule->lane[p->lane[stage]];
    uint32_t last = SL_LANE_NONE;
    int64_t iteration = -1;

    fputs(", \"phases\": [", f);
    for (size_t i = 0; i < lane->phases; i++) {
        if (lane->phase[i].iteration != last) {
            last = lane->phase[i].iteration;
            iteration = iteration_of(p, stage, last);
        }
        fputs(i ? ",\n     " : "\n     ", f);
        put_phase(f, v, lane, &lane->phase[i], iteration);
    }
    fputs("]", f);
}

/* ---- stages and pipelines ---- */

static void put_sums(FILE *f, const struct sl_stage_bubble *b)
{
    const char *separator = "";

    fprintf(f,
            "\"length_ns\": %" PRIu64 ", \"span_ns\": %" PRIu64 ", \"kernel_ns\": %" PRIu64
            ", \"guessed\": %" PRIu64,
            b->length_ns, b->span_ns, b->kernel_ns, b->guessed);
    put_real(f, ", \"bubble_by_span\": ", b->length_ns != 0,
             sl_bubble_rate(b->span_ns, b->length_ns));
    put_real(f, ", \"bubble_by_kernels\": ", b->length_ns != 0,
             sl_bubble_rate(b->kernel_ns, b->length_ns));
    fputs(", \"causes_ns\": {", f);
    for (int i = 0; i < SL_PART_COUNT; i++) {
        fprintf(f, "%s\"%s\": %" PRIu64, separator, sl_part_name((enum sl_part)i), b->part_ns[i]);
        separator = ", ";
    }
    fputs("}, \"sums\": {", f);
    for (int i = 0; i < SL_PHASE_COMPUTES; i++)
        fprintf(f,
                "%s\"%s\": {\"count\": %" PRIu64 ", \"span_ns\": %" PRIu64
                ", \"kernel_ns\": %" PRIu64 "}",
                i ? ", " : "", sl_phase_name((enum sl_phase_kind)i), b->of[i].count,
                b->of[i].span_ns, b->of[i].kernel_ns);
    fputs("}", f);
}

static void put_stage(FILE *f, const struct sl_pipeline_view *v, size_t pipeline, size_t stage)
{
    const struct sl_schedule *s = v->schedule;
    const struct sl_lane *lane = sl_pipeline_lane(v, pipeline, stage);
    const struct sl_recording *r = &s->report->recordings.of[lane->first];
    uint32_t to = sl_clocks_reference(s->clocks, lane->first);
    struct sl_clocks_fit fit = sl_clocks_fit(s->clocks, lane->first);

    fprintf(f, "{\"stage\": %zu", stage);
    put_id(f, ", \"rank\": ", lane->rank);
    put_text(f, ", \"host\": ", r->header.host);
    put_id(f, ", \"device\": ", lane->device == SL_DEVICE_NONE ? -1 : lane->device);
    put_text(f, ", \"path\": ", r->path);
    put_id(f, ", \"clock\": {\"reference_rank\": ", sl_report_rank(&s->report->recordings.of[to]));
    put_text(f, ", \"reference_path\": ", s->report->recordings.of[to].path);
    fprintf(f, ", \"offset_ns\": %" PRId64, fit.offset_ns);
    put_real(f, ", \"drift_ns_per_s\": ", 1, fit.drift_ns_per_s);
    fprintf(f, ", \"error_ns\": %" PRIu64 "}, ", fit.error_ns);
    put_sums(f, &v->bubble[pipeline].stage[stage]);
    put_phases(f, v, &s->pipeline[pipeline], stage);
    fputs("}", f);
}

static void put_iterations(FILE *f, const struct sl_pipeline *p)
{
    fputs(", \"iterations\": [", f);
    for (size_t i = 0; i < p->iterations; i++) {
        const struct sl_iteration *it = &p->iteration[i];
        int has = it->end_ns > it->begin_ns;

        put_id(f, i ? ", {\"number\": " : "{\"number\": ", it->number);
        fprintf(f,
                ", \"begin_ns\": %" PRId64 ", \"length_ns\": %" PRId64
                ", \"is_complete\": %s, \"follows\": %s}",
                has ? it->begin_ns : 0, has ? it->end_ns - it->begin_ns : 0,
                it->is_complete ? "true" : "false", it->follows ? "true" : "false");
    }
    fputs("]", f);
}

static void put_theory(FILE *f, const struct sl_bubble *b)
{
    fputs(", \"theory\": {", f);
    for (int i = 0; i < SL_THEORY_COUNT; i++) {
        fprintf(f, "%s\"%s\": ", i ? ", " : "", sl_theory_name((enum sl_theory)i));
        if (!b->theory[i].is_known) {
            fputs("null", f);
            continue;
        }
        put_real(f, "{\"bubble_ns\": ", 1, b->theory[i].bubble_ns);
        put_real(f, ", \"rate\": ", 1, b->theory[i].rate);
        fputs("}", f);
    }
    fputs("}", f);
}

static void put_pipeline(FILE *f, const struct sl_pipeline_view *v, size_t at)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[at];
    const struct sl_bubble *b = &v->bubble[at];
    char sentence[512];

    put_text(f, " {\"sentence\": ", sl_pipeline_sentence(sentence, sizeof(sentence), v, at));
    fprintf(f,
            ", \"micro_batches\": %" PRIu32 ", \"chunks\": %" PRIu32
            ", \"is_v\": %s, \"is_comparable\": %s, \"is_partial\": %s, \"measured\": %zu,\n  ",
            p->mbs, p->chunks, p->is_v ? "true" : "false", p->is_comparable ? "true" : "false",
            b->is_partial ? "true" : "false", b->measured);
    put_sums(f, &b->all);
    put_theory(f, b);
    put_iterations(f, p);
    fputs(",\n  \"stages\": [", f);
    for (size_t i = 0; i < p->stages; i++) {
        fputs(i ? ",\n   " : "\n   ", f);
        put_stage(f, v, at, i);
    }
    fputs("]}", f);
}

/* ---- all ---- */

struct list {
    FILE *f;
    const char *separator;
};

static void put_note(void *user, const char *sentence)
{
    struct list *list = user;

    put_text(list->f, list->separator, sentence);
    list->separator = ", ";
}

static void put_names(FILE *f, const struct sl_phase_names *n)
{
    uint32_t order[STRANGERS], name[LOOSE_NAMES];
    size_t count = sl_pipeline_loose(n, name, LOOSE_NAMES);
    char line[1024];

    fprintf(f,
            "],\n\"without_phase\": {\"kernels\": %" PRIu64 ", \"kernel_ns\": %" PRIu64
            ", \"names\": [",
            n->loose, n->loose_ns);
    for (size_t i = 0; i < count; i++)
        put_text(f, i ? ", " : "", sl_intern_get(n->names, name[i], NULL));
    fputs("]},\n\"unmatched\": [", f);
    count = sl_pipeline_strangers(n, order, STRANGERS);
    for (size_t i = 0; i < count; i++) {
        const struct sl_phase_stranger *s = &n->stranger[order[i]];
        const char *text = sl_intern_get(n->names, s->name, NULL);

        put_text(f, i ? ", {\"name\": " : "{\"name\": ", text);
        fprintf(f, ", \"count\": %" PRIu64, s->count);
        put_text(f, ", \"pattern\": ",
                 text && sl_patterns_suggest(line, sizeof(line), text) < sizeof(line) ? line : "");
        fputs("}", f);
    }
    fputs("]", f);
}

void sl_pipeline_print_json(FILE *f, const struct sl_pipeline_view *v)
{
    static const char *const orders[] = {"given", "pairs", "first_f", "rank"};
    const struct sl_schedule *s = v->schedule;
    struct list notes = {f, ""};

    fprintf(f, "{\"schema\": %d, \"syncline\": \"%s\",\n\"inputs\": [", SCHEMA, SL_VERSION);
    for (size_t i = 0; i < s->report->recordings.count; i++) {
        fputs(i ? ",\n " : "\n ", f);
        sl_report_json_input(f, &s->report->recordings.of[i]);
    }
    fprintf(f, "],\n\"stage_order\": \"%s\",\n\"pipelines\": [", orders[s->order]);
    for (size_t i = 0; i < s->pipelines; i++) {
        fputs(i ? ",\n" : "\n", f);
        put_pipeline(f, v, i);
    }
    put_names(f, v->names);
    fputs(",\n\"notes\": [", f);
    sl_pipeline_notes(v, put_note, &notes);
    fputs("]}\n", f);
}
