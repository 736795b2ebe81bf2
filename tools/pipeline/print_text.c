/*
 * print_text.c - prints the pipelines for readers.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <string.h>

#include "pipeline/print.h"
#include "print/format.h"
#include "print/short_name.h"
#include "report/screen.h"

#define STRANGERS   8
#define LOOSE_NAMES 3
#define STAGES      64
#define CAUSES      6
#define WHO         28

static const char *about(char *to, double ns)
{
    return sl_format_about(to, ns > 0 ? (uint64_t)(ns + 0.5) : 0);
}

/* ---- measured and theory ---- */

static void put_rate(FILE *f, const char *name, double rate, double bubble_ns)
{
    char span[SL_FORMAT_SIZE];

    fprintf(f, "  %-22s %5.1f %%  %9s\n", name, 100 * rate, about(span, bubble_ns));
}

static void put_rates(FILE *f, const struct sl_bubble *b, int lacks_ranks)
{
    double times = (double)b->measured * (double)b->stages;

    fputs("\n  bubble                  rate      in an iteration\n", f);
    put_rate(f, "measured, by span", sl_bubble_rate(b->all.span_ns, b->all.length_ns),
             (double)(b->all.length_ns - b->all.span_ns) / times);
    put_rate(f, "measured, by kernels", sl_bubble_rate(b->all.kernel_ns, b->all.length_ns),
             (double)(b->all.length_ns - b->all.kernel_ns) / times);
    for (int i = 0; i < SL_THEORY_COUNT; i++) {
        char name[40];

        if (!b->theory[i].is_known)
            continue;
        snprintf(name, sizeof(name), "in theory, %s", sl_theory_name((enum sl_theory)i));
        put_rate(f, name, b->theory[i].rate, b->theory[i].bubble_ns);
    }
    if (lacks_ranks)
        fprintf(f, "  %-22s not known: it needs all stages\n", "in theory");
}

/* ---- stages ---- */

static void put_mean(FILE *f, const struct sl_phase_sum *sum)
{
    char span[SL_FORMAT_SIZE];

    fprintf(f, "  %8s",
            sum->count ? sl_format_about(span, (sum->span_ns + sum->count / 2) / sum->count) : "-");
}

static void put_stages(FILE *f, const struct sl_pipeline_view *v, size_t pipeline)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[pipeline];
    const struct sl_bubble *b = &v->bubble[pipeline];

    fprintf(f, "\n  %-5s  %-*s  %7s  %7s  %8s  %8s  %8s  %8s\n", "stage", WHO, "rank", "by span",
            "kernels", "F", "B", "W", "optim.");
    for (size_t i = 0; i < p->stages && i < STAGES; i++) {
        const struct sl_stage_bubble *stage = &b->stage[i];
        char who[128], shorter[WHO + 1];

        sl_pipeline_lane_text(who, sizeof(who), v, sl_pipeline_lane(v, pipeline, i));
        fprintf(f, "  %-5zu  %-*s", i, WHO,
                strlen(who) > WHO ? sl_short_name(shorter, WHO, who, strlen(who)) : who);
        if (stage->length_ns)
            fprintf(f, "  %5.1f %%  %5.1f %%",
                    100 * sl_bubble_rate(stage->span_ns, stage->length_ns),
                    100 * sl_bubble_rate(stage->kernel_ns, stage->length_ns));
        else
            fprintf(f, "  %7s  %7s", "-", "-");
        for (int k = 0; k < SL_PHASE_COMPUTES; k++)
            put_mean(f, &stage->of[k]);
        fputs("\n", f);
    }
    if (p->stages > STAGES)
        fprintf(f, "  (%zu more stages)\n", p->stages - STAGES);
}

static void put_causes(FILE *f, const struct sl_bubble *b)
{
    uint64_t bubble_ns = b->all.length_ns - b->all.kernel_ns, times = b->measured * b->stages;
    int done[SL_PART_COUNT] = {0};
    char span[SL_FORMAT_SIZE];

    if (!bubble_ns || !times)
        return;
    fputs("\n  what the bubble consists of (by kernels, mean of a stage in an iteration)\n", f);
    for (int n = 0; n < CAUSES; n++) {
        int best = -1;

        for (int i = 0; i < SL_PART_COUNT; i++)
            if (!done[i] && b->all.part_ns[i] &&
                (best < 0 || b->all.part_ns[i] > b->all.part_ns[best]))
                best = i;
        if (best < 0 || b->all.part_ns[best] < bubble_ns / 1000)
            return;
        done[best] = 1;
        fprintf(f, "  %5.1f %%  %9s  %s\n", 100 * (double)b->all.part_ns[best] / (double)bubble_ns,
                sl_format_about(span, b->all.part_ns[best] / times),
                sl_pipeline_cause((enum sl_part)best));
    }
}

/* ---- clocks ---- */

static void put_signed(FILE *f, int64_t ns)
{
    char span[SL_FORMAT_SIZE];

    fprintf(f, "%s%s", ns < 0 ? "-" : "+",
            sl_format_span(span, ns < 0 ? (uint64_t)-ns : (uint64_t)ns));
}

/* Prints the clocks that are aligned to that of another lane. */
static void put_clocks(FILE *f, const struct sl_pipeline_view *v)
{
    const struct sl_schedule *s = v->schedule;
    char who[128], span[SL_FORMAT_SIZE];
    int any = 0;

    for (size_t i = 0; i < s->lanes; i++) {
        uint32_t to = sl_clocks_reference(s->clocks, s->lane[i].first);
        struct sl_clocks_fit fit = sl_clocks_fit(s->clocks, s->lane[i].first);
        struct sl_lane other = {.first = to};
        int is_first = 1;

        for (size_t k = 0; k < i; k++)
            is_first &= !sl_clocks_is_shared(s->clocks, s->lane[k].first, s->lane[i].first);
        if (!is_first || sl_clocks_is_shared(s->clocks, to, s->lane[i].first))
            continue;
        fputs(any ? "" : "\n", f);
        any = 1;
        other.rank = sl_report_rank(&s->report->recordings.of[to]);
        fprintf(f, "  clock of %s: ", sl_pipeline_lane_text(who, sizeof(who), v, &s->lane[i]));
        put_signed(f, fit.offset_ns);
        fprintf(f, " from %s", sl_pipeline_lane_text(who, sizeof(who), v, &other));
        fputs(", drift ", f);
        put_signed(f, (int64_t)fit.drift_ns_per_s);
        fprintf(f, "/s, error at most %s\n", sl_format_span(span, fit.error_ns));
    }
}

/* ---- what has no phase ---- */

static void put_loose(FILE *f, const struct sl_phase_names *n)
{
    char count[SL_FORMAT_SIZE], span[SL_FORMAT_SIZE], shorter[41];
    uint32_t name[LOOSE_NAMES];
    size_t names;

    if (!n->loose)
        return;
    names = sl_pipeline_loose(n, name, LOOSE_NAMES);
    fprintf(f, "\n  kernels in no range of a phase: %s, %s", sl_format_count(count, n->loose),
            sl_format_about(span, n->loose_ns));
    for (size_t i = 0; i < names; i++) {
        size_t length = 0;
        const char *text = sl_intern_get(n->names, name[i], &length);

        fprintf(f, "%s%s", i ? ", " : ", most in ",
                text ? sl_short_name(shorter, sizeof(shorter) - 1, text, length) : "");
    }
    fputs("\n", f);
}

static void put_strangers(FILE *f, const struct sl_phase_names *n)
{
    uint32_t order[STRANGERS];
    size_t count = sl_pipeline_strangers(n, order, STRANGERS);
    char line[160], shorter[41], number[SL_FORMAT_SIZE];

    if (!count)
        return;
    fputs("\n  ranges that no pattern matches, and a line for --patterns that would\n", f);
    for (size_t i = 0; i < count; i++) {
        const struct sl_phase_stranger *s = &n->stranger[order[i]];
        size_t length = 0;
        const char *text = sl_intern_get(n->names, s->name, &length);

        if (!text)
            continue;
        if (sl_patterns_suggest(line, sizeof(line), text) >= sizeof(line))
            snprintf(line, sizeof(line), "(the name is too long)");
        fprintf(f, "  %8s  %-40s  %s\n", sl_format_count(number, s->count),
                sl_short_name(shorter, sizeof(shorter) - 1, text, length), line);
    }
    if (n->strangers > count)
        fprintf(f, "  and %zu more\n", n->strangers - count);
}

struct notes {
    FILE *f;
    size_t count;
};

static void put_note(void *user, const char *sentence)
{
    struct notes *notes = user;

    if (!notes->count++)
        fputs("\n", notes->f);
    sl_screen_lines(notes->f, 2, sentence);
}

void sl_pipeline_print_text(FILE *f, const struct sl_pipeline_view *v)
{
    const struct sl_schedule *s = v->schedule;
    struct notes notes = {f, 0};
    char sentence[512];

    for (size_t i = 0; i < s->pipelines; i++) {
        const struct sl_pipeline *p = &s->pipeline[i];

        if (i)
            fputs("\n", f);
        if (s->pipelines > 1)
            fprintf(f, "pipeline %zu: ", i);
        fprintf(f, "%s\n", sl_pipeline_sentence(sentence, sizeof(sentence), v, i));
        if (v->bubble[i].all.length_ns)
            put_rates(f, &v->bubble[i], p->lacks_ranks);
        put_stages(f, v, i);
        put_causes(f, &v->bubble[i]);
    }
    put_clocks(f, v);
    put_loose(f, v->names);
    put_strangers(f, v->names);
    sl_pipeline_notes(v, put_note, &notes);
}
