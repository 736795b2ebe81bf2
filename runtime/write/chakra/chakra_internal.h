/*
 * chakra_internal.h - what the files of the Chakra writer share.
 *
 *   chakra.c       files, what is held, and the order in which it goes out
 *   cpu.c   rows of threads: exclusive pieces, gaps, calls that wait, backward passes
 *   lane.c  the tables of threads and of streams
 *   caller.c  who called autograd
 *   gpu.c   GPU operations and what they follow
 *   edge.c  edges until their destination goes out, and which node a source became
 *   node.c  one node -> bytes
 *   name.c  names, made once and kept
 *   comm.c  collectives and their groups
 *   sort.c  rows in order of time
 *   early.c  operations that began before their call, by the clocks, or whose call outlasts the
 *     window
 *
 * Rows go out in order of their start; a call that waits, at its end. So a node's parents are out
 * before it: a launch starts before its operation (or it is put there), a source ends before what
 * waits for it ends. Ids count up as nodes go out, and a dependency is looked up among the nodes
 * that are out: the file can neither name a node that is not in it nor hold a cycle.
 *
 * Threads: one owner. Memory: areas mapped at creation.
 */
#ifndef SL_CHAKRA_INTERNAL_H
#define SL_CHAKRA_INTERNAL_H

#include "base/arena.h"
#include "event/device.h"
#include "write/chakra/chakra.h"
#include "write/text_cache.h"

enum {
    SL_CHAKRA_BLOCK = 128 * 1024, /* bytes handed to the sink at a time */
    SL_CHAKRA_NAME_MAX = 64 * 1024,
    SL_CHAKRA_NAMES_BYTES = 2 << 20,
    SL_CHAKRA_DEPS = 32768,                          /* of one node */
    SL_CHAKRA_MORE_MAX = 32 * 1024,                  /* what the caller adds to a node */
    SL_CHAKRA_THREADS = 8192,                        /* known at a time */
    SL_CHAKRA_THREAD_PLACES = 2 * SL_CHAKRA_THREADS, /* a power of two */
    SL_CHAKRA_DEPTH = 48,                            /* rows around a row */
    SL_CHAKRA_OPEN = 8192,                           /* rows around others, of all threads */
    SL_CHAKRA_SEQUENCES = 1 << 13,                   /* forward operators whose threads are known */
    SL_CHAKRA_FORWARD_THREADS = 4, /* that have run forward code of one sequence number */
    SL_CHAKRA_NUMBERS = 64,        /* threads by PyTorch's numbers; a power of two */
    SL_CHAKRA_VOTES = 2,           /* a number of PyTorch's is known from so many lessons on */
    SL_CHAKRA_VOTES_MAX = 4,
    SL_CHAKRA_STREAMS = 12288,       /* known at a time */
    SL_CHAKRA_STREAM_PLACES = 32768, /* a power of two */
    SL_CHAKRA_CALLED = 4096,         /* threads whose last call is known; a power of two */
    SL_CHAKRA_OPS = 1 << 15,         /* GPU operations that can still be a source; a power of two */
    SL_CHAKRA_LAUNCHES = 1 << 15,
    SL_CHAKRA_EDGE_BUCKETS = 1 << 12,
    SL_CHAKRA_GROUPS_BYTES = 1 << 20,
    /* A GPU operation may begin this long after its parents without a reason: launch latency. */
    SL_CHAKRA_DELAY_MAX_NS = 20000,
    /* What a call takes to enqueue, where nothing tells: the usual launch. */
    SL_CHAKRA_ENQUEUE_NS = 5000,
    /* A GPU operation's start may be recorded this long before its call's: the clocks of GPU and
     * CPU are matched to some microseconds (pytorch/kineto issue 1380). Much more than they are off
     * by, much less than what no clock explains. */
    SL_CHAKRA_SKEW_NS = 100000,
    /* A call that is under way when the window ends goes on for no longer than this after its
     * operation has ended: what is held for it takes memory. */
    SL_CHAKRA_OUTLAST_NS = 50000000
};

/* An edge until its destination goes out. */
struct sl_chakra_edge {
    uint64_t src_correlation, src_which, src_end_ns;
    uint64_t dst_correlation, dst_which, dst_end_ns;
    uint32_t src_device, src_context, src_stream;
    uint32_t next; /* in its bucket, index + 1 */
    uint8_t at_start, used;
};

/* A GPU operation that is out. */
struct sl_chakra_op {
    uint64_t correlation, which; /* sl_chakra_which() */
    uint64_t id : 40;            /* 0: free */
    uint64_t late_ns : 24;       /* a replay ends it that much later than recorded */
};

/* A call: the parent of the GPU operations of its correlation. */
struct sl_chakra_launch {
    uint64_t correlation;
    uint64_t id; /* 0: not out yet */
    uint64_t end_ns;
    uint32_t thread;
    uint32_t taken;
};

/* A row around the rows of its thread that come now. */
struct sl_chakra_open {
    struct sl_event row;
    struct sl_chakra_open *around; /* or, where it is free, the next one; NULL: none */
};

struct sl_chakra_thread {
    uint32_t id;
    uint32_t waits_for; /* threads that work for it while it waits: their `caller` is its id */
    uint32_t caller;    /* has_caller only */
    uint8_t has_caller;
    uint8_t depth;
    uint8_t pending;      /* `row` is not out, or not all of it */
    uint8_t named;        /* a first piece of `row` is out */
    uint64_t unseen;      /* correlation id of the call it is in to the window's end; 0: none */
    uint64_t last;        /* its last node; 0: none */
    uint64_t after;       /* what its next node follows besides; 0: nothing */
    uint64_t frontier_ns; /* its time up to here is written */
    struct sl_event row;
    struct sl_chakra_open *open; /* rows around it, `depth` of them, innermost first */
};

/* Of all threads that were forgotten: the node that ended last. Id 0: none was. */
struct sl_chakra_forgotten {
    uint64_t id, end_ns;
};

/* Which threads ran forward operators of a sequence number: each thread has its own numbers. */
struct sl_chakra_forward {
    int64_t sequence;
    uint32_t thread[SL_CHAKRA_FORWARD_THREADS]; /* oldest first */
    uint32_t threads;                           /* 0: free */
};

/* Which thread PyTorch means by a number of its own. */
struct sl_chakra_number {
    uint32_t number; /* 0: free */
    uint32_t thread;
    uint32_t votes;   /* lessons for it, less those against it */
    int64_t sequence; /* of the last lesson: all rows of one number are one lesson */
};

struct sl_chakra_stream {
    uint16_t device;
    uint8_t shared; /* several threads launched there */
    uint32_t context, stream;
    uint32_t thread;                     /* that launched there last; 0: not known */
    struct sl_chakra_op last;            /* id 0: none */
    uint64_t last_start_ns, last_end_ns; /* the end is that of a replay */
    uint64_t busy_until_ns;              /* the latest recorded end */
};

/* An operation whose call is not in, and what may have made it: held back with all behind it. */
struct sl_chakra_unseen {
    uint64_t until_ns; /* complete up to here: it goes out as it is; 0: none is held back */
    uint64_t correlation;
    uint32_t thread;
};

/* In the order of a sort: index into `held`. */
struct sl_chakra_turn {
    uint64_t key;
    uint32_t index;
};

/* Ranks of a communicator. */
struct sl_chakra_group {
    struct sl_chakra_group *next; /* older */
    uint32_t number;
    uint32_t ranks;
    uint32_t rank[];
};

/* A node in the making; its dependencies are in `dep`. */
struct sl_chakra_node {
    const struct sl_event *ev;  /* the row it stands for; NULL: a gap */
    const struct sl_text *name; /* NULL: a gap */
    int waits;                  /* ".wait" goes behind the name */
    int first;                  /* the row's first piece: it has its inputs */
    uint32_t thread;            /* CPU */
    uint64_t start_ns, end_ns;
    uint64_t delay_ns;   /* GPU */
    uint64_t overlap_ns; /* GPU: it began that much earlier, beside the one before it */
    int no_launch;       /* GPU: its call is not in the file */
    uint32_t context;    /* GPU; 0: its device's first */
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
    uint32_t device; /* that the header names; SL_DEVICE_NONE, SL_STREAM_NONE: none */

    char *block; /* SL_CHAKRA_BLOCK */
    size_t used;
    char *node; /* a node in the making */
    struct sl_text_cache names;
    char *name; /* SL_CHAKRA_NAME_MAX, twice: made, and as UTF-8 */

    struct sl_event *held;
    size_t held_count, held_max;
    int hurried;      /* what goes out does so before all that belongs before it is in */
    int ending;       /* nothing more will come */
    uint64_t last_ns; /* end of the last row that came */
    struct sl_chakra_turn *turn, *turn_spare; /* held_max each */

    struct sl_chakra_edge *edge;
    size_t edges, edges_max;
    uint32_t *edge_bucket; /* SL_CHAKRA_EDGE_BUCKETS: index + 1 */

    struct sl_chakra_op *op;         /* SL_CHAKRA_OPS */
    struct sl_chakra_launch *launch; /* SL_CHAKRA_LAUNCHES, by correlation */
    struct sl_chakra_thread *thread; /* SL_CHAKRA_THREADS, the first `threads` of them taken */
    size_t threads;
    uint16_t *thread_at; /* SL_CHAKRA_THREAD_PLACES, open addressing: index + 1 */
    struct sl_chakra_forgotten forgotten;
    struct sl_chakra_open *open, *open_free; /* SL_CHAKRA_OPEN; those given back */
    size_t opened;                           /* that were ever taken */
    struct sl_chakra_forward *forward;       /* SL_CHAKRA_SEQUENCES, by sequence number */
    struct sl_chakra_number *number;         /* SL_CHAKRA_NUMBERS, by number */
    uint64_t *called; /* SL_CHAKRA_CALLED, by thread: correlation id of the last call that came */
    struct sl_chakra_unseen unseen;
    struct sl_chakra_stream *stream; /* SL_CHAKRA_STREAMS, the first `streams` of them taken */
    size_t streams;
    uint16_t *stream_at;                   /* SL_CHAKRA_STREAM_PLACES, open addressing: index + 1 */
    uint32_t first_context[SL_DEVICE_MAX]; /* 0: none yet */

    uint64_t *dep; /* SL_CHAKRA_DEPS */
    size_t deps;

    struct sl_arena group_arena;
    struct sl_chakra_group *group; /* newest first */
};

static inline int sl_chakra_is_call(const struct sl_event *ev)
{
    return ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER;
}

static inline int sl_chakra_is_range(const struct sl_event *ev)
{
    return ev->kind == SL_EV_RANGE || ev->kind == SL_EV_NVTX_RANGE;
}

/* Operators and ranges: rows around calls. */
static inline int sl_chakra_is_outer(const struct sl_event *ev)
{
    return ev->kind == SL_EV_CPU_OP || sl_chakra_is_range(ev);
}

/* That a row ends which is known since it began: it starts and ends then. */
static inline int sl_chakra_is_end(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) && ev->flags & SL_EVF_BEGUN;
}

static inline int sl_chakra_is_cpu(const struct sl_event *ev)
{
    return sl_chakra_is_call(ev) || sl_chakra_is_outer(ev);
}

#define SL_CHAKRA_ON_STREAM (1ull << 63) /* no graph node has such an id */

/* Which of the operations that one call launched. A graph's nodes have no ids in older files of
 * torch.profiler's, and copies of a batch never: those are told apart by their streams, and of one
 * stream's the last stands for all. */
static inline uint64_t sl_chakra_which(uint64_t graph_node, uint32_t stream)
{
    return graph_node ? graph_node : SL_CHAKRA_ON_STREAM | stream;
}

/* The numbers of an SL_EV_NVTX_RANGE's name, where it is held: no correlation id, as all rows have.
 */
static inline uint64_t sl_chakra_numbers(const struct sl_event *ev)
{
    return ev->u.note.payload;
}

/* sort.c: by key, stable; the result is in the array returned, one of the two. */
struct sl_chakra_turn *sl_chakra_sort(struct sl_chakra_turn *turn, struct sl_chakra_turn *spare,
                                      size_t count);
/* By start; what belongs first of what starts together, first. */
struct sl_chakra_turn *sl_chakra_order(const struct sl_event *held, struct sl_chakra_turn *turn,
                                       struct sl_chakra_turn *spare, size_t count);

/* early.c: puts what began before its call behind it, of the rows from `at` to *count, which
 * go out, in order; returns them in that of the two arrays where they are. What must stay for a
 * call that does is taken off, and *until_ns with it: what ended by then goes out. */
struct sl_chakra_turn *sl_chakra_behind_calls(struct sl_chakra *c, struct sl_chakra_turn *turn,
                                              size_t at, size_t *count, uint64_t *until_ns);

/* Nothing that is put behind something of `ns` or later had ended by then. */
static inline uint64_t sl_chakra_before(uint64_t ns)
{
    return ns > SL_CHAKRA_SKEW_NS ? ns - SL_CHAKRA_SKEW_NS - 1 : 0;
}

/* name.c. Valid until the next call. */
const struct sl_text *sl_chakra_name(struct sl_chakra *c, const struct sl_event *ev);

/* node.c */
void sl_chakra_add_dep(struct sl_chakra *c, uint64_t id); /* of the next node; 0 is none */
uint64_t sl_chakra_put_node(struct sl_chakra *c, const struct sl_chakra_node *n); /* its id */
void sl_chakra_put_header(struct sl_chakra *c);
void sl_chakra_hand_over(struct sl_chakra *c);

/* edge.c */
int sl_chakra_waits(const struct sl_chakra *c, uint64_t correlation); /* has edges to its end */
/* All that the call waits for had ended by then, and its own operation is not among it. */
int sl_chakra_waited_by(const struct sl_chakra *c, uint64_t correlation, uint64_t start_ns);
/* Adds the sources of a destination as dependencies; *latest_ns becomes the end of the last. */
void sl_chakra_add_sources(struct sl_chakra *c, uint64_t correlation, uint64_t which, int at_start,
                           uint64_t *latest_ns);
/* End of the last of them; 0: there are none. */
uint64_t sl_chakra_sources_end(const struct sl_chakra *c, uint64_t correlation, uint64_t which,
                               int at_start);
/* It takes the place of one that its stream has run before for the same call. */
void sl_chakra_remember_op(struct sl_chakra *c, const struct sl_chakra_op *op);
void sl_chakra_sweep_edges(struct sl_chakra *c, uint64_t complete_ns);

/* lane.c */
struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id);
/* The same of one that may be new at `ns`. NULL: more are busy then than there is room for. */
struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id, uint64_t ns);

/* caller.c */
/* Of each operator: forward code, or what autograd's tells of PyTorch's numbers of threads. */
void sl_chakra_note_sequence(struct sl_chakra *c, const struct sl_event *op);
/* The thread that must have called autograd for this row to begin, if it is known and idle. */
struct sl_chakra_thread *sl_chakra_caller_of(struct sl_chakra *c, const struct sl_event *ev);

/* cpu.c */
void sl_chakra_take_row(struct sl_chakra *c, const struct sl_event *ev);
void sl_chakra_take_end(struct sl_chakra *c, const struct sl_event *ev);
/* The launch of a GPU operation, out; NULL: none known. `free_ns`: when all else that it came
 * behind had ended. */
const struct sl_chakra_launch *sl_chakra_launch_of(struct sl_chakra *c, const struct sl_event *op,
                                                   uint64_t free_ns);
int sl_chakra_has_launch(const struct sl_chakra *c, uint64_t correlation); /* perhaps not out */
/* Writes the thread's time up to there: what is launched then follows its last node. */
void sl_chakra_cut_thread(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t ns);
/* What ended by then is out. */
void sl_chakra_settle_waits(struct sl_chakra *c, uint64_t complete_ns);
void sl_chakra_settle_idle(struct sl_chakra *c, uint64_t ns); /* what threads ended by then, too */
void sl_chakra_close_threads(struct sl_chakra *c);

/* gpu.c */
void sl_chakra_take_op(struct sl_chakra *c, const struct sl_event *ev);
/* Later rows can tell who launched it: it waits for them, and so does all that began later. */
int sl_chakra_must_wait(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns);

/* lane.c. NULL: none is known. */
const struct sl_chakra_stream *sl_chakra_find_stream(const struct sl_chakra *c, uint32_t device,
                                                     uint32_t context, uint32_t stream);
/* Of an operation that goes out; valid until the next call. */
struct sl_chakra_stream *sl_chakra_get_stream(struct sl_chakra *c, const struct sl_event *op);

/* early.c: of operations whose call is not in */
void sl_chakra_note_call(struct sl_chakra *c, const struct sl_event *call);
/* Whether the thread that launched on its stream last may turn out to be in that call. */
int sl_chakra_is_undecided(struct sl_chakra *c, const struct sl_chakra_stream *s,
                           const struct sl_event *op, uint64_t complete_ns);
/* The thread that is in it to the window's end; NULL: not known. */
struct sl_chakra_thread *sl_chakra_unseen_caller(struct sl_chakra *c,
                                                 const struct sl_chakra_stream *s,
                                                 const struct sl_event *op);

/* comm.c */
int sl_chakra_has_group(const struct sl_chakra *c, uint32_t number);
char *sl_chakra_put_collective(char *at, const struct sl_collective *coll);
unsigned sl_chakra_node_type(const struct sl_collective *coll); /* Chakra's NodeType */

#endif
