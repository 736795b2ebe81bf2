/*
 * chakra_report.c - reports the counts of a conversion as text.
 *
 * Threads, memory: see request.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "convert/request.h"
#include "print/format.h"
#include "replay/replay.h"
#include "write/chakra/chakra.h"

/* A counter, and the text that follows the number in the report. */
struct meaning {
    size_t at; /* offset in struct sl_chakra_counts */
    const char *text;
};

#define COUNTER(name) offsetof(struct sl_chakra_counts, name)

static const struct meaning left_out[] = {
    {COUNTER(edges_no_source), "edges whose source is not in the file"},
    {COUNTER(edges_no_destination), "edges whose destination is not in the file"},
    {COUNTER(edges_late), "edges that came after their destination was written"},
    {COUNTER(edges_cycle), "edges that would form a cycle"},
    {COUNTER(edges_full), "edges past the memory limit"},
    {COUNTER(rows_late), "events that came too late"},
    {COUNTER(rows_full), "events of threads past the limit"},
    {COUNTER(rows_invalid), "events without a valid time"},
    {COUNTER(comm_unknown), "collectives of unknown type, size or ranks (written as computation)"},
};

/* The report prints each of these counters on a separate line. */
static const struct meaning otherwise[] = {
    {COUNTER(rows_cut),
     "CPU events were shortened: part of their time was already given to other events"},
    {COUNTER(rows_deep),
     "events are nested too deeply: part of their time counts for the enclosing events"},
    {COUNTER(lanes_forgotten), "idle threads and streams were evicted to limit memory: their later "
                               "work does not depend on their earlier work"},
    {COUNTER(forced),
     "times nodes were written early to limit memory: later events may be missing"},
    {COUNTER(callers_unknown), "backward operators have no caller: several threads ran forward "
                               "code with the same sequence number"},
    {COUNTER(gpu_without_launch), "GPU operations depend on no call: the call is not in the file"},
    {COUNTER(gpu_late),
     "GPU operations came after a later one of their stream: they are outside of its order"},
};

/* Counters that the report prints together with the total time of their GPU operations. */
static const struct {
    size_t at, ns;
    const char *text, *end;
} for_so_long[] = {
    {COUNTER(gpu_overlaps), COUNTER(gpu_overlaps_ns), "began before their call had ended,",
     "in all: a replay starts them that much later"},
    {COUNTER(unexplained), COUNTER(unexplained_ns), "began",
     "later in all than known dependencies explain"},
    {COUNTER(stream_overlaps), COUNTER(stream_overlaps_ns),
     "began before the previous one on their stream had ended,",
     "in all: their nodes are shortened by that time (overlap_ns)"},
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

    events = feed->events->counts;
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        add(left, sizeof(left), value_of(n, left_out[i].at), left_out[i].text);
    add(left, sizeof(left), events.inputs_lost, "operator inputs past the memory limit");
    if (left[0])
        printf("left out: %s\n", left);
    if (sl_format_losses(lost, sizeof(lost), feed->lost))
        printf("edges that the trace lacks: %s\n", lost);
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
    sl_args_complain(r->command, "ASTRA-sim replays one thread and one stream per rank: work that "
                                 "ran in parallel is replayed in sequence");
    if (r->compression != SL_COMPRESS_NONE)
        sl_args_complain(r->command, "ASTRA-sim reads only uncompressed files: %s is compressed",
                         r->output);
    if (!r->has_rank && !feed->header.has_rank)
        sl_args_complain(r->command, "%s has no rank: rank 0 is written; --rank sets another",
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
