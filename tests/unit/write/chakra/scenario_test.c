/*
 * scenario_test.c - gives rows and edges to the Chakra writer, and prints the nodes of the file.
 * Each scenario in the text files of scenarios/ is a separate test (scenarios/README.md describes
 * the format).
 *
 * A scenario without a line `complete` is run twice. In the first run, the writer gets all rows
 * before any is declared complete. In the second run, every microsecond is declared complete. Both
 * runs must give the same nodes.
 */
#include <inttypes.h>

#include "unit/write/chakra/say.h"

/* ---- the rows and edges of a scenario ---- */

static uint64_t ns_of(double us)
{
    return BASE + (uint64_t)(us * 1000 + 0.5);
}

/* Reads the words `member=value` before the name into the event. Returns the name. */
static const char *read_words(char *at, struct sl_event *ev)
{
    for (; *at == ' '; at += strcspn(at + 1, " ") + 1) {
        const char *value = strchr(at, '=');
        const char *word = at + 1;
        uint64_t number = value ? strtoull(value + 1, NULL, 10) : 0;

        if (*word == '#')
            ev->correlation = strtoull(word + 1, NULL, 10);
        else if (strncmp(word, "context=", 8) == 0)
            ev->context = (uint32_t)number;
        else if (strncmp(word, "device=", 7) == 0)
            ev->device = (uint8_t)number;
        else if (strncmp(word, "graph=", 6) == 0)
            ev->graph = (uint32_t)number;
        else if (strncmp(word, "node=", 5) == 0)
            ev->u.op.graph_node = number;
        else if (strncmp(word, "forward=", 8) == 0)
            ev->forward_thread = (uint32_t)number;
        else if (strncmp(word, "sequence=", 9) == 0)
            ev->u.row.sequence = (int64_t)number;
        else if (strncmp(word, "async ", 6) == 0)
            ev->flags |= SL_EVF_ASYNC;
        else
            return word;
    }
    return "";
}

/* Reads "collective TYPE BYTES GROUP", which describes the collective of the NCCL kernels that
 * follow. Their peer is rank 2. */
static int set_collective(const char *line)
{
    static const char *const types[] = {"ALL_REDUCE", "REDUCE",    "ALL_GATHER", "GATHER",
                                        "SCATTER",    "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
                                        "BARRIER",    "SEND",      "RECV"};
    char type[24];
    int at = 0;

    f.collective.peer = 2;
    if (sscanf(line, "collective %23s %" SCNu64 " %u", type, &f.collective.bytes,
               &f.collective.group) != 3)
        return 0;
    while (strcmp(types[at], type) != 0)
        at++;
    f.collective.type = (enum sl_collective_type)at;
    return 1;
}

static int put_row(char *line)
{
    static const struct {
        const char *word;
        enum sl_event_kind kind;
    } kinds[] = {{"call", SL_EV_RUNTIME}, {"launch", SL_EV_RUNTIME}, {"kernel", SL_EV_KERNEL},
                 {"copy", SL_EV_MEMCPY},  {"op", SL_EV_CPU_OP},      {"range", SL_EV_RANGE},
                 {"query", SL_EV_RUNTIME}};
    struct sl_event ev = {0};
    double start, end;
    char word[16];
    unsigned lane;
    int length;

    if (sscanf(line, "%15s %u %lf-%lf%n", word, &lane, &start, &end, &length) != 4)
        return 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(word, kinds[i].word) == 0)
            ev.kind = (uint8_t)kinds[i].kind;
    ev.start_ns = ns_of(start);
    ev.end_ns = ns_of(end);
    ev.flags = word[0] == 'l' ? SL_EVF_LAUNCH : 0;
    if (ev.kind == SL_EV_KERNEL || ev.kind == SL_EV_MEMCPY) {
        ev.stream = lane;
        ev.context = 1;
    } else {
        ev.thread = lane;
    }
    if (ev.kind == SL_EV_CPU_OP || ev.kind == SL_EV_RANGE)
        ev.u.row.sequence = -1;
    if (strcmp(word, "query") == 0) {
        ev.u.call.cbid = EVENT_QUERY;
        ev.u.call.result = SL_RESULT_NOT_READY;
    }
    ev.name = text(read_words(line + length, &ev));
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
    return ev.kind != 0;
}

/* Reads "edge SOURCE@STREAM[/NODE] START-END -> CALL START-END", or "-> OPERATION@STREAM[/NODE]
 * ...". */
static int put_sync_edge(const char *line)
{
    uint64_t from[4] = {0}, to[4] = {0}; /* correlation, stream, node */
    double time[4];
    const char *arrow = strstr(line, " -> ");
    struct sl_edge e;
    int to_op;

    if (!arrow ||
        sscanf(line, "edge %" SCNu64 "@%" SCNu64 "/%" SCNu64, from, from + 1, from + 2) < 2)
        return 0;
    to_op = sscanf(arrow, " -> %" SCNu64 "@%" SCNu64 "/%" SCNu64, to, to + 1, to + 2) > 1;
    if (sscanf(strchr(line + 5, ' '), " %lf-%lf", time, time + 1) != 2 ||
        sscanf(strchr(arrow + 4, ' '), " %lf-%lf", time + 2, time + 3) != 2)
        return 0;
    e = edge_from(from[0], 0, 0, (uint32_t)from[1]);
    e.source.graph_node = from[2];
    e.source.start_ns = ns_of(time[0]);
    e.source.end_ns = ns_of(time[1]);
    e.at_start = (uint8_t)to_op;
    e.dst_correlation = to[0];
    e.dst_start_ns = ns_of(time[2]);
    e.dst_end_ns = ns_of(time[3]);
    if (to_op)
        e.dst_op = (struct sl_edge_op){.correlation = to[0],
                                       .graph_node = to[2],
                                       .start_ns = e.dst_start_ns,
                                       .end_ns = e.dst_end_ns,
                                       .stream = (uint32_t)to[1]};
    assert_int_equal(sl_chakra_edges(f.chakra, &e, 1), 0);
    return 1;
}

/* Gives the rows to the writer. Returns 1 if the scenario has a line `complete`. */
static int give(const char *rows)
{
    char line[256];
    int told = 0;
    unsigned n;

    f.collective.bytes = 0;
    while (next_line(&rows, line, sizeof(line))) {
        if (strcmp(line, "whole only") == 0) {
            told = 1;
        } else if (sscanf(line, "complete %u", &n) == 1) {
            advance(n);
            told = 1;
        } else if (sscanf(line, "written %u", &n) == 1) {
            assert_int_equal(counts().gpu_nodes, n);
        } else if (!put_row(line) && !put_sync_edge(line) && !set_collective(line)) {
            fail_msg("not a row: %s", line);
        }
    }
    return told;
}

static void run(const char *rows)
{
    int told = give(rows);

    say_file();
    if (told)
        return;
    expect_said(", given whole");
    reopen(0);
    give(rows);
    for (uint64_t us = 1; us < 12000; us++)
        advance(us);
    say_file();
}

int main(void)
{
    return run_cases(SYNCLINE_SOURCE_DIR "/tests/unit/write/chakra/scenarios/*.txt", run,
                     chakra_set_up, chakra_tear_down);
}
