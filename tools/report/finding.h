/*
 * finding.h - the largest losses of a report, as sentences with a place in the program and a
 * remedy.
 *
 * A finding is a part of the step that is not computing (parts.h), with its largest cause. The part
 * `launch` gives two: launches that came late, and gaps between queued operations. Findings
 * are in the order of their time in a step; losses below 1 % of the step are left out.
 *
 * Threads: one owner. Memory: the texts are in the finding; names are borrowed from the report.
 */
#ifndef SL_REPORT_FINDING_H
#define SL_REPORT_FINDING_H

#include "report/near.h"
#include "report/report.h"

/* How certain a finding is. */
enum sl_sure {
    SL_SURE_MEASURED, /* records alone say it */
    SL_SURE_INFERRED, /* a rule concludes it from times */
    SL_SURE_UNKNOWN
};

#define SL_FINDING_TEXT 320
#define SL_FINDINGS_MAX (SL_PART_COUNT + 1)
#define SL_NOTES_MAX    7
#define SL_LACKS_MAX    3

struct sl_report_finding {
    const char *id; /* such as "cpu-late" */
    enum sl_part part;
    int is_between; /* 1: of SL_PART_LAUNCH the gaps between queued operations; 0: the rest */
    enum sl_sure sure;
    uint64_t per_step_ns; /* on the mean of all devices */
    double share;         /* of the step, 0 to 1 */
    size_t ranks;         /* number of ranks that lose at least 1 % of their step in this way */
    int64_t rank;         /* the only such rank, if `ranks` is 1 */
    /* the place of the largest cause; names are intern ids, 0: not known */
    uint32_t line, place, call;
    enum sl_near near; /* where the line is, seen from the place */
    char text[SL_FINDING_TEXT];
    char advice[SL_FINDING_TEXT]; /* "" if there is none */
};

struct sl_report_findings {
    struct sl_report_finding of[SL_FINDINGS_MAX];
    size_t count;
    struct sl_report_time time; /* of all devices together */
    /* Sentences about the whole report (note.h). */
    char launches[SL_FINDING_TEXT]; /* whether launches come in time; "" without steps */
    char covered[SL_FINDING_TEXT];  /* how much of the recording the steps are; "" if it is most */
    char note[SL_NOTES_MAX][SL_FINDING_TEXT];
    char lack[SL_LACKS_MAX]
             [SL_FINDING_TEXT]; /* facts that the recording lacks, and which recording has them */
    size_t notes, lacks;
};

/* Returns 0 or -ENOMEM. */
int sl_report_findings_make(struct sl_report_findings *out, const struct sl_report *report);

/* Returns "measured", "inferred" or "unknown". */
const char *sl_sure_name(enum sl_sure sure);

#endif
