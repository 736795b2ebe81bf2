/*
 * print_text.c - prints the result of a check as a page of text.
 *
 * Threads, memory: main only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "check/check.h"
#include "check/et_check.h"
#include "print/format.h"

#define PROCESSES_SHOWN 20
#define STREAMS_SHOWN   24

static void print_verdict(FILE *f, const char *path, const struct sl_check *c)
{
    unsigned count[3] = {0, 0, 0};

    for (int i = 0; i < SL_FIND_COUNT; i++) {
        if (c->findings.of[i].count)
            count[sl_finding_severity((enum sl_finding_id)i, c->is_strict)]++;
    }
    fprintf(f, "%s: %s", path,
            count[SL_SEVERITY_ERROR] ? "NOT a valid and complete Kineto trace"
                                     : "valid and complete Kineto trace");
    if (c->header.own_file)
        fprintf(f, ", written by syncline%s%s", c->header.version[0] ? " " : "", c->header.version);
    if (c->header.is_cut)
        fprintf(f, ", steps %" PRId64 " to %" PRId64 " of it", c->header.first_step,
                c->header.last_step);
    fprintf(f, " (%u error%s, %u warning%s, %u note%s)\n", count[SL_SEVERITY_ERROR],
            count[SL_SEVERITY_ERROR] == 1 ? "" : "s", count[SL_SEVERITY_WARNING],
            count[SL_SEVERITY_WARNING] == 1 ? "" : "s", count[SL_SEVERITY_NOTE],
            count[SL_SEVERITY_NOTE] == 1 ? "" : "s");
}

static void print_input(FILE *f, const struct sl_input_status *input)
{
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE];

    fprintf(f, "  file       %s, %s", sl_input_format_name(input->format),
            sl_format_bytes(a, input->file_bytes ? input->file_bytes : input->read_bytes));
    if (input->format == SL_INPUT_NSYS)
        fprintf(f, ", %s of text as a Kineto trace", sl_format_bytes(b, input->text_bytes));
    else if (input->format != SL_INPUT_PLAIN)
        fprintf(f, " in %" PRIu64 " %s%s, %s of text", input->frames,
                input->format == SL_INPUT_ZSTD ? "frame" : "member", input->frames == 1 ? "" : "s",
                sl_format_bytes(b, input->text_bytes));
    fputc('\n', f);
}

static void print_time(FILE *f, const struct sl_check *c)
{
    const struct sl_tally *t = &c->tally;
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE];
    int64_t start;

    if (t->first_ns > t->last_ns)
        return;
    start = t->first_ns;
    /* The base time of the file is ignored if its times count from the epoch. */
    if (c->header.has_base && !c->findings.of[SL_FIND_TIME_ABSOLUTE].count &&
        __builtin_add_overflow(start, c->header.base_ns, &start))
        start = t->first_ns;
    fprintf(f, "  time       %s", sl_format_span(a, (uint64_t)(t->last_ns - t->first_ns)));
    if (c->header.has_base || c->findings.of[SL_FIND_TIME_ABSOLUTE].count)
        fprintf(f, " from %s", sl_format_date(b, start));
    fputc('\n', f);
}

static void print_rank(FILE *f, const struct sl_header *h)
{
    if (h->has_rank)
        fprintf(f, "  rank       %" PRId64, h->rank);
    else
        fprintf(f, "  rank       unknown");
    if (h->has_world_size)
        fprintf(f, " of %" PRId64, h->world_size);
    if (h->host[0])
        fprintf(f, ", host %s", h->host);
    if (h->job[0])
        fprintf(f, ", job %s", h->job);
    if (h->run[0])
        fprintf(f, ", run %s", h->run);
    fputc('\n', f);
}

int sl_check_is_device(const struct sl_tally *t, const char *pid)
{
    char text[24];

    for (unsigned i = 0; i < SL_TALLY_LANES; i++) {
        if (!t->lane[i].is_stream)
            continue;
        snprintf(text, sizeof(text), "%" PRId64, t->lane[i].device);
        if (strcmp(text, pid) == 0)
            return 1;
    }
    return 0;
}

static void print_processes(FILE *f, const struct sl_tally *t)
{
    unsigned shown = 0, more = 0;

    for (unsigned i = 0; i < t->processes; i++) {
        const struct sl_tally_process *p = &t->process[i];

        if (p->threads == 0 || sl_check_is_device(t, p->pid))
            continue;
        if (shown++ >= PROCESSES_SHOWN) {
            more++;
            continue;
        }
        fprintf(f, "  process    %s%s%s: %u thread%s\n", p->pid[0] ? p->pid : "\"\"",
                p->name[0] ? " " : "", p->name, p->threads, p->threads == 1 ? "" : "s");
    }
    if (more)
        fprintf(f, "  process    and %u more\n", more);
}

static int by_device_stream(const void *a, const void *b)
{
    const struct sl_tally_lane *x = *(const struct sl_tally_lane *const *)a;
    const struct sl_tally_lane *y = *(const struct sl_tally_lane *const *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

const char *sl_check_device_name(const struct sl_header *h, int64_t device)
{
    for (unsigned i = 0; i < h->devices; i++) {
        if (h->device[i].id == device)
            return h->device[i].name;
    }
    return "";
}

static void print_devices(FILE *f, const struct sl_check *c)
{
    const struct sl_tally_lane *stream[STREAMS_SHOWN];
    const struct sl_tally *t = &c->tally;
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE];
    unsigned count = 0, more = 0;

    for (unsigned i = 0; i < SL_TALLY_LANES; i++) {
        if (!t->lane[i].is_stream)
            continue;
        if (count < STREAMS_SHOWN)
            stream[count++] = &t->lane[i];
        else
            more++;
    }
    qsort(stream, count, sizeof(stream[0]), by_device_stream);
    for (unsigned i = 0; i < count; i++) {
        const char *name = sl_check_device_name(&c->header, stream[i]->device);

        if (i == 0 || stream[i]->device != stream[i - 1]->device)
            fprintf(f, "  device     GPU %" PRId64 "%s%s\n", stream[i]->device, name[0] ? " " : "",
                    name);
        fprintf(f, "    stream   %-6" PRId64 " %12s operations, busy %s\n", stream[i]->stream,
                sl_format_count(a, stream[i]->events), sl_format_span(b, stream[i]->busy_ns));
    }
    if (more)
        fprintf(f, "    and %u more streams\n", more);
}

static void print_categories(FILE *f, const struct sl_tally *t)
{
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE];

    fprintf(f, "\n  %-24s %14s %16s\n", "category", "events", "total time");
    for (unsigned i = 0; i < t->categories; i++) {
        const struct sl_tally_category *k = &t->category[i];

        fprintf(f, "  %-24s %14s %16s\n", k->name, sl_format_count(a, k->events),
                k->total_ns ? sl_format_span(b, k->total_ns) : "");
    }
    fprintf(f, "  %-24s %14s\n", "all", sl_format_count(a, t->events));
}

static void print_finding(FILE *f, enum sl_finding_id id, enum sl_severity severity,
                          const struct sl_finding *finding)
{
    char a[SL_FORMAT_SIZE];

    fprintf(f, "  %-8s %s  %s: %s\n", sl_severity_name[severity], sl_finding_kind[id].name,
            sl_format_count(a, finding->count), sl_finding_kind[id].text);
    if (finding->at == SL_FINDING_NO_PLACE)
        fprintf(f, "           %s%s\n", finding->count > 1 ? "first: " : "", finding->example);
    else
        fprintf(f, "           %sbyte %" PRIu64 ": %s\n", finding->count > 1 ? "first at " : "at ",
                finding->at, finding->example);
}

static void print_findings(FILE *f, const struct sl_check *c)
{
    int printed = 0;

    for (int severity = SL_SEVERITY_ERROR; severity >= SL_SEVERITY_NOTE; severity--) {
        for (int i = 0; i < SL_FIND_COUNT; i++) {
            enum sl_finding_id id = (enum sl_finding_id)i;

            if (!c->findings.of[i].count || (int)sl_finding_severity(id, c->is_strict) != severity)
                continue;
            if (!printed++)
                fputc('\n', f);
            print_finding(f, id, (enum sl_severity)severity, &c->findings.of[i]);
        }
    }
}

static void print_counters(FILE *f, const struct sl_header *h)
{
    char a[SL_FORMAT_SIZE];
    int printed = 0;

    for (unsigned i = 0; i < h->counters; i++) {
        const char *help = sl_stats_help(h->counter[i].name);

        if (h->counter[i].value == 0)
            continue;
        if (!printed++)
            fprintf(f, "\n  %-32s\n", "syncline's counters");
        fprintf(f, "  %-32s %14s  %s\n", h->counter[i].name,
                sl_format_count(a, h->counter[i].value), help ? help : "");
    }
}

void sl_check_print_text(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input)
{
    print_verdict(f, path, c);
    print_input(f, input);
    print_time(f, c);
    print_rank(f, &c->header);
    sl_check_print_short(f, c);
    print_findings(f, c);
}

void sl_check_print_verbose(FILE *f, const char *path, const struct sl_check *c,
                            const struct sl_input_status *input)
{
    print_verdict(f, path, c);
    print_input(f, input);
    print_time(f, c);
    print_rank(f, &c->header);
    print_processes(f, &c->tally);
    print_devices(f, c);
    print_categories(f, &c->tally);
    print_counters(f, &c->header);
    print_findings(f, c);
}

/* ---- results for Chakra traces ---- */

void sl_check_print_et_text(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et)
{
    char count[SL_FORMAT_SIZE], other[SL_FORMAT_SIZE];
    int i;

    fprintf(f, "%s: Chakra execution trace%s%s\n", path, *et->state.version ? " " : "",
            et->state.version);
    if (*et->state.run)
        fprintf(f, "  job %s, run %s\n", et->state.job, et->state.run);
    fprintf(f, "  %s nodes, ", sl_format_count(count, c->nodes));
    fprintf(f, "%s dependencies (%s ctrl_deps, ", sl_format_count(count, c->deps),
            sl_format_count(other, c->ctrl_deps));
    fprintf(f, "%s data_deps)\n", sl_format_count(count, c->deps - c->ctrl_deps));
    for (i = 0; i < SL_ET_TYPES; i++)
        if (c->of_type[i])
            fprintf(f, "  %-12s %14s\n", sl_et_type_name[i], sl_format_count(count, c->of_type[i]));
    fprintf(f, "  on threads   %14s  %s", sl_format_count(count, c->cpu_nodes),
            sl_format_span(other, c->cpu_ns));
    fprintf(f, ", %s gaps", sl_format_count(count, c->gap_nodes));
    fprintf(f, ", %s waits\n", sl_format_count(count, c->wait_nodes));
    fprintf(f, "  on GPUs      %14s  %s\n", sl_format_count(count, c->nodes - c->cpu_nodes),
            sl_format_span(other, c->gpu_ns));
    for (i = 0; i < SL_FIND_COUNT; i++) {
        if (!c->findings.of[i].count)
            continue;
        fprintf(f, "  %s: %s %s (first: %s", sl_severity_name[sl_finding_kind[i].own],
                sl_format_count(count, c->findings.of[i].count), sl_finding_kind[i].text,
                c->findings.of[i].example);
        if (c->findings.of[i].at != SL_FINDING_NO_PLACE)
            fprintf(f, ", byte %" PRIu64, c->findings.of[i].at);
        fputs(")\n", f);
    }
    if (sl_findings_worst(&c->findings, 1) < SL_SEVERITY_ERROR)
        fputs("  valid\n", f);
}
