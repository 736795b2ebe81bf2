/*
 * replay.h - reads a Kineto file and passes its events to the edge engine, for `edges` and `convert
 * --to chakra`.
 *
 *   sl_replay_create(&f, &sinks, keeps);
 *   sl_replay_read(f, path, why, sizeof(why));      reads the whole file
 *   sl_replay_run(f, path, why, sizeof(why));       passes events and edges to the sinks
 *   sl_replay_tell(f, command, path, "the edges")   reports what was left out; exit status
 *
 * Threads: the main thread calls these functions. Helper threads read the file. Memory: see
 * trace_events.h and edge.h.
 */
#ifndef SL_REPLAY_H
#define SL_REPLAY_H

#include "args/args.h"
#include "read/edge_row.h"
#include "read/header.h"
#include "read/trace_events.h"
#include "read/trace_file.h"
#include "replay/recorded_edges.h"
#include "sync/edge.h"

/* How recorded edges (found by the job itself) get the names of their operations. */
enum sl_replay_names {
    SL_REPLAY_NAMES_BEFORE, /* the row of a name precedes the edges with the name, as in every file
                               that the job wrote */
    SL_REPLAY_NAMES_SOUGHT, /* an edge came before the row of its name, or the caller reads twice.
                               So names are read up to the end of the file, and edges are not passed
                               on */
    SL_REPLAY_NAMES_KNOWN   /* all names are known; a second pass reads the edges */
};

/* What a replay keeps besides the events that the edge engine needs. */
enum sl_replay_keeps {
    SL_REPLAY_EVENTS,      /* nothing */
    SL_REPLAY_COLLECTIVES, /* collectives, and names without escapes */
    SL_REPLAY_ROWS         /* also operators and ranges, which are passed to the `event` sink */
};

struct sl_replay_sinks {
    /* Syncline files have a row for each recorded edge. These edges are passed to `found` while the
     * file is read, without times except `wait_ns` and `wake_ns`. Nothing is sorted, and
     * sl_replay_run() does nothing. If another program reordered the rows, a second pass provides
     * the remaining edges, and `event` gets the GPU operations again. Otherwise each operation
     * comes before the edges that start or end at it. If `found` is NULL, sl_replay_run() passes
     * the recorded edges to `edges`, complete and in order of enqueue. */
    void (*found)(void *user, const struct sl_edge *edge);
    sl_edge_sink_fn edges;
    /* Called for each event that is passed to the engine, and for kept rows. A kept row comes
     * before the events that began after it. May be NULL. */
    void (*event)(void *user, const struct sl_event *ev);
    /* Called at intervals, when every event that ended by `ns`, all edges of these events, and
     * every row that began by `ns` have been passed on. May be NULL. */
    void (*complete)(void *user, uint64_t ns);
    /* Called for each row while the file is read. May be NULL. */
    void (*row)(void *user, const struct sl_trace_row *row);
    /* See trace_events.h. Called before the first event. May be NULL. */
    sl_trace_range_fn range;
    void *user;
};

struct sl_replay {
    struct sl_replay_sinks sinks;
    struct sl_trace_events *events;
    struct sl_row_collectives *collectives; /* NULL if collectives are not kept */
    enum sl_replay_keeps keeps;
    /* Set by the caller before sl_replay_read(): not 0 if recorded edges are passed to `found` only
     * when all steps and names are known. Then a file is read twice, and a pipe only once. */
    int reads_twice;
    struct sl_header header;
    int knew_whose;     /* not 0 if the file was recognised as a syncline file before its first
                           row */
    int is_second;      /* not 0 in the second pass, in which the header is known */
    int can_read_again; /* 0 if the input is a pipe */
    uint64_t invalid, too_long, unusable; /* numbers of rows that were not used, by cause */
    uint64_t edge_rows;                   /* number of rows of recorded edges */
    uint64_t lost[SL_EDGE_LOST_COUNT];
    struct sl_span last;
    struct sl_input_status input;
    struct sl_recorded_edges *joined; /* joins recorded edges with the times of their rows; NULL if
                                         the edges are passed to `found` */
    struct sl_edge_names names;
    enum sl_replay_names order;
    uint64_t given; /* number of recorded edges that were passed to a sink */
};

/* 0 or -ENOMEM. */
int sl_replay_create(struct sl_replay **out, const struct sl_replay_sinks *sinks,
                     enum sl_replay_keeps keeps);
void sl_replay_destroy(struct sl_replay *f); /* NULL is fine */

/* Reads the file. Returns 0, or a negative errno with a one-line message in `why`. A truncated or
 * damaged file is read up to the damage. A syncline file is read twice if its header, or a name,
 * comes after the rows that need it. */
int sl_replay_read(struct sl_replay *f, const char *path, char *why, size_t why_size);

/* Passes the events and edges of the file that was read to the sinks. Returns 0, or a negative
 * errno with a one-line message in `why`. */
int sl_replay_run(struct sl_replay *f, const char *path, char *why, size_t why_size);

/* Reports on stderr what was left out; `result` names the output ("the edges"). Returns the exit
 * status. */
int sl_replay_is_truncated(const struct sl_replay *f); /* 1: the file was read up to a damage */
int sl_replay_tell(const struct sl_replay *f, const struct sl_command *command, const char *path,
                   const char *result);

#endif
