/*
 * diff.h - compares two recordings of a job by the time of a step.
 *
 * Sides are numbered: 0 is A, 1 is B. Both share one table of names, so that equal names have equal
 * ids. Ranks are compared one by one, and then their mean is taken.
 *
 * A time differs from step to step. Its usual value is the median of the steps, or the mean if the
 * median is 0 on both sides (such as what happens in every tenth step). Its spread is the distance
 * from the first to the third quartile; of fewer than SL_DIFF_FEW steps, that from the smallest to
 * the largest value; the standard deviation, where the usual value is a mean. A difference of usual
 * values is a change only if it is larger than the spread of each side.
 *
 * Threads: one owner. Memory: beside the reports, 16 bytes for each operation, launch and wait of
 * the largest rank (twice for operations), and about 400 bytes for each row.
 */
#ifndef SL_DIFF_DIFF_H
#define SL_DIFF_DIFF_H

#include "report/metric.h"
#include "report/report.h"

#define SL_DIFF_FEW    10
#define SL_DIFF_ENOUGH 3

enum sl_diff_kind {
    SL_DIFF_KERNELS, /* and copies and memsets */
    SL_DIFF_OPERATORS,
    SL_DIFF_LAUNCHES,
    SL_DIFF_WAITS,
    SL_DIFF_COLLECTIVES,
    SL_DIFF_KINDS
};

/* A time of one side, per step. */
struct sl_diff_value {
    double usual_ns, median_ns, mean_ns, spread_ns;
    double count; /* mean number of occurrences in a step */
};

struct sl_diff_change {
    struct sl_diff_value of[2];
    double change_ns; /* usual value of B less that of A */
    int is_change;    /* 1: the change is larger than the spread of each side */
};

enum sl_diff_verdict {
    SL_DIFF_SAME,    /* equal */
    SL_DIFF_NOISE,   /* different, but not more than the steps of a side */
    SL_DIFF_LESS,    /* B takes less time */
    SL_DIFF_MORE,    /* B takes more time */
    SL_DIFF_ADDED,   /* only in B */
    SL_DIFF_REMOVED, /* only in A */
    SL_DIFF_REPLACED /* gone from A, with a new one of B in the same place */
};

/* A rank that both sides have. */
struct sl_diff_rank {
    int64_t rank;            /* -1: the files do not name it */
    size_t first[2], end[2]; /* its recordings */
    size_t steps[2];         /* chosen steps with GPU work */
    struct sl_diff_change step, part[SL_PART_COUNT];
};

/* A kernel, operator, call, line that waits, or collective. Names are intern ids; 0: none. */
struct sl_diff_row {
    enum sl_diff_kind kind;
    enum sl_work work; /* of a kernel */
    uint32_t place;    /* innermost operator or range that both sides have */
    uint32_t name[2];  /* kernel or call on each side; 0 if the side has none. Of several that were
                          replaced, the one with the most time */
    size_t names[2];   /* number of different kernels on each side */
    uint32_t line[2];  /* a line of the user's code */
    uint64_t most_ns[2];          /* time of `name`, in all ranks and steps */
    struct sl_diff_change change; /* mean of all ranks */
    int64_t most_rank;            /* the rank with the largest change; -1: none, or not named */
    double most_ns_of_rank;       /* its change */
};

struct sl_diff {
    struct sl_report side[2]; /* their recordings and names are borrowed */
    struct sl_diff_rank *rank;
    size_t ranks;
    size_t alone[2];          /* ranks that only this side has */
    struct sl_diff_rank mean; /* of all ranks; steps are their sum */
    size_t worst;             /* index of the rank whose step changed most */
    struct sl_diff_row *row;  /* by kind, and then by the size of the change */
    size_t rows;
    int has_gpu[2];    /* 1: a GPU operation is in the chosen steps */
    int has_waits[2];  /* 1: the side has records of synchronization */
    int has_places[2]; /* 1: the side has operators or ranges */
};

/* Compares the sides, whose reports are divided (report/divide.h). With `only` (not NULL), compares
 * this rank alone. Returns 0 or -ENOMEM. The caller frees in both cases. */
int sl_diff_make(struct sl_diff *d, const uint64_t *only);
void sl_diff_free(struct sl_diff *d);

/* Makes the rows of all ranks. Returns 0 or -ENOMEM. */
int sl_diff_rows_make(struct sl_diff *d);

/* Returns 1 if the recording has a chosen step at this part of the CPU's time, and sets *sample to
 * its place among the chosen steps of the recording. */
struct sl_diff_steps {
    uint32_t *of_part; /* for each part (sl_recording_part()); UINT32_MAX: not chosen */
    size_t count;      /* number of chosen steps of all recordings */
    size_t *base;      /* of each recording: its first entry of of_part */
};

/* Numbers the chosen steps of the recordings [first, end). Returns 0 or -ENOMEM. The caller frees
 * in both cases. */
int sl_diff_steps_make(struct sl_diff_steps *s, const struct sl_report *report, size_t first,
                       size_t end);
void sl_diff_steps_free(struct sl_diff_steps *s);

/* Compares the values of the steps of each side, which may be none. Reorders them. */
struct sl_diff_change sl_diff_compare(double *a, size_t as, double *b, size_t bs);

/* Adds a change to a sum, and divides the sum by `count`. */
void sl_diff_add(struct sl_diff_change *sum, const struct sl_diff_change *change);
void sl_diff_divide(struct sl_diff_change *sum, size_t count);

enum sl_diff_verdict sl_diff_verdict(const struct sl_diff_change *change);
enum sl_diff_verdict sl_diff_row_verdict(const struct sl_diff_row *row);
const char *sl_diff_verdict_name(enum sl_diff_verdict verdict);

/* Returns a name such as "kernels". */
const char *sl_diff_kind_name(enum sl_diff_kind kind);

/* ---- what is printed ---- */

/* The tables: steps, parts, and one for each kind. NULL-terminated. Their `make` is not used. */
extern const struct sl_metric *const sl_diff_tables[];

/* Makes a table. Returns 0 or -ENOMEM. The caller frees it. */
int sl_diff_table(const struct sl_diff *d, const struct sl_metric *metric, struct sl_table *out);

/* Prints one sentence: whether B is slower, by how much, and the largest reason. */
void sl_diff_print_sentence(FILE *f, const struct sl_diff *d);

/* Prints sentences about what limits the comparison, one a line. */
void sl_diff_print_notes(FILE *f, const struct sl_diff *d);

/* At most 40 lines of 100 columns. */
void sl_diff_print_screen(FILE *f, const struct sl_diff *d);

/* `limit_ns` is the limit of --fail-above for the step of A, below 0 without one. `tables` ends
 * with a table without a metric. */
void sl_diff_print_json(FILE *f, const struct sl_diff *d, double limit_ns, int is_above,
                        const struct sl_table *tables);

#endif
