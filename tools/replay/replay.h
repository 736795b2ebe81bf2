/*
 * replay.h - a Kineto file through the engine of edges: what `edges` and `convert --to chakra`
 * share.
 *
 *   sl_replay_create(&f);
 *   sl_replay_keep_rows(f, ...)                     if operators and ranges are wanted
 *   sl_replay_take_found(f, ...)                    if edges that the job found are as good, alone
 *   sl_replay_join_found(f)                         or with all else
 *   sl_replay_read(f, path, why, sizeof(why));      the file, to its end
 *   sl_replay_run(f, &sinks);                       its events and edges, in the order of enqueue
 *   sl_replay_tell(f, command, path, "the edges")   what was not looked at, and the exit status
 *
 * Threads: main; reading has a helper thread. Memory: see trace_events.h and edge.h.
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

/* How edges that the job found come to know the names of their operations. */
enum sl_replay_names {
    SL_REPLAY_NAMES_BEFORE, /* as the job wrote it: a name's row stands before its edges */
    SL_REPLAY_NAMES_SOUGHT, /* one did not: names are read to the end, edges are held back */
    SL_REPLAY_NAMES_KNOWN   /* and read now, in a second reading */
};

struct sl_replay {
    struct sl_trace_events *events;
    struct sl_row_collectives *collectives; /* NULL: rows are not kept */
    int keeps_rows;
    struct sl_header header;
    int knew_whose;                       /* before the first row, that the file is syncline's */
    int is_second;                        /* reading it again, the header known */
    int can_read_again;                   /* it is no pipe */
    uint64_t invalid, too_long, unusable; /* rows that were not looked into */
    uint64_t edge_rows;                   /* that the job wrote */
    uint64_t lost[SL_EDGE_LOST_COUNT];
    struct sl_span last;
    struct sl_input_status input;
    /* NULL: edges are always worked out. */
    void (*found)(void *user, const struct sl_edge *edge);
    void (*found_event)(void *user, const struct sl_event *ev);
    void *found_user;
    struct sl_recorded_edges *joined; /* NULL: the same */
    struct sl_edge_names names;
    enum sl_replay_names order;
    uint64_t given; /* edges that the job found */
};

struct sl_replay_sinks {
    sl_edge_sink_fn edges;
    /* Each event that the engine is given; of rows that are kept those that began before it come
     * first. NULL: not wanted. */
    void (*event)(void *user, const struct sl_event *ev);
    /* Now and then: everything that ended by then, all edges included, has been given, and every
     * row that began by then. NULL: not wanted. */
    void (*complete)(void *user, uint64_t ns);
    void *user;
};

/* 0 or -ENOMEM. */
int sl_replay_create(struct sl_replay **out);
void sl_replay_destroy(struct sl_replay *f); /* NULL is fine */

/* 0 or -ENOMEM. */
int sl_replay_keep_rows(struct sl_replay *f);

/* Files of syncline's have a row for each edge that the job found. Where that is so they are given
 * while the file is read, one by one, without times but `wait_ns` and `wake_ns`; nothing is sorted,
 * and sl_replay_run() has nothing to do. Where rows are in another order than the job wrote them,
 * the rest of the edges is given in a second reading. `event` (NULL: not wanted) gets the GPU
 * operations, each before the edges that it is an end of. */
void sl_replay_take_found(struct sl_replay *f,
                          void (*found)(void *user, const struct sl_edge *edge),
                          void (*event)(void *user, const struct sl_event *ev), void *user);

/* The same edges, but in the order of enqueue and whole, from sl_replay_run(): the engine is not
 * asked. 0 or -ENOMEM. */
int sl_replay_join_found(struct sl_replay *f);

/* 0, or a negative errno with one line for a person in `why`. A file that is cut or damaged has
 * been read up to there. One of syncline's whose header, or a name, stands behind what needs it is
 * read twice. */
int sl_replay_read(struct sl_replay *f, const char *path, char *why, size_t why_size);

/* 0, or a negative errno with one line in `why`. */
int sl_replay_run(struct sl_replay *f, const char *path, const struct sl_replay_sinks *sinks,
                  char *why, size_t why_size);

/* Says on stderr what was not looked at; `result` is what there is of the rest ("the edges").
 * Returns the exit status. */
int sl_replay_tell(const struct sl_replay *f, const struct sl_command *command, const char *path,
                   const char *result);

#endif
