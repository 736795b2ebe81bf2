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
    SL_FIND_RECOVERED,
    SL_FIND_NO_GPU_WORK,
    SL_FIND_NOT_CHECKED,

    /* of Chakra traces */
    SL_ET_RULE_METADATA, /* GlobalMetadata is not first */
    SL_ET_RULE_CUT,      /* the file ends inside a message */
    SL_ET_RULE_DAMAGED,  /* bytes that are not a message */
    SL_ET_RULE_INPUT,    /* the compressed file is cut or damaged */
    SL_ET_RULE_EMPTY,    /* no node */
    SL_ET_RULE_ID_TWICE,
    SL_ET_RULE_DEP_MISSING, /* a dependency on a node that is not in the file */
    SL_ET_RULE_DEP_LATER,   /* a parent after its child */
    SL_ET_RULE_DEP_SELF,
    SL_ET_RULE_CYCLE,    /* nodes in a cycle, or after a cycle */
    SL_ET_RULE_TYPE,     /* INVALID or METADATA */
    SL_ET_RULE_NAME,     /* not UTF-8 */
    SL_ET_RULE_TEXT,     /* other text of a node or of the metadata is not UTF-8 */
    SL_ET_RULE_DURATION, /* negative, or above int64 in nanoseconds */
    SL_ET_RULE_NO_IS_CPU,
    SL_ET_RULE_COMM_ON_CPU,
    SL_ET_RULE_MEMBER,      /* a value in a different oneof member from the one feeders read */
    SL_ET_RULE_COMM_FIELDS, /* comm_type and comm_size, or peer and tag, are incomplete */
    SL_ET_RULE_TWICE,       /* an attribute appears twice in a node */
    SL_ET_RULE_COMM_SIZE,   /* below 0 */
    SL_ET_RULE_COMM_PEER,   /* a rank below 0 */
    SL_ET_RULE_COMM_TYPE,   /* ASTRA-sim has no algorithm for this type */
    SL_ET_RULE_GROUP,       /* pg_name is not a number of 31 bits */
    SL_ET_RULE_NO_LAUNCH,   /* GPU operations without their call */
    SL_ET_RULE_NOT_CHECKED, /* no room to check: validity unknown */
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

struct sl_finding_kind {
    const char *name; /* "gpu_without_call" */
    const char *text; /* in the plural: "GPU operations whose call is not in the file" */
    enum sl_severity own, foreign;
};

extern const struct sl_finding_kind sl_finding_kind[SL_FIND_COUNT];
extern const char *const sl_severity_name[];

/* `own`: syncline wrote the file. */
enum sl_severity sl_finding_severity(enum sl_finding_id id, int own);

/* The worst severity found; SL_SEVERITY_NOTE without findings. */
enum sl_severity sl_findings_worst(const struct sl_findings *f, int own);

#endif
