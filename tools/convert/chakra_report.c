/*
 * chakra_report.c - reports the counts of a conversion as text.
 *
 * Threads, memory: see chakra_report.h.
 */
#include "convert/chakra_report.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "print/format.h"

/* A counter, and the text after its number. */
struct meaning {
    size_t at; /* offset in struct sl_chakra_counts */
    const char *text;
};

#define COUNTER(name) offsetof(struct sl_chakra_counts, name)

static const struct meaning left_out[] = {
    {COUNTER(edges_no_source), "edges whose source is not there"},
    {COUNTER(edges_no_destination), "edges to what is not there"},
    {COUNTER(edges_cycle), "edges that would make a cycle"},
    {COUNTER(edges_full), "edges without room"},
    {COUNTER(rows_late), "rows on top of others"},
    {COUNTER(rows_full), "rows of more threads than there is room for"},
    {COUNTER(rows_invalid), "rows without a time"},
    {COUNTER(comm_unknown),
     "collectives (they are computation) whose type, size or ranks are not told"},
};

/* Each is printed on a separate line. */
static const struct meaning otherwise[] = {
    {COUNTER(rows_cut), "rows of threads lack the time that others had been given by then"},
    {COUNTER(rows_deep),
     "rows are too deep in others: part of their time counts for those around them"},
    {COUNTER(lanes_forgotten),
     "threads and streams were idle for long and made room for others: what they did later does "
     "not follow what they did before"},
    {COUNTER(forced), "times nodes went out early for lack of room: what came later may miss"},
    {COUNTER(callers_unknown),
     "backward operators follow no caller: several threads ran forward code of their sequence "
     "number"},
    {COUNTER(gpu_without_launch), "GPU operations follow no call: theirs is not in the file"},
    {COUNTER(gpu_late),
     "GPU operations came behind a later one of their stream: they are not in its order"},
};

/* The same with the total time of the GPU operations. */
static const struct {
    size_t at, ns;
    const char *text, *end;
} for_so_long[] = {
    {COUNTER(gpu_overlaps), COUNTER(gpu_overlaps_ns), "began before their call had ended,",
     "in all: so much later in a replay"},
    {COUNTER(unexplained), COUNTER(unexplained_ns), "began",
     "later in all than what is known explains"},
    {COUNTER(stream_overlaps), COUNTER(stream_overlaps_ns),
     "began before the one before them on their stream had ended,",
     "in all: their nodes are so much shorter (overlap_ns)"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t value_of(const struct sl_chakra_counts *n, size_t at)
{
    return *(const uint64_t *)((const char *)n + at);
}

static void add(char *text, size_t size, uint64_t count, const char *what)
{
    size_t used = strlen(text);
    char number[SL_FORMAT_SIZE];

    if (count)
        snprintf(text + used, size - used, "%s%s %s", used ? ", " : "",
                 sl_format_count(number, count), what);
}

static void print_left_out(const struct sl_chakra_counts *n, const struct sl_replay *feed)
{
    struct sl_trace_events_counts events;
    char left[1024] = "", lost[512];

    sl_trace_events_get_counts(feed->events, &events);
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        add(left, sizeof(left), value_of(n, left_out[i].at), left_out[i].text);
    add(left, sizeof(left), events.inputs_lost, "inputs without room");
    if (left[0])
        printf("left out: %s\n", left);
    if (sl_format_losses(lost, sizeof(lost), feed->lost))
        printf("edges that the trace does not tell: %s\n", lost);
}

static void print_otherwise(const struct sl_chakra_counts *n)
{
    char count[SL_FORMAT_SIZE];

    for (size_t i = 0; i < COUNT_OF(otherwise); i++)
        if (value_of(n, otherwise[i].at))
            printf("%s %s\n", sl_format_count(count, value_of(n, otherwise[i].at)),
                   otherwise[i].text);
    for (size_t i = 0; i < COUNT_OF(for_so_long); i++)
        if (value_of(n, for_so_long[i].at))
            printf("%s GPU operations %s %" PRIu64 " us %s\n",
                   sl_format_count(count, value_of(n, for_so_long[i].at)), for_so_long[i].text,
                   value_of(n, for_so_long[i].ns) / 1000, for_so_long[i].end);
}

static void warn(const struct sl_convert_request *r, const struct sl_replay *feed)
{
    sl_args_complain(r->command, "ASTRA-sim replays one thread and one stream a rank: what ran at "
                                 "the same time there goes one after the other");
    if (r->compression != SL_COMPRESS_NONE)
        sl_args_complain(r->command, "ASTRA-sim reads raw files alone: %s is compressed",
                         r->output);
    if (!r->has_rank && !feed->header.has_rank)
        sl_args_complain(r->command, "%s tells no rank: 0 is written; --rank names another",
                         r->input);
}

void sl_chakra_report(const struct sl_convert_request *r, const struct sl_replay *feed,
                      const struct sl_chakra *chakra)
{
    char nodes[SL_FORMAT_SIZE], gpu[SL_FORMAT_SIZE], cpu[SL_FORMAT_SIZE], edges[SL_FORMAT_SIZE];
    struct sl_chakra_counts n;

    sl_chakra_get_counts(chakra, &n);
    printf("%s: %s nodes (%s on the GPU, %" PRIu64 " of them communication; %s on the CPU), "
           "%s synchronization edges\n",
           r->output, sl_format_count(nodes, n.nodes), sl_format_count(gpu, n.gpu_nodes),
           n.comm_nodes, sl_format_count(cpu, n.cpu_nodes), sl_format_count(edges, n.edges));
    print_left_out(&n, feed);
    print_otherwise(&n);
    warn(r, feed);
}
