/*
 * picture.c - writes pictures as SVG. Colours are attributes, because the page's policy allows no
 * style but that with its nonce.
 *
 * Threads, memory: see picture.h.
 */
#include "pipeline/picture.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "event/device.h"
#include "print/format.h"

#define LEFT      190
#define WIDTH     1260
#define RIGHT     20
#define TOP       70
#define ROW       46
#define BOX       26
#define THIN      8
#define BOTTOM    46
#define DIGIT     7 /* width of a digit in pixels */
#define PALE      " fill-opacity=\".35\""
#define TICKS     8
#define TEXT_MOST 300 /* bytes of a name */

static const struct {
    const char *fill, *name;
} looks[SL_PHASE_COMPUTES + 1] = {
    [SL_PHASE_F] = {"#7fb2e5", "F"},
    [SL_PHASE_B] = {"#8fce8a", "B"},
    [SL_PHASE_W] = {"#f2b56b", "W"},
    [SL_PHASE_OPTIMIZER] = {"#c5a3dd", "optimizer"},
    [SL_PHASE_COMPUTES] = {"#8a9099", "communication"},
};

static int look_of(enum sl_phase_kind kind)
{
    return kind < SL_PHASE_COMPUTES ? (int)kind : SL_PHASE_COMPUTES;
}

/* Returns the length of the character at `text`, or 0 if XML does not allow what is there. */
static size_t character(const char *text, size_t left)
{
    size_t size = sl_utf8_length(text, left);

    if ((unsigned char)*text < 0x20 || *text == 0x7f)
        return 0;
    return size == 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe ? 0
                                                                                           : size;
}

void sl_picture_text(FILE *f, const char *text)
{
    const char *end = text + strnlen(text, TEXT_MOST);

    while (text < end) {
        size_t size = character(text, (size_t)(end - text));

        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", f);
        else if (size)
            fwrite(text, 1, size, f);
        else
            putc('?', f);
        text += size ? size : 1;
    }
}

int sl_picture_width(void)
{
    return LEFT + WIDTH + RIGHT;
}

int sl_picture_height(const struct sl_pipeline_view *v, size_t pipeline)
{
    return TOP + (int)v->schedule->pipeline[pipeline].stages * ROW + BOTTOM;
}

/* Chooses as many iterations around `typical` as have at most SL_PICTURE_BOXES phases. */
static void choose_iterations(const struct sl_pipeline_view *v, const struct sl_pipeline *p,
                              size_t typical, size_t *first, size_t *end)
{
    size_t phases = 1, count;

    for (size_t i = 0; i < p->stages; i++)
        phases += v->schedule->lane[p->lane[i]].phases;
    count = phases <= SL_PICTURE_BOXES
                ? p->iterations
                : (size_t)((double)p->iterations * SL_PICTURE_BOXES / (double)phases);
    count = count ? count : 1;
    *first = typical > count / 2 ? typical - count / 2 : 0;
    if (*first + count > p->iterations)
        *first = p->iterations - count;
    *end = *first + count;
}

int sl_picture_choose(struct sl_picture *out, const struct sl_pipeline_view *v, size_t pipeline,
                      int is_page)
{
    const struct sl_pipeline *p = &v->schedule->pipeline[pipeline];
    size_t typical = sl_pipeline_typical(v, pipeline), first, end;

    if (typical == SIZE_MAX)
        return 0;
    *out = (struct sl_picture){.pipeline = pipeline,
                               .from_ns = p->iteration[typical].begin_ns,
                               .to_ns = p->iteration[typical].end_ns,
                               .is_page = is_page};
    out->view_ns[0] = out->from_ns;
    out->view_ns[1] = out->to_ns;
    if (!is_page)
        return out->to_ns > out->from_ns;
    choose_iterations(v, p, typical, &first, &end);
    out->left_out = p->iterations - (end - first);
    for (size_t i = first; i < end; i++) {
        const struct sl_iteration *it = &p->iteration[i];

        if (it->end_ns <= it->begin_ns)
            continue;
        out->from_ns = it->begin_ns < out->from_ns ? it->begin_ns : out->from_ns;
        out->to_ns = it->end_ns > out->to_ns ? it->end_ns : out->to_ns;
    }
    return out->to_ns > out->from_ns;
}

/* ---- boxes ---- */

struct draw {
    FILE *f;
    const struct sl_pipeline_view *v;
    const struct sl_picture *picture;
    const struct sl_pipeline *pipeline;
    const struct sl_lane *lane;
    size_t stage;
    size_t boxes, left_out;
};

static double x_of(const struct draw *d, int64_t ns)
{
    double at = (double)(ns - d->picture->view_ns[0]) /
                (double)(d->picture->view_ns[1] - d->picture->view_ns[0]);

    return LEFT + WIDTH * (at < 0 && !d->picture->is_page ? 0 : at);
}

static int64_t common(const struct draw *d, uint32_t recording, uint64_t ns)
{
    return sl_schedule_common_ns(d->v->schedule, d->lane,
                                 sl_schedule_epoch_ns(d->v->schedule, recording, ns));
}

/* Writes a rectangle of a lane, with its times for the page. Returns its width in pixels. */
static double put_rect(const struct draw *d, int64_t begin_ns, int64_t end_ns, int y, int height,
                       const char *fill, const char *more)
{
    double x = x_of(d, begin_ns), width = x_of(d, end_ns) - x;

    fprintf(d->f, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s", x, y,
            width, height, fill, more);
    if (d->picture->is_page)
        fprintf(d->f, " data-b=\"%" PRId64 "\" data-e=\"%" PRId64 "\"",
                begin_ns - d->picture->from_ns, end_ns - d->picture->from_ns);
    fputs("/>", d->f);
    return width;
}

static void put_title(const struct draw *d, const char *name, const struct sl_phase *p,
                      uint64_t length_ns)
{
    char span[SL_FORMAT_SIZE];

    fputs("<title>", d->f);
    sl_picture_text(d->f, name ? name : "");
    fprintf(d->f, ": %s", sl_format_span(span, length_ns));
    if (p && p->kernels)
        fprintf(d->f, ", %" PRIu32 " kernels, %s", p->kernels, sl_format_span(span, p->kernel_ns));
    else if (p)
        fputs(", guessed: it has no kernel", d->f);
    fputs("</title>", d->f);
}

static int is_seen(struct draw *d, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns <= d->picture->from_ns || begin_ns >= d->picture->to_ns)
        return 0;
    if (d->boxes >= 2 * SL_PICTURE_BOXES / d->pipeline->stages) {
        d->left_out++;
        return 0;
    }
    d->boxes++;
    return 1;
}

static void put_phase(struct draw *d, const struct sl_lane_phase *at)
{
    const struct sl_phase *p = at->phase;
    int is_thin = sl_phase_is_communication(p->id.kind), look = look_of(p->id.kind);
    int y = TOP + (int)d->stage * ROW + (is_thin ? BOX + 2 : 0), height = is_thin ? THIN : BOX;
    int64_t begin_ns = common(d, at->recording, p->begin_ns);
    int64_t end_ns = common(d, at->recording, p->done_ns), ready_ns;
    char fill[32];
    double width;

    if (!is_seen(d, begin_ns, end_ns))
        return;
    if (!d->picture->is_page) {
        begin_ns = begin_ns < d->picture->from_ns ? d->picture->from_ns : begin_ns;
        end_ns = end_ns > d->picture->to_ns ? d->picture->to_ns : end_ns;
    }
    fprintf(d->f, "<g class=\"%s\">", is_thin ? "communication" : sl_phase_name(p->id.kind));
    put_title(d, sl_intern_get(d->v->names->names, p->name, NULL), p, p->done_ns - p->begin_ns);
    if (p->kernels)
        snprintf(fill, sizeof(fill), "%s", looks[look].fill);
    else
        snprintf(fill, sizeof(fill), "url(#guess%d)", look);
    ready_ns = p->ready_ns > p->begin_ns ? common(d, at->recording, p->ready_ns) : begin_ns;
    if (ready_ns > begin_ns && ready_ns <= end_ns) {
        put_rect(d, begin_ns, ready_ns, y, height, fill, PALE);
        begin_ns = ready_ns;
    }
    width = put_rect(d, begin_ns, end_ns, y, height, fill,
                     is_thin ? "" : " stroke=\"#40464d\" stroke-width=\".6\"");
    if (!is_thin && p->id.mb >= 0) {
        char number[16];
        int digits = snprintf(number, sizeof(number), "%" PRId32, p->id.mb);

        if (d->picture->is_page || width >= digits * DIGIT + 2)
            fprintf(d->f, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>",
                    x_of(d, begin_ns) + width / 2, y + BOX - 8,
                    p->id.chunk > 0 && p->id.chunk % 2 ? " font-style=\"italic\"" : "", number);
    }
    fputs("</g>\n", d->f);
}

/* Draws kernels of communication that belong to no range. */
static void put_kernels(struct draw *d)
{
    for (uint32_t r = d->lane->first; r < d->lane->last; r++) {
        const struct sl_recording *rec = &d->v->schedule->report->recordings.of[r];
        const struct sl_phases *phases = &d->v->schedule->phases[r];

        for (size_t i = 0; i < rec->ops; i++) {
            const struct sl_report_op *op = &rec->op[i];
            int y = TOP + (int)d->stage * ROW + BOX + 2;
            int64_t begin_ns, end_ns;

            if (op->work != SL_WORK_COMMUNICATION || op->device != d->lane->device ||
                phases->of_op[i])
                continue;
            begin_ns = common(d, r, op->start_ns);
            end_ns = common(d, r, op->end_ns);
            if (!is_seen(d, begin_ns, end_ns))
                continue;
            fputs("<g class=\"communication\">", d->f);
            put_title(d, sl_intern_get(d->v->names->names, op->name, NULL), NULL,
                      op->end_ns - op->start_ns);
            if (phases->ready_ns && phases->ready_ns[i]) {
                int64_t ready_ns = common(d, r, phases->ready_ns[i]);

                ready_ns = ready_ns < end_ns ? ready_ns : end_ns;
                put_rect(d, begin_ns, ready_ns, y, THIN, looks[SL_PHASE_COMPUTES].fill, PALE);
                begin_ns = ready_ns;
            }
            put_rect(d, begin_ns, end_ns, y, THIN, looks[SL_PHASE_COMPUTES].fill, "");
            fputs("</g>\n", d->f);
        }
    }
}

/* ---- around the boxes ---- */

static void put_definitions(const struct draw *d, int height)
{
    fputs("<defs>", d->f);
    for (int i = 0; i <= SL_PHASE_COMPUTES; i++)
        fprintf(d->f,
                "<pattern id=\"guess%d\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/>"
                "<rect width=\"3\" height=\"6\" fill=\"%s\"/></pattern>",
                i, looks[i].fill);
    fprintf(d->f,
            "<clipPath id=\"plot%zu\"><rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>"
            "</clipPath></defs>\n",
            d->picture->pipeline, LEFT, WIDTH, height);
}

static void put_legend(const struct draw *d)
{
    int x = LEFT;

    for (int i = 0; i <= SL_PHASE_COMPUTES + 1; i++) {
        const char *name = i <= SL_PHASE_COMPUTES ? looks[i].name : "guessed: no kernel";

        fprintf(d->f, "<rect x=\"%d\" y=\"34\" width=\"16\" height=\"%d\" fill=\"%s\"/>", x,
                i == SL_PHASE_COMPUTES ? THIN : 12,
                i <= SL_PHASE_COMPUTES ? looks[i].fill : "url(#guess0)");
        fprintf(d->f, "<text x=\"%d\" y=\"45\">%s</text>\n", x + 21, name);
        x += 40 + (int)strlen(name) * DIGIT;
    }
}

static void put_stage(const struct draw *d)
{
    const struct sl_stage_bubble *b = &d->v->bubble[d->picture->pipeline].stage[d->stage];
    int y = TOP + (int)d->stage * ROW;
    char who[128];

    fprintf(d->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-weight=\"bold\">stage %zu",
            LEFT - 8, y + 12, d->stage);
    if (b->length_ns)
        fprintf(d->f, ", bubble %.1f %%", 100 * sl_bubble_rate(b->span_ns, b->length_ns));
    fprintf(d->f, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#5a5f66\">", LEFT - 8,
            y + 27);
    sl_pipeline_lane_text(who, 25, d->v, d->lane);
    sl_picture_text(d->f, who);
    fprintf(d->f, "</text><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f3f4f5\"/>\n",
            LEFT, y, WIDTH, BOX);
}

/* Writes the axis, from 0 at the left. The page's script writes its own. */
static void put_axis(const struct draw *d, int y)
{
    double length_ns = (double)(d->picture->view_ns[1] - d->picture->view_ns[0]), step = 1;
    char span[SL_FORMAT_SIZE];

    while (length_ns / step > TICKS)
        step *= length_ns / step > 5 * TICKS ? 10 : length_ns / step > 2 * TICKS ? 5 : 2;
    fprintf(d->f, "<g class=\"axis\" fill=\"#5a5f66\">");
    for (int i = 0; i * step <= length_ns * 1.0001; i++) {
        double at = i * step, x = LEFT + WIDTH * at / length_ns;

        fprintf(d->f,
                "<path d=\"M%.2f %dv5\" stroke=\"#8a9099\"/><text x=\"%.2f\" y=\"%d\" "
                "text-anchor=\"middle\">%s</text>",
                x, y, x, y + 18, sl_format_about(span, (uint64_t)at));
    }
    fputs("</g>\n", d->f);
}

static void put_headline(const struct draw *d)
{
    const struct sl_bubble *b = &d->v->bubble[d->picture->pipeline];
    char sentence[512];

    fprintf(d->f, "<text x=\"%d\" y=\"20\" font-size=\"15\" font-weight=\"bold\">", LEFT);
    if (d->v->schedule->pipelines > 1)
        fprintf(d->f, "pipeline %zu: ", d->picture->pipeline);
    sl_picture_text(d->f,
                    sl_pipeline_sentence(sentence, sizeof(sentence), d->v, d->picture->pipeline));
    for (int i = 0; i < SL_THEORY_COUNT; i++)
        if (b->theory[i].is_known)
            fprintf(d->f, "%s%s %.1f %%",
                    i ? ", " : "; in theory: ", sl_theory_name((enum sl_theory)i),
                    100 * b->theory[i].rate);
    fputs("</text>\n", d->f);
}

void sl_picture_put(FILE *f, const struct sl_pipeline_view *v, const struct sl_picture *picture,
                    int y)
{
    struct draw d = {
        .f = f, .v = v, .picture = picture, .pipeline = &v->schedule->pipeline[picture->pipeline]};
    int height = sl_picture_height(v, picture->pipeline), width = sl_picture_width();

    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
            "font-size=\"12\"",
            y, width, height, width, height);
    if (picture->is_page)
        fprintf(f,
                " class=\"pipeline\" tabindex=\"0\" data-left=\"%d\" data-width=\"%d\" "
                "data-length=\"%" PRId64 "\" data-view=\"%" PRId64 " %" PRId64 "\"",
                LEFT, WIDTH, picture->to_ns - picture->from_ns,
                picture->view_ns[0] - picture->from_ns, picture->view_ns[1] - picture->from_ns);
    fprintf(f, ">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
    put_definitions(&d, height);
    put_headline(&d);
    put_legend(&d);
    for (d.stage = 0; d.stage < d.pipeline->stages; d.stage++) {
        d.lane = &v->schedule->lane[d.pipeline->lane[d.stage]];
        put_stage(&d);
        d.boxes = 0;
        fprintf(f, "<g clip-path=\"url(#plot%zu)\">\n", picture->pipeline);
        for (size_t i = 0; i < d.lane->phases; i++)
            put_phase(&d, &d.lane->phase[i]);
        put_kernels(&d);
        fputs("</g>\n", f);
    }
    put_axis(&d, height - BOTTOM + 4);
    if (picture->left_out)
        fprintf(
            f,
            "<text x=\"%d\" y=\"%d\" fill=\"#5a5f66\">%zu iterations are not drawn: there is no "
            "room</text>\n",
            LEFT, height - 6, picture->left_out);
    if (d.left_out)
        fprintf(f, "<text x=\"%d\" y=\"%d\" fill=\"#a00\">%zu boxes are left out</text>\n",
                LEFT + WIDTH / 2, height - 6, d.left_out);
    fputs("</svg>\n", f);
}

void sl_pipeline_print_svg(FILE *f, const struct sl_pipeline_view *v)
{
    struct sl_picture picture;
    int height = 0, y = 0;

    for (size_t i = 0; i < v->schedule->pipelines; i++)
        if (sl_picture_choose(&picture, v, i, 0))
            height += sl_picture_height(v, i);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n"
            "<title>Pipelines, by syncline</title>\n",
            sl_picture_width(), height ? height : TOP);
    for (size_t i = 0; i < v->schedule->pipelines; i++)
        if (sl_picture_choose(&picture, v, i, 0)) {
            sl_picture_put(f, v, &picture, y);
            y += sl_picture_height(v, i);
        }
    if (!height)
        fputs("<text x=\"10\" y=\"30\">No iteration has GPU work in phases.</text>\n", f);
    fputs("</svg>\n", f);
}
