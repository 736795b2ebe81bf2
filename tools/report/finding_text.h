/*
 * finding_text.h - puts a loss into words (finding.c).
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_REPORT_FINDING_TEXT_H
#define SL_REPORT_FINDING_TEXT_H

#include "report/finding.h"
#include "report/sums.h"

/* Losses are numbered as the parts are, and one is apart from SL_PART_LAUNCH. */
enum {
    SL_LOSS_BETWEEN = SL_PART_COUNT, /* gaps between queued operations */
    SL_LOSS_COUNT
};

/* The members of a cause's key. */
enum {
    SL_CAUSE_LOSS,
    SL_CAUSE_LINE,
    SL_CAUSE_PLACE,
    SL_CAUSE_CALL,
    /* The awaited operation, or the operation itself. Of SL_PART_CPU the call in which the thread
     * was; 0: in none. */
    SL_CAUSE_OTHER
};

/* The facts about a loss besides the finding. */
struct sl_loss {
    const struct sl_report *report;
    const struct sl_report_time *time; /* of all devices */
    const struct sl_sum *cause;        /* the largest cause; NULL if there is none */
    uint64_t total_ns;                 /* of all causes */
    /* The wait after which the CPU was late most, with that time, and the time after all waits. */
    const struct sl_sum *after_sync;
    uint64_t after_sync_ns;
    uint64_t gaps, held; /* number of gaps, and of launches that ended gaps */
    uint64_t launches;   /* calls that launch, of all steps together */
    uint64_t median_ns;  /* of the kernels that are not communication */
    /* Of a late rank: the part in which it exceeds the mean of all ranks most, by how much in a
     * step, and the place. `late_place` is "" if that is not known. */
    enum sl_part late_part;
    uint64_t late_ns;
    char late_place[SL_FINDING_TEXT];
};

/* Sets id, sure, text and advice. The place is set. */
void sl_finding_describe(struct sl_report_finding *f, const struct sl_loss *loss);

/* Writes the place of a finding for a reader: line of code, operator or range, or the call. */
void sl_finding_place(char to[SL_FINDING_TEXT], const struct sl_report *report,
                      const struct sl_report_finding *f);

#endif
