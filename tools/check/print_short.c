/*
 * print_short.c - prints the contents of a trace in a few lines: what is normal in one line for
 * each subject, and counters only if they say more than how much was recorded.
 *
 * Threads, memory: main only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "check/check.h"
#include "print/format.h"

#define PROCESSES_SHOWN  1
#define DEVICES_SHOWN    8
#define CATEGORIES_SHOWN 6

static void print_processes(FILE *f, const struct sl_tally *t)
{
    unsigned more = 0, shown = 0;

    for (unsigned i = 0; i < t->processes; i++) {
        const struct sl_tally_process *p = &t->process[i];

        if (p->threads == 0 || sl_check_is_device(t, p->pid) || strcmp(p->pid, "-1") == 0)
            continue;
        if (shown++ >= PROCESSES_SHOWN) {
            more++;
            continue;
        }
        fprintf(f, "  process    %s%s%s: %u thread%s", p->pid, p->name[0] ? " " : "", p->name,
                p->threads, p->threads == 1 ? "" : "s");
    }
    if (more)
        fprintf(f, ", and %u more", more);
    if (shown)
        fputc('\n', f);
}

static void print_device(FILE *f, const struct sl_check *c, int64_t device)
{
    const struct sl_tally *t = &c->tally;
    const char *name = sl_check_device_name(&c->header, device);
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE];
    uint64_t events = 0, busy_ns = 0;
    unsigned streams = 0;

    for (unsigned i = 0; i < SL_TALLY_LANES; i++) {
        if (!t->lane[i].is_stream || t->lane[i].device != device)
            continue;
        streams++;
        events += t->lane[i].events;
        busy_ns += t->lane[i].busy_ns;
    }
    fprintf(f, "  device     GPU %" PRId64 "%s%s: %s operations, busy %s%s", device,
            name[0] ? " " : "", name, sl_format_count(a, events), sl_format_span(b, busy_ns),
            streams == 1 ? "" : " on ");
    if (streams > 1)
        fprintf(f, "%u streams", streams);
    fputc('\n', f);
}

static void print_devices(FILE *f, const struct sl_check *c)
{
    int64_t device[DEVICES_SHOWN];
    unsigned devices = 0, more = 0;

    for (unsigned i = 0; i < SL_TALLY_LANES; i++) {
        unsigned k = 0;

        if (!c->tally.lane[i].is_stream)
            continue;
        while (k < devices && device[k] != c->tally.lane[i].device)
            k++;
        if (k < devices)
            continue;
        if (devices == DEVICES_SHOWN) {
            more = 1;
            continue;
        }
        while (k > 0 && device[k - 1] > c->tally.lane[i].device) {
            device[k] = device[k - 1];
            k--;
        }
        device[k] = c->tally.lane[i].device;
        devices++;
    }
    for (unsigned i = 0; i < devices; i++)
        print_device(f, c, device[i]);
    if (more)
        fprintf(f, "  device     and more: see --verbose\n");
}

static int by_events(const void *a, const void *b)
{
    const struct sl_tally_category *x = *(const struct sl_tally_category *const *)a;
    const struct sl_tally_category *y = *(const struct sl_tally_category *const *)b;

    return (y->events > x->events) - (y->events < x->events);
}

static void print_categories(FILE *f, const struct sl_tally *t)
{
    const struct sl_tally_category *by[SL_TALLY_CATEGORIES];
    char a[SL_FORMAT_SIZE];

    for (unsigned i = 0; i < t->categories; i++)
        by[i] = &t->category[i];
    qsort(by, t->categories, sizeof(*by), by_events);
    fprintf(f, "  events     %s", sl_format_count(a, t->events));
    for (unsigned i = 0; i < t->categories && i < CATEGORIES_SHOWN; i++)
        fprintf(f, "%s %s %s", i ? "," : ":", sl_format_count(a, by[i]->events), by[i]->name);
    fputs(t->categories > CATEGORIES_SHOWN ? ", ...\n" : "\n", f);
}

/* Returns whether the counter only says how much was recorded. The others say what is missing. */
static int is_amount(const char *name)
{
    static const enum sl_stat amounts[] = {
        SL_STAT_RECORDS,      SL_STAT_EVENTS_WRITTEN, SL_STAT_RANGES,
        SL_STAT_OPS,          SL_STAT_EDGES,          SL_STAT_EDGES_RELEASED,
        SL_STAT_CHAKRA_NODES, SL_STAT_CHAKRA_EDGES,   SL_STAT_COLLECTIVES};

    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        if (strcmp(name, sl_stats_name(amounts[i])) == 0)
            return 1;
    return 0;
}

static void print_counters(FILE *f, const struct sl_header *h)
{
    char a[SL_FORMAT_SIZE];
    int printed = 0;

    for (unsigned i = 0; i < h->counters; i++)
        if (h->counter[i].value && !is_amount(h->counter[i].name))
            fprintf(f, "%s%s %s", printed++ ? ", " : "  counters   ", h->counter[i].name,
                    sl_format_count(a, h->counter[i].value));
    if (printed)
        fputs(" (--verbose explains)\n", f);
}

void sl_check_print_short(FILE *f, const struct sl_check *c)
{
    print_processes(f, &c->tally);
    print_devices(f, c);
    print_categories(f, &c->tally);
    print_counters(f, &c->header);
}
