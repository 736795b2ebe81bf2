/*
 * runs.h - what the reader sees of a path: one line for neighbours of one cause, and the names that
 * take most of it.
 *
 * Threads: one owner. Memory: 72 bytes for each run, 32 for each name on the path.
 */
#ifndef SL_CRITICAL_RUNS_H
#define SL_CRITICAL_RUNS_H

#include "critical/critical.h"

enum sl_critical_cause {
    SL_CAUSE_CPU,   /* a thread works */
    SL_CAUSE_WAIT,  /* a thread waits for something that is not known */
    SL_CAUSE_START, /* a launch is under way */
    SL_CAUSE_GPU,   /* a stream computes or copies, or goes from one operation to the next */
    SL_CAUSE_COMMUNICATION,
    SL_CAUSE_SYNC,    /* a call or a stream comes out of its wait */
    SL_CAUSE_EARLIER, /* GPU work that was launched before the chosen time */
    SL_CAUSE_UNKNOWN,
    SL_CAUSES
};

/* Returns a word for programs, such as "gpu". */
const char *sl_critical_cause_name(enum sl_critical_cause cause);

/* Neighbours on the path of the same cause, on the same thread or stream. */
struct sl_critical_run {
    uint64_t begin_ns, end_ns; /* as recorded */
    uint64_t ns;               /* on the path */
    uint64_t name_ns;          /* of the name that takes most of it */
    size_t pieces;             /* number of edges with time */
    size_t first, end;         /* the edges of the path [first, end) */
    uint32_t name, line, lane;
    uint8_t device, kind; /* of the longest edge */
    uint8_t cause;        /* enum sl_critical_cause */
};

/* All of a name and kind on the path. */
struct sl_critical_name {
    uint64_t ns, pieces;
    uint32_t name;
    uint8_t kind; /* enum sl_critical_kind */
};

struct sl_critical_runs {
    struct sl_critical_run *run;   /* in the order of time */
    struct sl_critical_name *name; /* the longest first; names alone that have a name */
    size_t runs, run_slots, names, name_slots;
};

/* Returns 0 or -ENOMEM. The caller calls sl_critical_runs_free() in both cases. */
int sl_critical_runs_make(struct sl_critical_runs *out, const struct sl_critical *c);
void sl_critical_runs_free(struct sl_critical_runs *runs);

#endif
