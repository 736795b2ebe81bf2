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
#include "read/grow.h"
#include "report/print.h"

#define TEXT_COLUMN   45 /* of 100 columns */
#define TEXT_WIDTH    45
#define FULL_WIDTH    98
#define LINES         40
#define BAR           12
#define FINDINGS      5
#define RANKS         8
#define KERNELS       6
#define KERNELS_MIN   3
#define KERNEL_LINES  (2 + KERNELS_MIN) /* the least for the list of kernels */
#define FINDING_LINES 9                 /* the most for one loss */
#define NOTE_LINES    6
#define MUCH          2 /* percent of a step */
#define KERNEL_NAME   48

/* ---- the head: whose recording it is ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Counts the ranks, and the devices with GPU work. */
static void count(const struct sl_report *report, size_t *ranks, size_t *devices)
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

/* Returns the number of records that CUPTI or syncline dropped, by all counters of drops. */
static uint64_t lost(const struct sl_report *report)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < report->recordings.count; i++) {
        const struct sl_header *h = &report->recordings.of[i].header;

        for (unsigned k = 0; k < h->counters; k++)
            if (strncmp(h->counter[k].name, "dropped_", 8) == 0)
                sum += h->counter[k].value;
    }
    return sum;
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
    uint64_t first, last, dropped = lost(report);
    char span[SL_FORMAT_SIZE], number[SL_FORMAT_SIZE];
    size_t ranks, devices;

    count(report, &ranks, &devices);
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
    if (findings->time.steps)
        sl_format_span(span, findings->time.length_ns / findings->time.steps);
    if (step_range(report, &first, &last))
        fprintf(f, "; steps %" PRIu64 "..%" PRIu64 " of %s", first, last, span);
    else if (findings->time.steps)
        fprintf(f, "; no steps, %s", span);
    if (dropped)
        fprintf(f, "; %s records were lost", sl_format_count(number, dropped));
    else
        fputs(r->status ? "; incomplete" : "; complete", f);
}

/* ---- the verdict ---- */

static const char *verdict(enum sl_part bound)
{
    switch (bound) {
    case SL_PART_COMPUTE:
        return "The GPUs are busy";
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
        return "Held up by the CPU";
    }
}

static const char *loss_name(enum sl_part part)
{
    static const char *const names[SL_PART_COUNT] = {
        "computing", "communication", "rank late",      "copies", "CPU waits",
        "CPU late",  "data loading",  "launch latency", "queued", "unknown"};

    return names[part];
}

static double percent(uint64_t part, uint64_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

void sl_report_print_verdict(FILE *f, const struct sl_report *report,
                             const struct sl_report_findings *findings)
{
    const struct sl_report_time *t = &findings->time;

    fprintf(f, "%s: the GPUs compute %.0f %% of %s", verdict(findings->bound),
            percent(t->part_ns[SL_PART_COMPUTE], t->length_ns),
            sl_report_has_steps(report) ? "a step" : "the time");
    for (size_t i = 0; i < findings->count && i < 2; i++)
        fprintf(f, "%s %s %.0f %%", i ? "," : ";", loss_name(findings->of[i].part),
                100 * findings->of[i].share);
    fputs(".", f);
}

/* Returns how many bytes of the text fit into a line of `width`, and sets *next to the rest. */
static size_t line_size(const char *text, size_t width, const char **next)
{
    size_t size = strlen(text), cut = width;

    if (size <= width) {
        *next = text + size;
        return size;
    }
    while (cut > width / 2 && text[cut] != ' ')
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

/* Prints a text in lines of the full width. */
static void put_paragraph(FILE *f, const char *text)
{
    while (*text) {
        const char *next;
        size_t size = line_size(text, FULL_WIDTH, &next);

        fprintf(f, " %.*s\n", (int)size, text);
        text = next;
    }
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
    fprintf(f, " %zu %-16s%11s%-5s %-8s ", number, loss_name(it->part),
            sl_format_span(span, it->per_step_ns), has_steps ? "/step" : "", who);
    put_wrapped(f, 1, it->text, *it->advice ? NULL : sure);
    if (!*it->advice)
        return;
    snprintf(advice, sizeof(advice), "-> %s", it->advice);
    put_wrapped(f, 0, advice, sure);
}

/* ---- where the step of each rank went ---- */

static void put_bar(FILE *f, const struct sl_report_time *t)
{
    static const char mark[SL_PART_COUNT + 1] = "#*=c......";
    char bar[BAR + 1];
    int at = 0;

    for (int part = 0; part < SL_PART_COUNT; part++) {
        uint64_t until_ns = 0;

        for (int i = 0; i <= part; i++)
            until_ns += t->part_ns[i];
        while (at < BAR && (double)at + 0.5 < (double)BAR * percent(until_ns, t->length_ns) / 100)
            bar[at++] = mark[part];
    }
    while (at < BAR)
        bar[at++] = '.';
    bar[at] = '\0';
    fprintf(f, " %s", bar);
}

/* A column without a value on any rank is left out, but all together must fit into 100 columns. */
static int column_width(int part)
{
    int width = (int)strlen(sl_part_name((enum sl_part)part));

    return width > 5 ? width : 5;
}

/* A device of a rank, with its chosen steps. */
struct row {
    size_t first, end; /* recordings */
    uint8_t device;
    int several; /* 1: the rank has several devices */
    struct sl_report_time time;
};

struct rows {
    const struct sl_report *report;
    struct row *row;
    size_t count, slots;
};

static void add_row(struct rows *rows, size_t first, size_t end, uint8_t device, int several)
{
    struct sl_report_time t = sl_report_time(rows->report, first, end, device);
    struct row *row =
        t.length_ns ? sl_grow((void **)&rows->row, &rows->count, &rows->slots, sizeof(*row)) : NULL;

    if (row)
        *row = (struct row){first, end, device, several, t};
}

static void add_rows(struct rows *rows)
{
    size_t end;

    for (size_t first = 0; first < rows->report->recordings.count; first = end) {
        uint8_t seen[UINT8_MAX + 1];
        int devices;

        end = sl_report_rank_end(rows->report, first);
        devices = sl_report_devices(rows->report, first, end, seen);
        for (int device = 0; device <= UINT8_MAX; device++)
            if (seen[device])
                add_row(rows, first, end, (uint8_t)device, devices > 1);
    }
}

static void name_row(char to[40], const struct sl_report *report, const struct row *row)
{
    int64_t rank = sl_report_rank(&report->recordings.of[row->first]);
    int at;

    if (rank < 0)
        at = snprintf(to, 40, row->several ? "f%zu" : "file %zu", row->first + 1);
    else
        at = snprintf(to, 40, row->several ? "r%" PRId64 : "rank %" PRId64, rank);
    if (row->several && at > 0 && at < 30)
        snprintf(to + at, 40 - (size_t)at, " GPU %u", row->device);
}

static void put_row(FILE *f, const char *who, const struct sl_report_time *t,
                    const struct sl_report_time *all)
{
    fprintf(f, "  %-10.10s", who);
    put_bar(f, t);
    for (int part = 0; part < SL_PART_COUNT; part++)
        if (all->part_ns[part])
            fprintf(f, " %*.1f", column_width(part), percent(t->part_ns[part], t->length_ns));
    fputs("\n", f);
}

static int by_part(const void *a, const void *b, void *part)
{
    const struct row *x = a, *y = b;
    const enum sl_part *by = part;
    double of_x = percent(x->time.part_ns[*by], x->time.length_ns),
           of_y = percent(y->time.part_ns[*by], y->time.length_ns);

    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (int)x->device - (int)y->device;
}

/* Names the rank with the most of each part, if that is much more than the median rank has. */
static void put_worst(FILE *f, struct rows *rows)
{
    char text[1024] = "most";
    size_t named = 0, at = strlen(text);

    for (enum sl_part part = SL_PART_COMPUTE + 1; part < SL_PART_COUNT; part++) {
        const struct sl_report_time *worst, *median;
        double most, usual;
        char who[40];

        qsort_r(rows->row, rows->count, sizeof(*rows->row), by_part, &part);
        worst = &rows->row[rows->count - 1].time;
        median = &rows->row[(rows->count - 1) / 2].time;
        most = percent(worst->part_ns[part], worst->length_ns);
        usual = percent(median->part_ns[part], median->length_ns);
        if (most < usual + MUCH)
            continue;
        name_row(who, rows->report, &rows->row[rows->count - 1]);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s: %s %.1f (median %.1f)",
                               named++ ? "," : "", sl_part_name(part), who, most, usual);
    }
    if (named)
        put_paragraph(f, text);
}

/* Prints the ranks with the least, the median and the greatest part of computing. */
static void put_summary(FILE *f, struct rows *rows, const struct sl_report_findings *findings)
{
    enum sl_part part = SL_PART_COMPUTE;

    qsort_r(rows->row, rows->count, sizeof(*rows->row), by_part, &part);
    fprintf(f, "  (of %zu GPUs, those that compute the least, median and most part of a step)\n",
            rows->count);
    for (size_t i = 0; i < 3; i++) {
        const struct row *row = &rows->row[i * (rows->count - 1) / 2];
        char who[40];

        name_row(who, rows->report, row);
        put_row(f, who, &row->time, &findings->time);
    }
    put_worst(f, rows);
}

static void put_ranks(FILE *f, const struct sl_report *report,
                      const struct sl_report_findings *findings)
{
    struct rows rows = {.report = report};

    fprintf(f, "\n %-*s", BAR + 12, "where a step went, in %");
    for (int part = 0; part < SL_PART_COUNT; part++)
        if (findings->time.part_ns[part])
            fprintf(f, " %*s", column_width(part), sl_part_name((enum sl_part)part));
    fputs("\n", f);
    add_rows(&rows);
    if (rows.count > RANKS)
        put_summary(f, &rows, findings);
    for (size_t i = 0; i < rows.count && rows.count <= RANKS; i++) {
        char who[40];

        name_row(who, report, &rows.row[i]);
        put_row(f, who, &rows.row[i].time, &findings->time);
    }
    free(rows.row);
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
        fprintf(f, "\n %-*s %10s %12s %7s %12s\n", KERNEL_NAME, "kernels and copies", "calls/step",
                "time/step", "share", "mean");
    for (size_t i = 0; i < groups.count && i < most; i++) {
        const struct sl_sum *g = &groups.sum[i];
        const char *name = sl_report_name(report, g->key[1]);
        char shorter[KERNEL_NAME + 1], span[SL_FORMAT_SIZE], mean[SL_FORMAT_SIZE];

        fprintf(f, "  %-*s %10.1f %12s %5.1f %% %12s\n", KERNEL_NAME - 1,
                sl_short_name(shorter, KERNEL_NAME - 1, name, strlen(name)),
                (double)g->count / (double)steps, sl_format_span(span, g->total_ns / steps),
                percent(g->total_ns, all_ns), sl_format_span(mean, g->total_ns / g->count));
    }
    sl_sums_free(&groups);
}

/* ---- what the recording lacks ---- */

static int communicates(const struct sl_report *report)
{
    for (size_t i = 0; i < report->recordings.count; i++)
        for (size_t k = 0; k < report->recordings.of[i].ops; k++)
            if (report->recordings.of[i].op[k].work == SL_WORK_COMMUNICATION)
                return 1;
    return 0;
}

/* Returns which part of the recorded time, in percent, the chosen steps are. */
static double covered_percent(const struct sl_report *report)
{
    uint64_t in_ns = 0, all_ns = 0;

    for (size_t i = 0; i < report->recordings.count; i++)
        for (size_t k = 0; k < report->parts[i].intervals; k++) {
            const struct sl_interval *in = &report->parts[i].interval[k];

            all_ns += in->end_ns - in->begin_ns;
            if (sl_report_counts_step(report, &report->recordings.of[i], in->step))
                in_ns += in->end_ns - in->begin_ns;
        }
    return all_ns ? 100.0 * (double)in_ns / (double)all_ns : 100;
}

static void put_missing(FILE *f, const struct sl_report *report)
{
    const struct sl_header *h = &report->recordings.of[0].header;
    int without_sync = 0, without_steps = 0;
    size_t ranks, devices;

    count(report, &ranks, &devices);

    for (size_t i = 0; i < report->recordings.count; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        without_sync |= !r->has_sync_rows;
        without_steps |= r->steps == 0;
    }
    if (without_sync)
        fputs(" Waits of streams are not known: record with syncline, or with "
              "enable_cuda_sync_events=True\n (experimental_config of torch.profiler).\n",
              f);
    if (communicates(report) && report->matched == 0 && h->has_world_size && h->world_size > 1)
        fprintf(f,
                " Waiting for late ranks is not told from transfer: that needs the traces of all "
                "%" PRId64 " ranks,\n recorded in the same steps.\n",
                h->world_size);
    if (covered_percent(report) < 50)
        fprintf(
            f,
            " Only %.0f %% of the recorded time is in the chosen steps; the rest is in the rows "
            "without a step\n of --only parts.\n",
            covered_percent(report));
    if (without_steps)
        fputs(" No steps: call step() of torch.profiler or of syncline in each iteration; see "
              "README.\n",
              f);
}

/* ---- all of it ---- */

static void put_top(FILE *f, const struct sl_report *report,
                    const struct sl_report_findings *findings)
{
    fprintf(f, "%s: ", sl_report_title(report));
    sl_report_print_head(f, report, findings);
    fputs("\n", f);
    if (findings->time.length_ns == 0) {
        fputs("\n No GPU operation in the chosen steps, so there is nothing to report.\n", f);
        return;
    }
    fputs("\n ", f);
    sl_report_print_verdict(f, report, findings);
    fputs("\n", f);
    put_paragraph(f, findings->launches);
}

/* Prints what comes last. Of the notes, as many as have room. */
static void put_bottom(FILE *f, const struct sl_report *report,
                       const struct sl_report_findings *findings)
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
    put_missing(f, report);
    fputs(
        " more: --only idle,waits,steps,ranks,launch,collectives (--help lists all) | --html OUT | "
        "--json\n",
        f);
}

/* A piece of the screen. */
struct piece {
    FILE *f;
    char *text;
    size_t size;
};

static FILE *piece_begin(struct piece *p)
{
    *p = (struct piece){.f = NULL};
    return p->f = open_memstream(&p->text, &p->size);
}

/* Returns the number of lines. */
static size_t piece_end(struct piece *p)
{
    size_t lines = 0;

    if (!p->f || fclose(p->f) != 0)
        return 0;
    for (size_t i = 0; i < p->size; i++)
        lines += p->text[i] == '\n';
    return lines;
}

static void piece_put(FILE *f, struct piece *p)
{
    if (p->text)
        fwrite(p->text, 1, p->size, f);
    free(p->text);
}

/* Prints the losses, the largest first, as far as `lines` allow. Returns the lines that are left.
 */
static size_t put_findings(FILE *f, const struct sl_report *report,
                           const struct sl_report_findings *findings, size_t lines)
{
    size_t ranks, devices;

    count(report, &ranks, &devices);
    for (size_t i = 0; i < findings->count && i < FINDINGS; i++) {
        struct piece p;
        size_t size;

        if (piece_begin(&p))
            put_finding(p.f, &findings->of[i], i + 1, ranks, sl_report_has_steps(report));
        size = piece_end(&p);
        if (size > lines) {
            free(p.text);
            break;
        }
        piece_put(f, &p);
        lines -= size;
    }
    return lines;
}

void sl_report_print_screen(FILE *f, const struct sl_report *report,
                            const struct sl_report_findings *findings)
{
    size_t used = 0, kernels, left;
    struct piece top, middle = {NULL}, bottom = {NULL};

    if (piece_begin(&top))
        put_top(top.f, report, findings);
    used += piece_end(&top);
    if (findings->time.length_ns) {
        if (piece_begin(&middle))
            put_ranks(middle.f, report, findings);
        used += piece_end(&middle);
        if (piece_begin(&bottom))
            put_bottom(bottom.f, report, findings);
        used += piece_end(&bottom);
    }
    piece_put(f, &top);
    left = LINES > used ? LINES - used : 0;
    kernels = left >= FINDING_LINES + KERNEL_LINES ? KERNEL_LINES : 0;
    left = put_findings(f, report, findings, left - kernels);
    piece_put(f, &middle);
    if (findings->time.length_ns && kernels)
        put_kernels(f, report, findings,
                    left + KERNELS_MIN < KERNELS ? left + KERNELS_MIN : KERNELS);
    piece_put(f, &bottom);
}
