/*
 * finding.c - the table of problems.
 *
 * Threads, memory: see finding.h.
 */
#include "check/finding.h"

#include <stdarg.h>
#include <stdio.h>

const struct sl_finding_kind sl_finding_kind[SL_FIND_COUNT] = {
#define NOTE    SL_SEVERITY_NOTE
#define WARNING SL_SEVERITY_WARNING
#define ERROR   SL_SEVERITY_ERROR
    [SL_FIND_JSON_INVALID] = {"json_invalid", "places that are not valid JSON", ERROR, ERROR},
    [SL_FIND_TRUNCATED] =
        {"truncated", "truncated: `syncline recover` completes the file after its last whole event",
         ERROR, ERROR},
    [SL_FIND_DAMAGED] = {"damaged", "damaged place: everything after it is lost", ERROR, ERROR},
    [SL_FIND_EVENTS_TWICE] = {"events_twice",
                              "more than one traceEvents: JSON readers see only the last", ERROR,
                              ERROR},
    [SL_FIND_LOST] = {"lost", "events that were lost while recording", ERROR, ERROR},
    [SL_FIND_MEMBER_MISSING] = {"member_missing", "events that lack a required field", ERROR,
                                WARNING},
    [SL_FIND_DURATION_NEGATIVE] = {"duration_negative", "events that end before they begin", ERROR,
                                   WARNING},
    [SL_FIND_RANK_MISSING] = {"rank_missing", "no rank: HTA cannot tell the ranks apart", ERROR,
                              NOTE},
    [SL_FIND_RANK_HIDDEN] = {"rank_hidden",
                             "rank written in a form that HTA does not find (it needs \"rank\": N)",
                             ERROR, NOTE},
    [SL_FIND_METADATA_LATE] =
        {"metadata_late", "metadata before the name of its process: HTA misreads the first event",
         ERROR, NOTE},
    [SL_FIND_TIME_ABSOLUTE] =
        {"time_absolute", "times count from the epoch: as float64 they are off by up to 125 ns",
         ERROR, NOTE},
    [SL_FIND_CALL_TWICE] = {"call_twice",
                            "calls that share a correlation id: HTA's critical path fails", ERROR,
                            NOTE},
    [SL_FIND_GPU_WITHOUT_CALL] = {"gpu_without_call",
                                  "GPU operations whose CUDA call is not in the file", WARNING,
                                  NOTE},
    [SL_FIND_GPU_BEFORE_CALL] = {"gpu_before_call",
                                 "GPU operations that begin before their CUDA call", WARNING, NOTE},
    [SL_FIND_GPU_AFTER_WAIT] = {"gpu_after_wait",
                                "GPU operations that end after the call that waited for them",
                                WARNING, NOTE},
    [SL_FIND_CLOCKS] = {"clocks",
                        "GPU times that do not fit the times of calls: waits are wrong by as much, "
                        "unless the difference is constant, which `edges` and `convert --to "
                        "chakra` take out",
                        ERROR, ERROR},
    [SL_FIND_FLOW_TWICE] = {"flow_twice", "flow arrows that share an id", ERROR, NOTE},
    [SL_FIND_FLOW_NO_END] = {"flow_no_end", "flow arrows without an end", ERROR, NOTE},
    [SL_FIND_FLOW_NO_START] = {"flow_no_start", "flow arrows without a start", ERROR, NOTE},
    [SL_FIND_STREAM_ZERO] = {"stream_zero", "GPU operations on stream 0: HTA leaves them out",
                             ERROR, NOTE},
    [SL_FIND_STREAM_UNSIGNED] = {"stream_unsigned", "events with stream 4294967295 in place of -1",
                                 ERROR, NOTE},
    [SL_FIND_GPU_OVERLAP] = {"gpu_overlap",
                             "GPU operations that overlap the previous one on their stream",
                             WARNING, NOTE},
    [SL_FIND_WAIT_NO_RECORD] = {"wait_no_record", "event waits without the id of a record call",
                                WARNING, NOTE},
    [SL_FIND_WAIT_UNKNOWN_RECORD] = {"wait_unknown_record",
                                     "stream waits whose record call is not in the file", WARNING,
                                     NOTE},
    [SL_FIND_WAIT_LATE_RECORD] = {"wait_late_record", "stream waits whose record call comes later",
                                  WARNING, NOTE},
    [SL_FIND_EDGE_INVALID] = {"edge_invalid", "sync edges with missing or wrong fields", ERROR,
                              NOTE},
    [SL_FIND_EDGE_TIMES] = {"edge_times", "sync edges that contradict the times of their events",
                            ERROR, NOTE},
    [SL_FIND_EDGE_RELEASED] = {"edge_released",
                               "waits that are not released by exactly one of their edges", ERROR,
                               NOTE},
    [SL_FIND_EDGE_ARROW] = {"edge_arrow", "sync edge arrows in the wrong place", ERROR, NOTE},
    [SL_FIND_OUTSIDE_WINDOW] = {"outside_window", "events outside of the recording window", WARNING,
                                NOTE},
    [SL_FIND_ROW_UNUSABLE] =
        {"row_unusable",
         "events with impossible ids or times: `edges` and `convert --to chakra` leave them out",
         WARNING, WARNING},
    [SL_FIND_CORRELATION_LARGE] =
        {"correlation_large",
         "correlation ids above 32 bits: `edges` and `convert --to chakra` leave their events out",
         WARNING, WARNING},
    [SL_FIND_RECOVERED] =
        {"recovered",
         "completed after its process was killed: calls of the last second may be missing", NOTE,
         NOTE},
    [SL_FIND_NO_GPU_WORK] = {"no_gpu_work", "no GPU operation in the trace", NOTE, NOTE},
    [SL_FIND_NOT_CHECKED] = {"not_checked", "events or values not fully checked, to limit memory",
                             NOTE, NOTE},
    [SL_ET_RULE_METADATA] = {"metadata", "files whose first message is not GlobalMetadata", ERROR,
                             ERROR},
    [SL_ET_RULE_CUT] =
        {"cut", "files that are truncated inside a message: `syncline recover` completes them",
         ERROR, ERROR},
    [SL_ET_RULE_PART] = {"unfinished",
                         "files whose job was killed or still runs: `syncline recover` completes "
                         "them",
                         ERROR, ERROR},
    [SL_ET_RULE_DAMAGED] = {"damaged", "damaged places, where no message can be read", ERROR,
                            ERROR},
    [SL_ET_RULE_INPUT] = {"input", "files whose compressed data is truncated or damaged", ERROR,
                          ERROR},
    [SL_ET_RULE_EMPTY] = {"empty", "files without nodes", ERROR, ERROR},
    [SL_ET_RULE_ID_TWICE] = {"id_twice", "nodes that share an id", ERROR, ERROR},
    [SL_ET_RULE_DEP_MISSING] = {"dep_missing", "data_deps on ids that are not in the file", ERROR,
                                ERROR},
    [SL_ET_RULE_CTRL_MISSING] = {"ctrl_missing",
                                 "ctrl_deps on ids that are not in the file: ASTRA-sim aborts, and "
                                 "Chakra's own feeder ignores ctrl_deps",
                                 ERROR, ERROR},
    [SL_ET_RULE_DEP_LATER] =
        {"dep_later",
         "dependencies on nodes that come later: readers keep all nodes in between in memory",
         WARNING, WARNING},
    [SL_ET_RULE_DEP_SELF] = {"dep_self", "nodes that depend on themselves", ERROR, ERROR},
    [SL_ET_RULE_CYCLE] = {"cycle", "nodes that never run: they are in a cycle or depend on one",
                          ERROR, ERROR},
    [SL_ET_RULE_TYPE] = {"type", "nodes of type INVALID or METADATA, which simulators reject",
                         ERROR, ERROR},
    [SL_ET_RULE_NAME] = {"name", "names that are not UTF-8", ERROR, ERROR},
    [SL_ET_RULE_TEXT] =
        {"text",
         "texts of attributes, inputs or outputs that are not UTF-8: readers reject their nodes",
         ERROR, ERROR},
    [SL_ET_RULE_DURATION] = {"duration", "durations that are negative, or longer than 292 years",
                             ERROR, ERROR},
    [SL_ET_RULE_NO_IS_CPU] = {"no_is_cpu_op",
                              "nodes without is_cpu_op, which readers treat as GPU operations",
                              WARNING, WARNING},
    [SL_ET_RULE_COMM_ON_CPU] = {"comm_on_cpu", "communication with is_cpu_op true", ERROR, ERROR},
    [SL_ET_RULE_MEMBER] = {"member",
                           "attributes whose value has a type that simulators do not read", ERROR,
                           ERROR},
    [SL_ET_RULE_COMM_FIELDS] = {"comm_fields", "communication without its type, size, peer or tag",
                                ERROR, ERROR},
    [SL_ET_RULE_TWICE] =
        {"attribute_twice",
         "attributes that a node has twice: which one counts depends on the reader", ERROR, ERROR},
    [SL_ET_RULE_COMM_SIZE] = {"comm_size", "communication with a negative size", ERROR, ERROR},
    [SL_ET_RULE_COMM_PEER] = {"comm_peer", "messages to or from a negative rank", ERROR, ERROR},
    [SL_ET_RULE_COMM_TYPE] = {"comm_type", "collectives that ASTRA-sim has no algorithm for", ERROR,
                              ERROR},
    [SL_ET_RULE_GROUP] = {"group", "groups whose pg_name is not a 31-bit number", ERROR, ERROR},
    [SL_ET_RULE_NO_LAUNCH] = {"no_launch",
                              "GPU operations whose CUDA call is not in the file, so a replay may "
                              "begin them too early: a few at a window's edges are normal; if "
                              "there are many, add runtime and driver to SYNCLINE_KINDS",
                              WARNING, WARNING},
    [SL_ET_RULE_NOT_CHECKED] =
        {"not_checked",
         "places not checked because a memory limit was reached: the file may be invalid there",
         ERROR, ERROR},
#undef NOTE
#undef WARNING
#undef ERROR
};

/* Text that is not JSON may hold any bytes, including terminal control characters. */
static void make_printable(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
    }
}

void sl_finding_add(struct sl_findings *f, enum sl_finding_id id, uint64_t n, uint64_t at,
                    const char *example, ...)
{
    struct sl_finding *finding = &f->of[id];

    if (finding->count == 0) {
        va_list args;

        finding->at = at;
        va_start(args, example);
        vsnprintf(finding->example, sizeof(finding->example), example, args);
        va_end(args);
        make_printable(finding->example);
    }
    finding->count += n;
}

enum sl_severity sl_finding_severity(enum sl_finding_id id, int own)
{
    return own ? sl_finding_kind[id].own : sl_finding_kind[id].foreign;
}

enum sl_severity sl_findings_worst(const struct sl_findings *f, int own)
{
    enum sl_severity worst = SL_SEVERITY_NOTE;

    for (int i = 0; i < SL_FIND_COUNT; i++) {
        enum sl_severity s = sl_finding_severity((enum sl_finding_id)i, own);

        if (f->of[i].count && s > worst)
            worst = s;
    }
    return worst;
}

const char *const sl_severity_name[] = {"note", "warning", "error"};
