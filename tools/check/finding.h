/*
 * finding.h - the problems of a trace: one entry per kind.
 *
 * Each kind has a count and its first example. The severity depends on the writer of the file. A
 * syncline file must keep syncline's guarantees, so a violation is an error. In a torch.profiler
 * file it is only a note, because versions differ.
 *
 * Threads: plain data of one owner. Memory: none beyond the struct.
 */
#ifndef SL_CHECK_FINDING_H
#define SL_CHECK_FINDING_H

#include <stdint.h>

enum sl_severity {
    SL_SEVERITY_NOTE,
    SL_SEVERITY_WARNING,
    SL_SEVERITY_ERROR
};

enum sl_finding_id {
    SL_FIND_JSON_INVALID,
    SL_FIND_TRUNCATED,
    SL_FIND_DAMAGED,
    SL_FIND_EVENTS_TWICE,
    SL_FIND_LOST,
    SL_FIND_MEMBER_MISSING,
    SL_FIND_DURATION_NEGATIVE,
    SL_FIND_RANK_MISSING,
    SL_FIND_RANK_HIDDEN,
    SL_FIND_METADATA_LATE,
    SL_FIND_TIME_ABSOLUTE,
    SL_FIND_CALL_TWICE,
    SL_FIND_GPU_WITHOUT_CALL,
    SL_FIND_GPU_BEFORE_CALL,
    SL_FIND_FLOW_TWICE,
    SL_FIND_FLOW_NO_END,
    SL_FIND_FLOW_NO_START,
    SL_FIND_STREAM_ZERO,
    SL_FIND_STREAM_UNSIGNED,
    SL_FIND_GPU_OVERLAP,
    SL_FIND_WAIT_NO_RECORD,
    SL_FIND_WAIT_UNKNOWN_RECORD,
    SL_FIND_WAIT_LATE_RECORD,
    SL_FIND_EDGE_INVALID,
    SL_FIND_EDGE_TIMES,
    SL_FIND_EDGE_RELEASED,
    SL_FIND_EDGE_ARROW,
    SL_FIND_OUTSIDE_WINDOW,
    SL_FIND_ROW_UNUSABLE,
    SL_FIND_CORRELATION_LARGE,
    SL_FIND_NO_GPU_WORK,
    SL_FIND_NOT_CHECKED,
    SL_FIND_COUNT
};

#define SL_FINDING_NO_PLACE UINT64_MAX

struct sl_finding {
    uint64_t count;
    uint64_t at; /* byte of the first example in the text, or SL_FINDING_NO_PLACE */
    char example[160];
};

struct sl_findings {
    struct sl_finding of[SL_FIND_COUNT];
};

/* Adds `n` to a kind's count. The first call's place and text are kept. */
void sl_finding_add(struct sl_findings *f, enum sl_finding_id id, uint64_t n, uint64_t at,
                    const char *example, ...) __attribute__((format(printf, 5, 6)));

const char *sl_finding_name(enum sl_finding_id id); /* "gpu_without_call" */
/* A description in the plural: "GPU operations whose call is not in the file" */
const char *sl_finding_text(enum sl_finding_id id);
enum sl_severity sl_finding_severity(enum sl_finding_id id, int own_file);
const char *sl_severity_name(enum sl_severity severity);

#endif
