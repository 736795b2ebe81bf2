/*
 * finding.h - the problems of a trace: one entry per kind.
 *
 * Each entry has a count and the first example. The severity depends on the writer of the file. A
 * syncline file must keep syncline's guarantees, so a violation is an error. In a torch.profiler
 * file the same violation is only a note, because versions of torch.profiler differ.
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
    SL_FIND_GPU_AFTER_WAIT,
    SL_FIND_CLOCKS,
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

    /* problems of Chakra traces */
    SL_ET_RULE_METADATA, /* GlobalMetadata is not the first message */
    SL_ET_RULE_CUT,      /* the file ends inside a message */
    SL_ET_RULE_PART,     /* the file's name says that it is not complete */
    SL_ET_RULE_DAMAGED,  /* bytes that are not a message */
    SL_ET_RULE_INPUT,    /* the compressed file is cut or damaged */
    SL_ET_RULE_EMPTY,    /* the file has no node */
    SL_ET_RULE_ID_TWICE,
    SL_ET_RULE_DEP_MISSING,  /* a data dependency on a node that is not in the file */
    SL_ET_RULE_CTRL_MISSING, /* a control dependency on a node that is not in the file */
    SL_ET_RULE_DEP_LATER,    /* a parent after its child */
    SL_ET_RULE_DEP_SELF,
    SL_ET_RULE_CYCLE, /* nodes that are in a dependency cycle or depend on a cycle */
    SL_ET_RULE_TYPE,  /* a node has the type INVALID or METADATA */
    SL_ET_RULE_NAME,  /* the name of a node is not UTF-8 */
    SL_ET_RULE_TEXT,  /* a text of the metadata, or a text of a node other than the node's name, is
                         not UTF-8 */
    SL_ET_RULE_DURATION, /* a duration is negative, or exceeds int64 in nanoseconds */
    SL_ET_RULE_NO_IS_CPU,
    SL_ET_RULE_COMM_ON_CPU,
    SL_ET_RULE_MEMBER,      /* the value of an attribute is in another member of the protobuf oneof
                               than the member that simulators read */
    SL_ET_RULE_COMM_FIELDS, /* type or size of a collective, or peer or tag of a send or receive, is
                               missing */
    SL_ET_RULE_TWICE,       /* an attribute appears twice in a node */
    SL_ET_RULE_COMM_SIZE,   /* comm_size is below 0 */
    SL_ET_RULE_COMM_PEER,   /* a source or destination rank is below 0 */
    SL_ET_RULE_COMM_TYPE,   /* ASTRA-sim has no algorithm for this type */
    SL_ET_RULE_GROUP,       /* pg_name is neither empty nor a number of 31 bits */
    SL_ET_RULE_NO_LAUNCH,   /* GPU operations whose launching call is missing */
    SL_ET_RULE_NOT_CHECKED, /* not checked for lack of memory, so validity is unknown */
    SL_FIND_COUNT
};

#define SL_FINDING_NO_PLACE UINT64_MAX

struct sl_finding {
    uint64_t count;
    uint64_t at; /* offset of the first example in the text, in bytes, or SL_FINDING_NO_PLACE */
    char example[160];
};

struct sl_findings {
    struct sl_finding of[SL_FIND_COUNT];
};

/* Adds `n` to a kind's count. The finding keeps the offset and the text that the first call for
 * this kind passed. */
void sl_finding_add(struct sl_findings *f, enum sl_finding_id id, uint64_t n, uint64_t at,
                    const char *example, ...) __attribute__((format(printf, 5, 6)));

struct sl_finding_kind {
    const char *name; /* "gpu_without_call" */
    const char *text; /* description as a plural noun: "GPU operations whose call is not in the
                         file" */
    enum sl_severity own, foreign;
};

extern const struct sl_finding_kind sl_finding_kind[SL_FIND_COUNT];
extern const char *const sl_severity_name[];

/* Returns the severity of a finding. `own` is 1 if syncline wrote the file. */
enum sl_severity sl_finding_severity(enum sl_finding_id id, int own);

/* Returns the worst severity that was found, or SL_SEVERITY_NOTE without findings. */
enum sl_severity sl_findings_worst(const struct sl_findings *f, int own);

#endif
