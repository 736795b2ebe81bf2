/*
 * chakra_internal.h - shared by the files of the Chakra writer.
 *
 *   chakra.c  files, held rows, and the order in which they are written
 *   cpu.c     slices of CPU threads: pieces, gaps, calls that wait, backward passes
 *   lane.c    the tables of threads and of streams
 *   caller.c  which thread called autograd
 *   gpu.c     GPU operations and the nodes that they follow
 *   edge.c    holds edges until their destination is written, and finds the node of each source
 *   node.c    one node as bytes
 *   name.c    names, made once and kept
 *   comm.c    collectives and their groups
 *   sort.c    rows in order of time
 *   polls.c   runs of queries that found unfinished work
 *   early.c   operations whose recorded start is before the start of their call, or whose call
 *             outlasts the window
 *
 * A row is an event that is a slice in the trace. Rows are written in order of their start, except
 * for a call that waits, which is written at its end. So the parents of a node are written before
 * the node. A launch starts before its operation, or the operation is moved after its launch. A
 * source ends before the waiting row ends. The writer gives nodes ascending ids in the order of
 * writing. The writer searches for a dependency only among the written nodes. So the file can
 * neither name a missing node nor contain a cycle.
 *
 * Threads: one owner. Memory: areas mapped at creation.
 */
#ifndef SL_CHAKRA_INTERNAL_H
#define SL_CHAKRA_INTERNAL_H

#include "event/device.h"
#include "sync/call_class.h"
#include "write/chakra/chakra.h"
#include "write/text_cache.h"

enum {
    SL_CHAKRA_BLOCK = 128 * 1024, /* number of bytes passed to the sink at a time */
    SL_CHAKRA_NAME_MAX = 64 * 1024,
    SL_CHAKRA_NAMES_BYTES = 1 << 20,
    SL_CHAKRA_DEPS = 32768,         /* maximum number of dependencies of a node */
    SL_CHAKRA_MORE_MAX = 32 * 1024, /* maximum number of bytes that the caller may add to a node */
    /* maximum number of threads that are known at one time */
    SL_CHAKRA_THREADS = 8192,
    /* size of the hash table of threads; a power of two */
    SL_CHAKRA_THREAD_PLACES = 2 * SL_CHAKRA_THREADS,
    SL_CHAKRA_DEPTH = 48, /* maximum number of rows around a row */
    /* maximum number of enclosing rows of all threads together */
    SL_CHAKRA_OPEN = 8192,
    /* number of sequence numbers of forward operators whose threads are known */
    SL_CHAKRA_SEQUENCES = 1 << 13,
    /* maximum number of threads that ran a forward operator with one sequence number */
    SL_CHAKRA_FORWARD_THREADS = 4,
    SL_CHAKRA_NUMBERS = 64, /* number of entries for PyTorch thread numbers; a power of two */
    /* number of observations after which a thread's PyTorch number counts as known */
    SL_CHAKRA_VOTES = 2,
    SL_CHAKRA_VOTES_MAX = 4,
    SL_CHAKRA_STREAMS = 12288,       /* maximum number of streams that are known at one time */
    SL_CHAKRA_STREAM_PLACES = 32768, /* size of the hash table of streams; a power of two */
    /* number of entries for the last call of a thread; a power of two */
    SL_CHAKRA_CALLED = 4096,
    /* number of GPU operations that can still be a source; a power of two */
    SL_CHAKRA_OPS = 1 << 15,
    SL_CHAKRA_LAUNCHES = 1 << 15,
    SL_CHAKRA_EDGE_BUCKETS = 1 << 12,
    /* Maximum launch latency, in nanoseconds. If an operation starts later than this after the end
     * of all its parents, the delay has another reason. */
    SL_CHAKRA_DELAY_MAX_NS = 20000,
    /* Time, in nanoseconds, that a call is assumed to need to enqueue its operation, if the time is
     * not known. This is the time of a usual launch. */
    SL_CHAKRA_ENQUEUE_NS = 5000,
    /* A GPU operation's recorded start may be up to this long before the start of its call, because
     * the clocks of GPU and CPU are matched only to some microseconds (pytorch/kineto issue 1380).
     * The limit is much larger than this error of the clocks, and much smaller than a difference
     * that has another cause. */
    SL_CHAKRA_SKEW_NS = 100000,
    /* A launch of over SL_CHAKRA_DELAY_MAX_NS is cut at the start of its operation only if the
     * operation ended at most this long, in nanoseconds, after the launch returned. So the cut does
     * not depend on when the operation's record arrived. Rows are held for that time, and also for
     * the sequence number of an operator that has begun. */
    SL_CHAKRA_CUT_NS = 50000000,
    /* Longest time, in nanoseconds, between the end of an operation and the return of a call that
     * is under way when the window ends. The time is limited because the rows that are held for the
     * call take memory. */
    SL_CHAKRA_OUTLAST_NS = 50000000
};

/* An edge that is held until its destination is written. */
struct sl_chakra_edge {
    uint64_t src_correlation, src_which, src_end_ns;
    uint64_t dst_correlation, dst_which, dst_end_ns;
    uint32_t src_device, src_context, src_stream;
    uint32_t next; /* next edge in the same bucket: index + 1 */
    uint8_t at_start, used;
    uint8_t late; /* 1: the edge arrived after rows up to the end of its destination were taken */
};

/* A GPU operation that was written. */
struct sl_chakra_op {
    uint64_t correlation, which; /* `which` is a result of sl_chakra_which() */
    uint64_t id : 40;            /* id of the operation's node; 0: free entry */
    /* by how many nanoseconds the operation ends later in a replay than recorded */
    uint64_t late_ns : 24;
};

/* A launch, which is the parent of the GPU operations with its correlation id; 0: free entry. */
struct sl_chakra_launch {
    uint64_t correlation;
    uint64_t id; /* id of the launch's node; 0 if the node is not written yet */
    uint64_t end_ns;
    uint32_t thread;
    uint32_t next; /* next launch in the same bucket: index + 1 */
};

/* An open row, which encloses the next rows of its thread. */
struct sl_chakra_open {
    struct sl_event row;
    /* the row around this row, or for a free entry, the next free entry; NULL if there is none */
    struct sl_chakra_open *around;
};

struct sl_chakra_thread {
    uint32_t id;
    /* number of threads that work for this thread while it waits (their `caller` is this thread's
     * id) */
    uint32_t waits_for;
    uint32_t caller; /* the thread for which this thread works; valid if has_caller is set */
    uint8_t has_caller;
    uint8_t depth;
    uint8_t launches; /* 1: the thread has launched GPU work, or works for a thread that has */
    uint8_t pending;  /* 1: `row` is not fully written */
    uint8_t named;    /* 1: the first piece of `row` is written */
    /* correlation id of a call that had not returned when the window ended, if this thread is
     * assumed to have made the call; 0 if there is none */
    uint64_t unseen;
    uint64_t last; /* id of the thread's last node; 0 if there is none */
    /* id of another node on which the thread's next node depends; 0 if there is none */
    uint64_t after;
    uint64_t frontier_ns; /* time up to which the nodes of the thread are written */
    struct sl_event row;
    struct sl_chakra_open *open; /* list of the `depth` rows around `row`, the innermost first */
};

/* The node that ended last of all threads that were removed from the table. The id is 0 if no
 * thread was removed. */
struct sl_chakra_forgotten {
    uint64_t id, end_ns;
};

/* The threads that ran forward operators of a sequence number. Each thread counts its own sequence
 * numbers. */
struct sl_chakra_forward {
    int64_t sequence;
    uint32_t thread[SL_CHAKRA_FORWARD_THREADS]; /* the threads, the oldest first */
    uint32_t threads;                           /* number of threads; 0: free entry */
};

/* The system thread that has a PyTorch thread number. */
struct sl_chakra_number {
    uint32_t number; /* PyTorch's number of the thread; 0: free entry */
    uint32_t thread;
    /* number of observations for the thread, minus the number of observations against it */
    uint32_t votes;
    /* sequence number of the last observation; all rows with one sequence number count as one
     * observation */
    int64_t sequence;
};

struct sl_chakra_stream {
    uint8_t device;
    uint8_t shared; /* 1: several threads launched operations on the stream */
    uint32_t context, stream;
    /* the last thread that launched an operation on the stream; 0 if it is not known */
    uint32_t thread;
    struct sl_chakra_op last;            /* the stream's last operation; id 0 if there is none */
    uint64_t last_start_ns, last_end_ns; /* last_end_ns is the end in a replay */
    uint64_t busy_until_ns;              /* latest recorded end of the stream's operations */
};

/* An operation whose call has not arrived. The operation and all later rows are held. */
struct sl_chakra_unseen {
    /* once all rows up to this time have arrived, the operation is written without its call; 0 if
     * no operation is held */
    uint64_t until_ns;
    uint64_t correlation;
};

/* An entry of the sort, with an index into `held`. */
struct sl_chakra_turn {
    uint64_t key;
    uint32_t index;
};

/* The node being made; its dependencies are in `dep`. */
struct sl_chakra_node {
    const struct sl_event *ev;  /* the row of the node; NULL for a gap */
    const struct sl_text *name; /* name of the node; NULL for a gap */
    int waits;                  /* 1: ".wait" is appended to the name */
    /* 1: the node is the row's first piece, which gets the operator's inputs */
    int first;
    uint32_t thread; /* CPU node: system id of the thread */
    uint64_t start_ns, end_ns;
    uint64_t counted_ns; /* start of the part of the time that simulators count */
    uint64_t delay_ns; /* GPU node: time from the end of the last parent to the operation's start */
    /* GPU node: for how many nanoseconds the operation overlaps the previous operation on the
     * stream */
    uint64_t overlap_ns;
    int no_launch;    /* GPU node: 1 if the operation's call is not in the file */
    uint32_t context; /* context of a GPU node; 0 for the first context of its device */
    /* the collective of a GPU node; NULL if there is none, or if it is not known */
    const struct sl_collective *collective;
};

struct sl_chakra {
    struct sl_chakra_options opt;
    struct sl_trace_meta meta;
    struct sl_chakra_counts count;
    void *area;
    size_t area_bytes;

    /* the open file */
    struct sl_sink *sink; /* where the file is written; NULL: no file is open */
    int error;
    int header_out;
    uint64_t base_ns;
    uint64_t from_ns;   /* start of the window, or of the first row: base_ns, or later */
    uint64_t offset_id; /* id of the node from base_ns to from_ns; 0 if there is none */
    /* the device that the header names; SL_DEVICE_NONE if the header names no device */
    uint32_t device;

    char *block; /* SL_CHAKRA_BLOCK bytes of output */
    size_t used;
    char *node; /* the node being made */
    struct sl_text_cache names;
    /* two areas of SL_CHAKRA_NAME_MAX bytes, for the name and for the name as valid UTF-8 */
    char *name;

    struct sl_event *held;
    size_t held_count, held_max;
    /* 1: for lack of memory, rows are written although earlier events may still arrive */
    int hurried;
    int has_launched; /* 1: a thread has launched GPU work in this file */
    uint64_t host_ns; /* time up to which the nodes of all threads count as host time */
    uint64_t done_ns; /* all rows that ended by this time are written, or their nodes have begun */
    int ending;       /* 1: no more rows will arrive */
    uint64_t last_ns; /* time at which the last row that arrived ended */
    struct sl_chakra_turn *turn, *turn_spare; /* arrays of held_max entries each */

    struct sl_chakra_edge *edge;
    size_t edges, edges_max;
    uint32_t *edge_bucket; /* SL_CHAKRA_EDGE_BUCKETS entries: index + 1 */

    struct sl_chakra_op *op; /* array of SL_CHAKRA_OPS entries */
    /* A ring of SL_CHAKRA_LAUNCHES entries, so that the ids of calls that launch nothing, such as
     * queries, evict no launch. */
    struct sl_chakra_launch *launch;
    uint32_t *launch_bucket; /* SL_CHAKRA_LAUNCHES entries, by correlation id: index + 1 */
    uint32_t next_launch;    /* index of the entry that is used next */
    /* SL_CHAKRA_THREADS entries, of which the first `threads` are used */
    struct sl_chakra_thread *thread;
    size_t threads;
    uint16_t *thread_at; /* hash table of SL_CHAKRA_THREAD_PLACES entries: index + 1 */
    struct sl_chakra_forgotten forgotten;
    struct sl_chakra_open *open, *open_free; /* `open`: array of SL_CHAKRA_OPEN entries;
                                              * `open_free`: list of the free entries */
    size_t opened;                           /* number of entries used so far */
    struct sl_chakra_forward *forward;       /* SL_CHAKRA_SEQUENCES entries, by sequence number */
    struct sl_chakra_number *number;         /* SL_CHAKRA_NUMBERS entries, by PyTorch's number */
    /* SL_CHAKRA_CALLED entries, by thread: correlation id of the last call that arrived */
    uint64_t *called;
    struct sl_chakra_unseen unseen;
    /* SL_CHAKRA_STREAMS entries, of which the first `streams` are used */
    struct sl_chakra_stream *stream;
    size_t streams;
    uint16_t *stream_at; /* hash table of SL_CHAKRA_STREAM_PLACES entries: index + 1 */
    /* first context seen on each device; 0 if there was none yet */
    uint32_t first_context[SL_DEVICE_MAX];

    uint64_t *dep; /* ids of the next node's dependencies, at most SL_CHAKRA_DEPS */
    size_t deps;
};

static inline int sl_chakra_is_call(const struct sl_event *ev)
{
    return ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER;
}

static inline int sl_chakra_is_range(const struct sl_event *ev)
{
    return ev->kind == SL_EV_RANGE || ev->kind == SL_EV_NVTX_RANGE;
}

static inline enum sl_call_class sl_chakra_class_of(const struct sl_event *call)
{
    return sl_call_class_of((enum sl_event_kind)call->kind, call->u.call.cbid);
}

/* Returns 1 if the row is a query that found unfinished work. A run of such queries is one node. */
static inline int sl_chakra_is_poll(const struct sl_event *ev)
{
    return sl_chakra_is_call(ev) && ev->u.call.result == SL_RESULT_NOT_READY &&
           (sl_chakra_class_of(ev) == SL_CALL_EVENT_QUERY ||
            sl_chakra_class_of(ev) == SL_CALL_STREAM_QUERY);
}

/* Adds the query `next`, which did not begin earlier, to the run `run`. Returns 0 if the two rows
 * cannot be in one run. The caller knows that the thread did nothing between them. A query inside
 * the run is one whose record arrived after the records of later queries. */
static inline int sl_chakra_join_polls(struct sl_event *run, const struct sl_event *next)
{
    if (!sl_chakra_is_poll(run) || !sl_chakra_is_poll(next) || run->kind != next->kind ||
        run->u.call.cbid != next->u.call.cbid)
        return 0;
    run->end_ns = next->end_ns > run->end_ns ? next->end_ns : run->end_ns;
    run->u.call.queries += next->u.call.queries;
    return 1;
}

/* Returns 1 if the row is an operator or a range, which may enclose calls. */
static inline int sl_chakra_is_outer(const struct sl_event *ev)
{
    return ev->kind == SL_EV_CPU_OP || sl_chakra_is_range(ev);
}

/* Returns 1 if the event reports the end of a row that was already added at its begin. The start
 * and end of such an event are both the time at which the row ended. */
static inline int sl_chakra_is_end(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) && ev->flags & SL_EVF_BEGUN;
}

static inline int sl_chakra_is_cpu(const struct sl_event *ev)
{
    return sl_chakra_is_call(ev) || sl_chakra_is_outer(ev);
}

/* marks a stream's number; no graph node has an id with this bit */
#define SL_CHAKRA_ON_STREAM (1ull << 63)

/* Returns a number that distinguishes the operations of one launch: a graph node's id, or the
 * stream. Older files of torch.profiler have no ids of graph nodes, and the copies of a batched
 * copy call never have such ids. If several operations without a node id are on one stream, the
 * last of these operations stands for all of them. */
static inline uint64_t sl_chakra_which(uint64_t graph_node, uint32_t stream)
{
    return graph_node ? graph_node : SL_CHAKRA_ON_STREAM | stream;
}

/* Returns the row's correlation id, or 0 if the row has no correlation id. */
static inline uint64_t sl_chakra_correlation(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) ? 0 : ev->correlation;
}

/* sort.c: sorts by key (a stable sort). Returns the array that contains the result, which is one of
 * the two given arrays. */
struct sl_chakra_turn *sl_chakra_sort(struct sl_chakra_turn *turn, struct sl_chakra_turn *spare,
                                      size_t count);
/* Sorts the rows by start. comes_first() in sort.c gives the order of rows that start at the same
 * time. */
struct sl_chakra_turn *sl_chakra_order(const struct sl_event *held, struct sl_chakra_turn *turn,
                                       struct sl_chakra_turn *spare, size_t count);

/* polls.c: joins the runs of queries among the held rows. Returns the number of rows that this
 * freed. */
size_t sl_chakra_join_held_polls(struct sl_chakra *c);

/* early.c: examines the sorted rows from `at` to *count, and moves each operation that began before
 * its call to the position after the call. Returns the array that has the rows. Rows that must wait
 * for a call that is still held are removed from the end of the array. *until_ns is then lowered,
 * so that the caller writes only rows that ended by *until_ns. */
struct sl_chakra_turn *sl_chakra_behind_calls(struct sl_chakra *c, struct sl_chakra_turn *turn,
                                              size_t at, size_t *count, uint64_t *until_ns);

/* Returns a time before `ns`. An operation that is moved after a call that starts at `ns` or later
 * cannot have ended by the returned time. */
static inline uint64_t sl_chakra_before(uint64_t ns)
{
    return ns > SL_CHAKRA_SKEW_NS ? ns - SL_CHAKRA_SKEW_NS - 1 : 0;
}

/* name.c: returns the name of a row's node. The name is valid until the next call of this function.
 */
const struct sl_text *sl_chakra_name(struct sl_chakra *c, const struct sl_event *ev);

/* node.c */
/* adds a dependency of the next node; does nothing if `id` is 0 */
void sl_chakra_add_dep(struct sl_chakra *c, uint64_t id);
uint64_t sl_chakra_put_node(struct sl_chakra *c,
                            const struct sl_chakra_node *n); /* returns the node's id */
void sl_chakra_put_header(struct sl_chakra *c);
/* writes the first node, from base_ns to from_ns, on this thread */
void sl_chakra_put_offset(struct sl_chakra *c, uint32_t thread);
void sl_chakra_hand_over(struct sl_chakra *c);

/* edge.c */
int sl_chakra_waits(const struct sl_chakra *c,
                    uint64_t correlation); /* returns 1 if an edge ends at the call's end */
/* Returns 1 if all work that the call waits for had ended by `start_ns`, and if the call's own
 * operation is not part of that work. */
int sl_chakra_waited_by(const struct sl_chakra *c, uint64_t correlation, uint64_t start_ns);
/* Adds the sources of a destination as dependencies. If the last source ends after *latest_ns,
 * writes the end of this source to *latest_ns. */
void sl_chakra_add_sources(struct sl_chakra *c, uint64_t correlation, uint64_t which, int at_start,
                           uint64_t *latest_ns);
/* Returns the end of the last source, or 0 if there is no source. */
uint64_t sl_chakra_sources_end(const struct sl_chakra *c, uint64_t correlation, uint64_t which,
                               int at_start);
/* Stores an operation that was written. The new entry replaces the entry of an earlier operation of
 * the same call on the same stream. */
void sl_chakra_remember_op(struct sl_chakra *c, const struct sl_chakra_op *op);
void sl_chakra_sweep_edges(struct sl_chakra *c, uint64_t complete_ns);

/* lane.c */
/* Returns 1 if the thread is in a row that ends after `ns` and for which is() returns 1. If `is` is
 * NULL, every row counts. */
int sl_chakra_is_in(const struct sl_chakra_thread *t, uint64_t ns,
                    int (*is)(const struct sl_event *row));
struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id);
/* Returns the thread's entry. Adds an entry if the thread is new at `ns`. Returns NULL if the table
 * is full of busy threads. */
struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id, uint64_t ns);

/* caller.c */
/* Called for each operator. Stores the threads of forward operators, and learns PyTorch's thread
 * numbers from backward operators. */
void sl_chakra_note_sequence(struct sl_chakra *c, const struct sl_event *op);
/* Returns 1 if rows[0], which is to be written next, is an autograd evaluation whose backward
 * operator has not begun. The evaluation has the sequence number of that operator. If the operator
 * is among the `count` sorted rows, copies its number. After SL_CHAKRA_CUT_NS the evaluation is
 * written without a number, and counted. */
int sl_chakra_lacks_sequence(struct sl_chakra *c, const struct sl_chakra_turn *rows, size_t count,
                             uint64_t complete_ns);
/* Returns the thread that called the backward pass in which this row begins, if that thread is
 * known and idle. */
struct sl_chakra_thread *sl_chakra_caller_of(struct sl_chakra *c, const struct sl_event *ev);

/* cpu.c */
void sl_chakra_take_row(struct sl_chakra *c, const struct sl_event *ev);
void sl_chakra_take_end(struct sl_chakra *c, const struct sl_event *ev);
/* Writes the launch of a GPU operation and returns the launch. Returns NULL if the launch is not
 * known. `free_ns` is the time at which all other parents of the operation had ended. */
const struct sl_chakra_launch *sl_chakra_launch_of(struct sl_chakra *c, const struct sl_event *op,
                                                   uint64_t free_ns);
/* Returns 1 if operations that have not arrived may still cut the call (SL_CHAKRA_CUT_NS). The
 * writer then holds the call and all rows that began later. */
int sl_chakra_may_be_cut(const struct sl_chakra *c, const struct sl_event *call,
                         uint64_t complete_ns);
/* Returns 1 if the launch is known, even if its node is not written yet. */
int sl_chakra_has_launch(const struct sl_chakra *c, uint64_t correlation);
/* Writes the thread's nodes up to `ns`, so that an operation that was launched at `ns` can depend
 * on the thread's last node. */
void sl_chakra_cut_thread(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t ns);
/* Writes the waiting calls that ended by `complete_ns`. */
void sl_chakra_settle_waits(struct sl_chakra *c, uint64_t complete_ns);
/* writes all rows of idle threads up to `ns` */
void sl_chakra_settle_idle(struct sl_chakra *c, uint64_t ns);
void sl_chakra_close_threads(struct sl_chakra *c);

/* gpu.c */
void sl_chakra_take_op(struct sl_chakra *c, const struct sl_event *ev);
/* Returns 1 if later rows may show which call launched the operation. In this case the writer holds
 * the operation and all rows that began later. */
int sl_chakra_must_wait(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns);

/* lane.c: returns the stream's entry, or NULL if the stream is not known. */
const struct sl_chakra_stream *sl_chakra_find_stream(const struct sl_chakra *c, uint32_t device,
                                                     uint32_t context, uint32_t stream);
/* Returns the entry of the stream of an operation that is being written. The entry is valid until
 * the next call of this function. */
struct sl_chakra_stream *sl_chakra_get_stream(struct sl_chakra *c, const struct sl_event *op);

/* early.c: the functions below handle operations whose call has not arrived. */
void sl_chakra_note_call(struct sl_chakra *c, const struct sl_event *call);
/* Returns 1 if the operation's call may still arrive, or may be under way when the window ends. */
int sl_chakra_is_undecided(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns);
/* Returns the thread that was in the operation's call when the window ended, or NULL if the thread
 * is not known. */
struct sl_chakra_thread *sl_chakra_unseen_caller(struct sl_chakra *c,
                                                 const struct sl_chakra_stream *s,
                                                 const struct sl_event *op);

/* comm.c */
char *sl_chakra_put_collective(char *at, const struct sl_collective *coll);
/* returns a value of Chakra's NodeType */
unsigned sl_chakra_node_type(const struct sl_collective *coll);

#endif
