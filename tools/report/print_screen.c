/*
 * print_screen.c - prints the first screen of a report: what held the GPUs up, the largest losses
 * with their remedies, where the step of each rank went, and the kernels that took most time.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "print/format.h"
#include "print/short_name.h"
#include "report/print.h"
#include "report/screen.h"

#define TEXT_COLUMN   45 /* of 100 columns */
#define TEXT_WIDTH    45
#define FULL_WIDTH    98
#define LINES         40
#define TITLE_WIDTH   60
#define FINDINGS      5
#define KERNELS       6
#define KERNELS_MIN   3
#define KERNEL_LINES  (2 + KERNELS_MIN) /* the least for the list of kernels */
#define FINDING_LINES 9                 /* the most for one loss */
#define NOTE_LINES    6
#define KERNEL_NAME   48

/* Returns how many bytes of the text fit into a line of `width`, and sets *next to the rest. */
static size_t line_size(const char *text, size_t width, const char **next)
{
    size_t size = strlen(text), cut = width;

    if (size <= width) {
        *next = text + size;
        return size;
    }
    while (cut > width / 4 && (text[cut] != ' ' || text[cut + 1] == '%'))
        cut--;
    if (text[cut] != ' ')
        cut = width;
    while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--; /* a character of UTF-8 stays whole */
    *next = text + cut + (text[cut] == ' ');
    return cut;
}

/* Prints a text in lines at column TEXT_COLUMN. The cursor is there already if `is_first`. The last
 * line ends with `end`, at the right. */
static void put_wrapped(FILE *f, int is_first, const char *text, const char *end)
{
    while (*text) {
        const char *next;
        size_t size = line_size(text, TEXT_WIDTH, &next);

        fprintf(f, "%*s%.*s", is_first ? 0 : TEXT_COLUMN, "", (int)size, text);
        if (!*next && end)
            fprintf(f, "%*s %s", TEXT_WIDTH - (int)size, "", end);
        fputs("\n", f);
        is_first = 0;
        text = next;
    }
}

/* Returns the number of lines that put_paragraph() prints. */
static size_t paragraph_lines(const char *text)
{
    size_t lines = 0;

    for (; *text; lines++)
        line_size(text, FULL_WIDTH, &text);
    return lines;
}

void sl_screen_lines(FILE *f, int indent, const char *text)
{
    while (*text) {
        const char *next;
        size_t size = line_size(text, FULL_WIDTH, &next);

        fprintf(f, "%*s%.*s\n", indent, "", (int)size, text);
        indent = 1;
        text = next;
    }
}

static void put_paragraph(FILE *f, const char *text)
{
    sl_screen_lines(f, 1, text);
}

static void put_finding(FILE *f, const struct sl_report_finding *it, size_t number, size_t ranks,
                        int has_steps)
{
    char span[SL_FORMAT_SIZE], who[40], advice[SL_FINDING_TEXT + 4];
    const char *sure = sl_sure_name(it->sure);

    if (it->ranks == ranks)
        snprintf(who, sizeof(who), "%s", ranks == 1 ? "" : ranks == 2 ? "both" : "all");
    else if (it->ranks == 1 && it->rank >= 0)
        snprintf(who, sizeof(who), "rank %" PRId64, it->rank);
    else
        snprintf(who, sizeof(who), "%zu ranks", it->ranks);
    fprintf(f, " %zu %-16s%11s%-5s %-8s ", number, sl_screen_loss(it),
            sl_format_about(span, it->per_step_ns), has_steps ? "/step" : "", who);
    put_wrapped(f, 1, it->text, *it->advice ? NULL : sure);
    if (!*it->advice)
        return;
    snprintf(advice, sizeof(advice), "-> %s", it->advice);
    put_wrapped(f, 0, advice, sure);
}

/* ---- the kernels ---- */

static void put_kernels(FILE *f, const struct sl_report *report,
                        const struct sl_report_findings *findings, size_t most)
{
    struct sl_sums groups = sl_report_kernels(report, 0, report->recordings.count);
    uint64_t all_ns = 0, steps = findings->time.steps ? findings->time.steps : 1;

    for (size_t i = 0; i < groups.count; i++)
        all_ns += groups.sum[i].total_ns;
    if (groups.count)
        fprintf(f, "\n %-*s %10s %12s %7s %12s\n", KERNEL_NAME,
                "kernels and copies (share of their time)", "calls/step", "time/step", "share",
                "mean");
    for (size_t i = 0; i < groups.count && i < most; i++) {
        const struct sl_sum *g = &groups.sum[i];
        const char *name = sl_report_name(report, g->key[1]);
        char shorter[KERNEL_NAME + 1], span[SL_FORMAT_SIZE], mean[SL_FORMAT_SIZE];

        fprintf(f, "  %-*s %10.1f %12s %5.1f %% %12s\n", KERNEL_NAME - 1,
                sl_short_name(shorter, KERNEL_NAME - 1, name, strlen(name)),
                (double)g->count / (double)steps, sl_format_about(span, g->total_ns / steps),
                sl_screen_percent(g->total_ns, all_ns),
                sl_format_about(mean, g->total_ns / g->count));
    }
    sl_sums_free(&groups);
}

/* ---- all of it ---- */

FILE *sl_piece_begin(struct sl_piece *p)
{
    *p = (struct sl_piece){.f = NULL};
    return p->f = open_memstream(&p->text, &p->size);
}

size_t sl_piece_end(struct sl_piece *p)
{
    size_t lines = 0;

    if (!p->f || fclose(p->f) != 0)
        return 0;
    for (size_t i = 0; i < p->size; i++)
        lines += p->text[i] == '\n';
    return lines;
}

void sl_piece_put(FILE *f, struct sl_piece *p)
{
    if (p->text)
        fwrite(p->text, 1, p->size, f);
    free(p->text);
}

/* Prints what `print` prints, after a title if there is one, in lines of the full width. */
static void put_sentence(FILE *f, const struct sl_report *report,
                         const struct sl_report_findings *findings, const char *title,
                         void (*print)(FILE *f, const struct sl_report *report,
                                       const struct sl_report_findings *findings))
{
    struct sl_piece p;

    if (sl_piece_begin(&p)) {
        fprintf(p.f, *title ? "%s: " : "%s", title);
        print(p.f, report, findings);
    }
    sl_piece_end(&p);
    if (p.text)
        sl_screen_lines(f, *title == '\0', p.text);
    free(p.text);
}

static void put_top(FILE *f, const struct sl_report *report,
                    const struct sl_report_findings *findings)
{
    const char *title = sl_report_title(report);
    char shorter[TITLE_WIDTH + 1];

    put_sentence(f, report, findings, sl_short_name(shorter, TITLE_WIDTH, title, strlen(title)),
                 sl_report_print_head);
    fputs("\n", f);
    put_sentence(f, report, findings, "", sl_report_print_verdict);
    if (findings->time.length_ns == 0)
        return;
    put_paragraph(f, findings->launches);
    put_paragraph(f, findings->covered);
}

/* Prints what comes last. Of the notes, as many as have room. */
static void put_bottom(FILE *f, const struct sl_report_findings *findings)
{
    size_t left = NOTE_LINES;

    fputs("\n", f);
    for (size_t i = 0; i < findings->notes; i++) {
        size_t lines = paragraph_lines(findings->note[i]);

        if (lines > left)
            continue;
        left -= lines;
        put_paragraph(f, findings->note[i]);
    }
    for (size_t i = 0; i < findings->lacks; i++)
        put_paragraph(f, findings->lack[i]);
    fputs(
        " more: --only idle,waits,steps,ranks,launch,collectives (--help lists all) | --html OUT | "
        "--json\n",
        f);
}

/* Prints the losses, the largest first, as far as `lines` allow. Returns the lines that are left.
 */
static size_t put_findings(FILE *f, const struct sl_report *report,
                           const struct sl_report_findings *findings, size_t lines)
{
    size_t ranks, devices;

    sl_screen_count(report, &ranks, &devices);
    for (size_t i = 0; i < findings->count && i < FINDINGS; i++) {
        struct sl_piece p;
        size_t size;

        if (sl_piece_begin(&p))
            put_finding(p.f, &findings->of[i], i + 1, ranks, sl_report_has_steps(report));
        size = sl_piece_end(&p);
        if (size > lines) {
            free(p.text);
            break;
        }
        sl_piece_put(f, &p);
        lines -= size;
    }
    return lines;
}

void sl_report_print_screen(FILE *f, const struct sl_report *report,
                            const struct sl_report_findings *findings)
{
    size_t used = 0, kernels, left;
    struct sl_piece top, middle = {NULL}, bottom = {NULL};

    if (sl_piece_begin(&top))
        put_top(top.f, report, findings);
    used += sl_piece_end(&top);
    if (findings->time.length_ns) {
        if (sl_piece_begin(&middle))
            sl_screen_ranks(middle.f, report, findings);
        used += sl_piece_end(&middle);
        if (sl_piece_begin(&bottom))
            put_bottom(bottom.f, findings);
        used += sl_piece_end(&bottom);
    }
    sl_piece_put(f, &top);
    left = LINES > used ? LINES - used : 0;
    kernels = left >= FINDING_LINES + KERNEL_LINES ? KERNEL_LINES : 0;
    left = put_findings(f, report, findings, left - kernels);
    sl_piece_put(f, &middle);
    if (findings->time.length_ns && kernels)
        put_kernels(f, report, findings,
                    left + KERNELS_MIN < KERNELS ? left + KERNELS_MIN : KERNELS);
    sl_piece_put(f, &bottom);
}
