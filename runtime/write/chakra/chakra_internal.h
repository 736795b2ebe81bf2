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
 *   early.c   operations whose recorded start is before their call's, or whose call outlasts the
 *             window
 *
 * A row is an event that is a slice in the trace. Rows are written in order of their start, except
 * for a call that waits, which is written at its end. So a node's parents are written before it: a
 * launch starts before its operation (or the operation is moved after it), and a source ends before
 * its waiter ends. Ids count up as nodes are written, and a dependency is looked up among the
 * written nodes. So the file can neither name a missing node nor contain a cycle.
 *
 * Threads: one owner. Memory: areas mapped at creation.
 */
#ifndef SL_CHAKRA_INTERNAL_H
#define SL_CHAKRA_INTERNAL_H

#include "event/device.h"
#include "write/chakra/chakra.h"
#include "write/text_cache.h"

enum {
    SL_CHAKRA_BLOCK = 128 * 1024, /* bytes passed to the sink at a time */
    SL_CHAKRA_NAME_MAX = 64 * 1024,
    SL_CHAKRA_NAMES_BYTES = 2 << 20,
    SL_CHAKRA_DEPS = 32768,                          /* maximum number of dependencies of a node */
    SL_CHAKRA_MORE_MAX = 32 * 1024,                  /* bytes that the caller may add to a node */
    SL_CHAKRA_THREADS = 8192,                        /* threads known at a time */
    SL_CHAKRA_THREAD_PLACES = 2 * SL_CHAKRA_THREADS, /* a power of two */
    SL_CHAKRA_DEPTH = 48,                            /* maximum number of enclosing rows of a row */
    SL_CHAKRA_OPEN = 8192,                           /* maximum number of enclosing rows, of all
                                                      * threads */
    SL_CHAKRA_SEQUENCES = 1 << 13,                   /* forward operators whose threads are known */
    SL_CHAKRA_FORWARD_THREADS = 4, /* threads that ran forward code of one sequence number */
    SL_CHAKRA_NUMBERS = 64,        /* threads by PyTorch thread number; a power of two */
    SL_CHAKRA_VOTES = 2, /* observations after which a PyTorch thread number counts as known */
    SL_CHAKRA_VOTES_MAX = 4,
    SL_CHAKRA_STREAMS = 12288,       /* streams known at a time */
    SL_CHAKRA_STREAM_PLACES = 32768, /* a power of two */
    SL_CHAKRA_CALLED = 4096,         /* threads whose last call is known; a power of two */
    SL_CHAKRA_OPS = 1 << 15,         /* GPU operations that can still be a source; a power of two */
    SL_CHAKRA_LAUNCHES = 1 << 15,
    SL_CHAKRA_EDGE_BUCKETS = 1 << 12,
    /* A GPU operation may begin this long after its parents without another reason: launch latency.
     */
    SL_CHAKRA_DELAY_MAX_NS = 20000,
    /* Assumed time that a call takes to enqueue if nothing says it: the usual launch. */
    SL_CHAKRA_ENQUEUE_NS = 5000,
    /* A GPU operation's start may be recorded up to this long before its call's, because the clocks
     * of GPU and CPU are matched only to some microseconds (pytorch/kineto issue 1380). The limit
     * is much larger than that error, and much smaller than a difference that no clock error
     * explains. */
    SL_CHAKRA_SKEW_NS = 100000,
    /* A call under way at the window's end is assumed to end at most this long after its operation,
     * because the rows held for it take memory. */
    SL_CHAKRA_OUTLAST_NS = 50000000
};

/* An edge that is held until its destination is written. */
struct sl_chakra_edge {
    uint64_t src_correlation, src_which, src_end_ns;
    uint64_t dst_correlation, dst_which, dst_end_ns;
    uint32_t src_device, src_context, src_stream;
    uint32_t next; /* next in its bucket: index + 1 */
    uint8_t at_start, used;
};

/* A written GPU operation. */
struct sl_chakra_op {
    uint64_t correlation, which; /* sl_chakra_which() */
    uint64_t id : 40;            /* 0: free */
    uint64_t late_ns : 24;       /* it ends this much later in a replay than recorded */
};

/* A launch, which is the parent of the GPU operations with its correlation id. */
struct sl_chakra_launch {
    uint64_t correlation;
    uint64_t id; /* 0: not written yet */
    uint64_t end_ns;
    uint32_t thread;
    uint32_t taken;
};

/* An open row, which encloses the next rows of its thread. */
struct sl_chakra_open {
    struct sl_event row;
    struct sl_chakra_open *around; /* the row around it, or the next free entry; NULL: none */
};

struct sl_chakra_thread {
    uint32_t id;
    uint32_t waits_for; /* how many threads work for it while it waits (their `caller` is its id) */
    uint32_t caller;    /* valid if has_caller */
    uint8_t has_caller;
    uint8_t depth;
    uint8_t pending; /* 1: `row` is not fully written */
    uint8_t named;   /* 1: the first piece of `row` is written */
    uint64_t unseen; /* correlation id of a call that has not returned at the window's end and that
                      * the thread is assumed to be in; 0: none */
    uint64_t last;   /* id of its last node; 0: none */
    uint64_t after;  /* id of another node that its next node depends on; 0: none */
    uint64_t frontier_ns; /* time up to which the thread is written */
    struct sl_event row;
    struct sl_chakra_open *open; /* its `depth` enclosing rows, innermost first */
};

/* Of all threads that were removed from the table, the node that ended last. Id 0: none. */
struct sl_chakra_forgotten {
    uint64_t id, end_ns;
};

/* The threads that ran forward operators of a sequence number. Each thread counts its own numbers.
 */
struct sl_chakra_forward {
    int64_t sequence;
    uint32_t thread[SL_CHAKRA_FORWARD_THREADS]; /* oldest first */
    uint32_t threads;                           /* 0: free */
};

/* The thread that a PyTorch thread number stands for. */
struct sl_chakra_number {
    uint32_t number; /* 0: free */
    uint32_t thread;
    uint32_t votes;   /* observations for the thread, minus those against it */
    int64_t sequence; /* sequence number of the last observation, because all rows with one number
                       * count as one */
};

struct sl_chakra_stream {
    uint8_t device;
    uint8_t shared; /* 1: several threads launched there */
    uint32_t context, stream;
    uint32_t thread;                     /* the last thread that launched there; 0: not known */
    struct sl_chakra_op last;            /* id 0: none */
    uint64_t last_start_ns, last_end_ns; /* last_end_ns is the end in a replay */
    uint64_t busy_until_ns;              /* the latest recorded end */
};

/* An operation whose call has not arrived, and the thread and call that may have launched it. The
 * operation and all later rows are held. */
struct sl_chakra_unseen {
    uint64_t until_ns; /* once rows are complete up to this time, it is written without its call; 0:
                        * none is held */
    uint64_t correlation;
    uint32_t thread;
};

/* An entry to sort: index into `held`. */
struct sl_chakra_turn {
    uint64_t key;
    uint32_t index;
};

/* The node being made; its dependencies are in `dep`. */
struct sl_chakra_node {
    const struct sl_event *ev;  /* its row; NULL: a gap */
    const struct sl_text *name; /* NULL: a gap */
    int waits;                  /* 1: ".wait" is appended to the name */
    int first;                  /* 1: the row's first piece, which has its inputs */
    uint32_t thread;            /* CPU */
    uint64_t start_ns, end_ns;
    uint64_t delay_ns;   /* GPU */
    uint64_t overlap_ns; /* GPU node: by how much it overlaps the end of the operation before it */
    int no_launch;       /* GPU node; 1: its call is not in the file */
    uint32_t context;    /* context of a GPU node; 0: the first context of its device */
    const struct sl_collective *collective; /* NULL: none, or not known */
};

struct sl_chakra {
    struct sl_chakra_options opt;
    struct sl_trace_meta meta;
    struct sl_chakra_counts count;
    void *area;
    size_t area_bytes;

    /* the open file */
    struct sl_sink *sink; /* NULL: none */
    int error;
    int header_out;
    uint64_t base_ns;
    uint32_t device; /* the device that the header names; SL_DEVICE_NONE: none */

    char *block; /* SL_CHAKRA_BLOCK */
    size_t used;
    char *node; /* the node being made */
    struct sl_text_cache names;
    char *name; /* two areas of SL_CHAKRA_NAME_MAX: the name, and the name as valid UTF-8 */

    struct sl_event *held;
    size_t held_count, held_max;
    int hurried;      /* 1: rows are written although earlier events may still arrive */
    int ending;       /* 1: no more rows will arrive */
    uint64_t last_ns; /* end of the last row that arrived */
    struct sl_chakra_turn *turn, *turn_spare; /* held_max each */

    struct sl_chakra_edge *edge;
    size_t edges, edges_max;
    uint32_t *edge_bucket; /* SL_CHAKRA_EDGE_BUCKETS: index + 1 */

    struct sl_chakra_op *op;         /* SL_CHAKRA_OPS */
    struct sl_chakra_launch *launch; /* SL_CHAKRA_LAUNCHES, by correlation */
    struct sl_chakra_thread *thread; /* SL_CHAKRA_THREADS, of which the first `threads` are used */
    size_t threads;
    uint16_t *thread_at; /* SL_CHAKRA_THREAD_PLACES, open addressing: index + 1 */
    struct sl_chakra_forgotten forgotten;
    struct sl_chakra_open *open, *open_free; /* SL_CHAKRA_OPEN; the free ones */
    size_t opened;                           /* entries used so far */
    struct sl_chakra_forward *forward;       /* SL_CHAKRA_SEQUENCES, by sequence number */
    struct sl_chakra_number *number;         /* SL_CHAKRA_NUMBERS, by number */
    uint64_t *called; /* SL_CHAKRA_CALLED, by thread: id of the last call that arrived */
    struct sl_chakra_unseen unseen;
    struct sl_chakra_stream *stream; /* SL_CHAKRA_STREAMS, of which the first `streams` are used */
    size_t streams;
    uint16_t *stream_at;                   /* SL_CHAKRA_STREAM_PLACES, open addressing: index + 1 */
    uint32_t first_context[SL_DEVICE_MAX]; /* 0: none yet */

    uint64_t *dep; /* SL_CHAKRA_DEPS */
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

/* Whether the row is an operator or a range, which may enclose calls. */
static inline int sl_chakra_is_outer(const struct sl_event *ev)
{
    return ev->kind == SL_EV_CPU_OP || sl_chakra_is_range(ev);
}

/* Whether the event is the end of a row that was already added at its begin. Then its start and end
 * are both the time of that end. */
static inline int sl_chakra_is_end(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) && ev->flags & SL_EVF_BEGUN;
}

static inline int sl_chakra_is_cpu(const struct sl_event *ev)
{
    return sl_chakra_is_call(ev) || sl_chakra_is_outer(ev);
}

#define SL_CHAKRA_ON_STREAM (1ull << 63) /* no graph node has such an id */

/* Returns a number that distinguishes the operations of one launch: a graph node's id, or the
 * stream. Older files of torch.profiler have no ids for graph nodes, and copies of a batch never
 * have any. If several such operations are on one stream, the last one stands for all. */
static inline uint64_t sl_chakra_which(uint64_t graph_node, uint32_t stream)
{
    return graph_node ? graph_node : SL_CHAKRA_ON_STREAM | stream;
}

/* The row's correlation id; 0: none. */
static inline uint64_t sl_chakra_correlation(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) ? 0 : ev->correlation;
}

/* sort.c: sorts by key (a stable sort). Returns the array with the result, which is one of the
 * two. */
struct sl_chakra_turn *sl_chakra_sort(struct sl_chakra_turn *turn, struct sl_chakra_turn *spare,
                                      size_t count);
/* Sorts by start. comes_first() in sort.c gives the order of rows that start at the same time. */
struct sl_chakra_turn *sl_chakra_order(const struct sl_event *held, struct sl_chakra_turn *turn,
                                       struct sl_chakra_turn *spare, size_t count);

/* early.c: in the sorted rows from `at` to *count, moves each operation that began before its call
 * after the call. Returns the array that has the rows. Rows that must wait for a call that is still
 * held are removed from the end, and *until_ns is lowered, so that only rows that ended by then are
 * written. */
struct sl_chakra_turn *sl_chakra_behind_calls(struct sl_chakra *c, struct sl_chakra_turn *turn,
                                              size_t at, size_t *count, uint64_t *until_ns);

/* Returns a time before `ns`. A row that is moved after another row at `ns` or later cannot have
 * ended by that time. */
static inline uint64_t sl_chakra_before(uint64_t ns)
{
    return ns > SL_CHAKRA_SKEW_NS ? ns - SL_CHAKRA_SKEW_NS - 1 : 0;
}

/* name.c. The name is valid until the next call. */
const struct sl_text *sl_chakra_name(struct sl_chakra *c, const struct sl_event *ev);

/* node.c */
void sl_chakra_add_dep(struct sl_chakra *c, uint64_t id); /* adds a dependency of the next node; id
                                                           * 0: none */
uint64_t sl_chakra_put_node(struct sl_chakra *c,
                            const struct sl_chakra_node *n); /* returns the node's id */
void sl_chakra_put_header(struct sl_chakra *c);
void sl_chakra_hand_over(struct sl_chakra *c);

/* edge.c */
int sl_chakra_waits(const struct sl_chakra *c,
                    uint64_t correlation); /* whether an edge ends at the call's end */
/* Whether all work that the call waits for had ended by `start_ns`, and the call's own operation is
 * not part of that work. */
int sl_chakra_waited_by(const struct sl_chakra *c, uint64_t correlation, uint64_t start_ns);
/* Adds the sources of a destination as dependencies. If the last source ends after *latest_ns,
 * writes its end to *latest_ns. */
void sl_chakra_add_sources(struct sl_chakra *c, uint64_t correlation, uint64_t which, int at_start,
                           uint64_t *latest_ns);
/* Returns the end of the last source, 0 if there is none. */
uint64_t sl_chakra_sources_end(const struct sl_chakra *c, uint64_t correlation, uint64_t which,
                               int at_start);
/* Stores a written operation. It replaces an earlier operation of its stream for the same call. */
void sl_chakra_remember_op(struct sl_chakra *c, const struct sl_chakra_op *op);
void sl_chakra_sweep_edges(struct sl_chakra *c, uint64_t complete_ns);

/* lane.c */
/* Returns whether the thread is in a row of this sort (`is` NULL: of any) that ends after `ns`. */
int sl_chakra_is_in(const struct sl_chakra_thread *t, uint64_t ns,
                    int (*is)(const struct sl_event *row));
struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id);
/* The same, but adds a thread that is new at `ns`. Returns NULL if the table is full of busy
 * threads. */
struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id, uint64_t ns);

/* caller.c */
/* Called for each operator. Notes the threads of forward operators, and learns PyTorch's thread
 * numbers from backward operators. */
void sl_chakra_note_sequence(struct sl_chakra *c, const struct sl_event *op);
/* Returns the thread that called the backward pass in which this row begins, if that thread is
 * known and idle. */
struct sl_chakra_thread *sl_chakra_caller_of(struct sl_chakra *c, const struct sl_event *ev);

/* cpu.c */
void sl_chakra_take_row(struct sl_chakra *c, const struct sl_event *ev);
void sl_chakra_take_end(struct sl_chakra *c, const struct sl_event *ev);
/* Writes the launch of a GPU operation and returns it, NULL if it is not known. `free_ns` is the
 * time at which all other parents of the operation had ended. */
const struct sl_chakra_launch *sl_chakra_launch_of(struct sl_chakra *c, const struct sl_event *op,
                                                   uint64_t free_ns);
int sl_chakra_has_launch(const struct sl_chakra *c,
                         uint64_t correlation); /* whether the launch is known; it may not be
                                                 * written yet */
/* Writes the thread's nodes up to `ns`, so that an operation that was launched then can depend on
 * its last node. */
void sl_chakra_cut_thread(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t ns);
/* Writes the waiting calls that ended by `complete_ns`. */
void sl_chakra_settle_waits(struct sl_chakra *c, uint64_t complete_ns);
void sl_chakra_settle_idle(struct sl_chakra *c, uint64_t ns); /* writes all rows of threads up to
                                                               * `ns` */
void sl_chakra_close_threads(struct sl_chakra *c);

/* gpu.c */
void sl_chakra_take_op(struct sl_chakra *c, const struct sl_event *ev);
/* Whether later rows may show which thread launched the operation. Then the operation is held, with
 * all rows that began later. */
int sl_chakra_must_wait(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns);

/* lane.c. Returns NULL if the stream is not known. */
const struct sl_chakra_stream *sl_chakra_find_stream(const struct sl_chakra *c, uint32_t device,
                                                     uint32_t context, uint32_t stream);
/* Returns the stream of an operation that is being written, valid until the next call. */
struct sl_chakra_stream *sl_chakra_get_stream(struct sl_chakra *c, const struct sl_event *op);

/* early.c: for operations whose call has not arrived */
void sl_chakra_note_call(struct sl_chakra *c, const struct sl_event *call);
/* Whether it may still turn out that the last thread that launched on the stream is in that
 * call. */
int sl_chakra_is_undecided(struct sl_chakra *c, const struct sl_chakra_stream *s,
                           const struct sl_event *op, uint64_t complete_ns);
/* Returns the thread that is in that call until the window's end, NULL if it is not known. */
struct sl_chakra_thread *sl_chakra_unseen_caller(struct sl_chakra *c,
                                                 const struct sl_chakra_stream *s,
                                                 const struct sl_event *op);

/* comm.c */
char *sl_chakra_put_collective(char *at, const struct sl_collective *coll);
unsigned sl_chakra_node_type(const struct sl_collective *coll); /* Chakra's NodeType */

#endif
