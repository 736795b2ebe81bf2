/*
 * hta_rows.h - the rows of trace files as HolisticTraceAnalysis (HTA) 0.5.0 sees them.
 *
 * All tables of `report --hta` work on these rows, so the numbers equal HTA's. HTA's view differs
 * from that of the other tables:
 *
 * - Times are whole microseconds: starts are rounded up and ends are rounded down, so an event can
 *   have a duration of -1. Time 0 is the earliest start of all ranks.
 * - If the traces have several steps, calls and operators that begin after the last step began are
 *   left out, and with them the GPU rows of the same correlation ids. A GPU row counts once for
 *   each row of the CPU with its correlation id.
 * - Every row with a stream counts as GPU work, so do rows of CUDA's synchronization. Only the name
 *   tells what the work is.
 *
 * Threads: one owner; a helper thread decompresses while a file is read. Memory: 72 bytes for each
 * row that has a stream, a correlation id or a name that a table needs, and 16 bytes for each other
 * row.
 */
#ifndef SL_REPORT_HTA_ROWS_H
#define SL_REPORT_HTA_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

/* The class of a GPU row by its name. The order is that of HTA's labels for work that overlaps. */
enum sl_hta_work {
    SL_HTA_COMPUTATION,
    SL_HTA_COMMUNICATION,
    SL_HTA_MEMORY,
    SL_HTA_OTHER,
};

/* Further facts that a name tells. */
enum sl_hta_name {
    SL_HTA_WORK_MASK = 3,            /* enum sl_hta_work */
    SL_HTA_QUEUES = 1 << 2,          /* a call that lengthens a queue */
    SL_HTA_LAUNCHES = 1 << 3,        /* a call of the launch statistics */
    SL_HTA_LAUNCHES_KERNEL = 1 << 4, /* a call that launches a kernel for an operator */
    SL_HTA_OPERATOR = 1 << 5,        /* aten:: */
    SL_HTA_HAS_STEP = 1 << 6,        /* contains "ProfilerStep" */
    SL_HTA_SYNC = 1 << 7             /* counts as a GPU row without a stream */
};

/* Rows that are kept only if a table needs them. */
enum sl_hta_need {
    SL_HTA_NEED_OPERATORS = 1 << 0, /* names that begin with aten:: */
    SL_HTA_NEED_ALL = 1 << 1        /* every row */
};

#define SL_HTA_NO_STEP (-1)

struct sl_hta_row {
    int64_t ts, dur;     /* us */
    int64_t correlation; /* -1: none */
    double bandwidth;    /* GB/s of a copy or memset, else 0 */
    uint32_t index;      /* number of the row in the file */
    int32_t link; /* HTA's index_correlation: the number of the last row of the other side with this
                     correlation id; 0: there is none; -1: no correlation id */
    uint32_t name;    /* intern id */
    int64_t stream;   /* -1: none */
    uint32_t lane;    /* index into `lane` of the rank */
    uint32_t group;   /* rows with the same correlation id; 0: no correlation id */
    int32_t step;     /* number of the step; SL_HTA_NO_STEP */
    uint8_t category; /* enum sl_row_category */
    uint8_t is_gpu;
};

/* Any other row. */
struct sl_hta_time {
    int64_t ts, dur;
};

struct sl_hta_lane {
    int64_t pid, tid;
};

/* The rows of a rank, in the order of HTA's data frame. */
struct sl_hta_rank {
    int64_t rank; /* 0 if the file does not name it */
    struct sl_hta_row *row;
    struct sl_hta_time *other;
    struct sl_hta_lane *lane;
    size_t rows, others, lanes, row_slots, other_slots, lane_slots;
    uint32_t *first_member; /* of a group, index into `member`; one more than there are groups */
    uint32_t *member;       /* indexes into `row`, by group; rows of the CPU first */
    uint32_t groups;        /* numbers of groups are less */
    size_t unlinked;        /* rows whose correlation id too many calls share */
    size_t first_cpu;       /* from here on, rows of the CPU are in the order of their numbers */
    /* The times at which the number of the step changes, and the number from there on. */
    int64_t *step_ts;
    int32_t *step;
    size_t steps;
    int64_t first_ts, last_ts; /* of all rows that count; both 0 if there are none */
    int has_first_row;         /* 1: the row with the number 0 counts, and began at: */
    int64_t first_row_ts;
};

struct sl_hta {
    struct sl_hta_rank *of; /* by rank */
    size_t count;
    uint32_t needs;             /* flags of enum sl_hta_need, set before the first file is read */
    int64_t wanted;             /* the rank to report, set before the first file is read; -1: all */
    int keeps_last;             /* 1: the last step counts too */
    size_t left_out, of_others; /* files that are not the latest of their rank; not of `wanted` */
    const char *left_path;      /* one of those */
    const struct sl_intern *names;
    uint8_t *about; /* flags of enum sl_hta_name, for each intern id */
};

/* Returns 0 or -ENOMEM. */
int sl_hta_create(struct sl_hta **out, size_t most);
void sl_hta_free(struct sl_hta *h); /* NULL is fine */

struct sl_command;

/* Reads the file at `path` (borrowed), and adds it to the recordings, too. HTA reads one file of a
 * rank, so a file that is older than another of its rank is left out; if the latest is read first,
 * only the header of the others is read. Returns an exit status. What is wrong is said in one line
 * on stderr. */
int sl_hta_read(struct sl_hta *h, struct sl_recordings *all, const struct sl_command *command,
                const char *path);

/* Call it when all files are read. Returns an exit status; a line on stderr says what was left
 * out. */
int sl_hta_finish(struct sl_hta *h, struct sl_recordings *all, const struct sl_command *command);

static inline enum sl_hta_work sl_hta_work(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return (enum sl_hta_work)(h->about[row->name] & SL_HTA_WORK_MASK);
}

/* Returns the kind of work as HTA writes it, such as "COMPUTATION". */
const char *sl_hta_work_name(enum sl_hta_work work);

/* Returns the row of the CPU that launched a GPU row, or NULL if it does not count or is unknown.
 */
const struct sl_hta_row *sl_hta_launch(const struct sl_hta_rank *r, const struct sl_hta_row *row);

/* Returns the number of the step at a time of the CPU, or SL_HTA_NO_STEP. */
int32_t sl_hta_step(const struct sl_hta_rank *r, int64_t ts);

/* Returns the number in "ProfilerStep#12", or SL_HTA_NO_STEP. */
int32_t sl_hta_step_number(const char *name);

#endif
