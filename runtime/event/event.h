/*
 * event.h - the one normalised event.
 *
 * Everything that is collected becomes one of these, and everything that is written is made from
 * them. The type is plain data of one cache line: it is copied by value through rings, owns
 * nothing, and refers to text and launch shapes by interned id (see base/intern.h, event/shape.h),
 * which stay valid for the life of the process.
 *
 * Times are CLOCK_REALTIME nanoseconds, CUPTI's default clock on Linux. `start_ns == 0 &&
 * end_ns == 0` means that CUPTI gave no time, not a zero length.
 */
#ifndef SL_EVENT_H
#define SL_EVENT_H

#include <stdint.h>

/* CUPTI's CUPTI_SYNCHRONIZATION_INVALID_VALUE: an event or context sync names no stream. */
#define SL_STREAM_NONE UINT32_MAX

/* `device` of an operation in a file that does not tell it. */
#define SL_DEVICE_NONE UINT16_MAX

/* `end_ns` of a row that has begun. */
#define SL_END_UNKNOWN UINT64_MAX

/* `thread` of rows that are no thread's: above all system thread ids, which are below 2^22. */
#define SL_ROW_FIRST 0x40000000u

/* cudaErrorNotReady, CUDA_ERROR_NOT_READY: what a query of unfinished work returns. */
#define SL_RESULT_NOT_READY 600u

enum sl_event_kind {
    SL_EV_NONE = 0,

    /* GPU operations: device, context, stream, shape, graph; `name` is the kernel's (mangled)
     * name. `u.op`. One flow arrow from the launching call ends here. */
    SL_EV_KERNEL,
    SL_EV_MEMCPY, /* peer copies too: shape tells */
    SL_EV_MEMSET,
    SL_EV_GRAPH, /* CUPTI's graph-level record: one row for a whole launched graph */

    /* CPU rows: `thread` is the system thread id, `u.call`. A call's `stream` is the id of an
     * interned struct sl_op_place (event/ops.h): which collective it is part of, and which line of
     * the user's made it; 0 or SL_STREAM_NONE: neither is known. */
    SL_EV_RUNTIME,  /* cuda* */
    SL_EV_DRIVER,   /* cu* */
    SL_EV_OVERHEAD, /* CUPTI's own cost: `name` interned, `thread` where known (else 0) */
    SL_EV_CPU_OP,   /* an operator of PyTorch's: `u.row`, `thread`, `name`; `context`: the forward
                     * thread's number if it is autograd's, else 0; `stream`: of two rows with the
                     * same times the lower is the outer one; `shape`: id of its inputs, as the
                     * maker has it: in a job an interned text (event/op_detail.h), which for
                     * `record_param_comms` says what the collective is about */
    SL_EV_RANGE,    /* a user's range: the same */
    /* Rows around others, these and SL_EV_NVTX_RANGE, come when they end; who cannot wait for that
     * is told of them when they begin, too: with SL_END_UNKNOWN, and SL_EVF_BEGUN on the row that
     * comes later, by which both have the same number in `stream`. */

    /* NVTX: `u.note`, `thread`; `name` and `context` (members of an object: a payload) are patterns
     * (event/pattern.h), their numbers stand in `correlation` and `u.note.payload`; `shape`: more
     * members, interned; `device`: enum sl_note_value of `u.note.value`; `stream`: its number. */
    SL_EV_NVTX_RANGE,      /* a range */
    SL_EV_NVTX_RANGE_MARK, /* a moment */
    SL_EV_NVTX_RANGE_GPU,  /* what was launched in a range on one stream: `device`, `stream`; the
                            * same  `name` and `shape` */

    /* `u.sync`; correlation is that of the waiting call */
    SL_EV_SYNC,
    /* a cudaEventRecord: `u.sync.event_id`, `event_sync_id`, stream; not written by default */
    SL_EV_CUDA_EVENT,

    /* Launch -> GPU operation: start_ns = the call's start, thread = the call's thread;
     * end_ns = the GPU operation's start; device, stream; made by assemble. SL_EVF_FLOW_FIRST on
     * the first of a correlation id, so that the arrow's tail is written once. None to an
     * operation without a time. u.flow: the operation's end. */
    SL_EV_FLOW,
    /* Forward operator -> the backward one of the same sequence number: start_ns and thread are
     * those of the forward operator's row, end_ns and `context` (a thread too) of the backward
     * one's; correlation: a number of its own, counted from 1. */
    SL_EV_FLOW_BACK,

    /* Things seen for the first time, told to the writer before the first row that needs them. */
    SL_EV_META_PROCESS, /* name */
    SL_EV_META_THREAD,  /* thread, name */
    SL_EV_META_DEVICE,  /* device, name (0: none given); u.meta.index into sl_device table */
    SL_EV_META_CONTEXT, /* device, context, name */
    SL_EV_META_STREAM,  /* device, context, stream, name (0: none given), u.meta.flags/priority */
    SL_EV_META_EVENT,   /* correlation: CUDA's handle of an event; name */
    SL_EV_META_NODE,    /* of a graph that is being built: `shape`: enum sl_node_fact; u.node; made:
                         * `graph` */

    /* From start_ns to end_ns (0: until further notice) nothing was recorded: another profiler had
     * CUPTI. */
    SL_EV_GAP,

    /* In-band control, pushed by the collector thread, obeyed by the writer in this order. */
    SL_EV_WINDOW_OPEN,  /* start_ns = opening time; u.window */
    SL_EV_WINDOW_CLOSE, /* end_ns = closing time; u.window */
    SL_EV_DELIVERED,    /* all that ended before end_ns is in, unless SL_EVF_RECORDS_LOST */
    SL_EV_KINDS_ON,     /* what was enqueued before start_ns was not seen */

    SL_EV_KIND_COUNT
};

/* CUPTI_ActivitySynchronizationType's meaning in our words (u.sync.type). */
enum sl_sync_type {
    SL_SYNC_UNKNOWN = 0,
    SL_SYNC_EVENT = 1,       /* cudaEventSynchronize, cudaEventQuery */
    SL_SYNC_STREAM_WAIT = 2, /* cudaStreamWaitEvent */
    SL_SYNC_STREAM = 3,      /* cudaStreamSynchronize, blocking copies */
    SL_SYNC_CONTEXT = 4,     /* cudaDeviceSynchronize */
};

/* What is told of a graph's node (u.node.id). */
enum sl_node_fact {
    SL_NODE_CREATED = 1,
    SL_NODE_IS_GRAPH,        /* created, and a whole graph itself */
    SL_NODE_CLONED,          /* as a copy of `other`, when its graph was */
    SL_NODE_DEPENDS,         /* comes behind `other` */
    SL_NODE_DEPENDS_NO_MORE, /* the same taken back */
    SL_NODE_CAPTURED,        /* made in an operator: `name`; `other`: its record function's id;
                              * `correlation`: its sequence number + 1, 0: it has none */
    SL_NODE_FACTS_LOST,      /* no node: what was told before may not be all */
};

enum sl_event_flag {
    SL_EVF_FLOW_FIRST = 1 << 0,
    SL_EVF_LAUNCH = 1 << 1, /* call that enqueues a GPU operation (set by decode from the cbid) */
    SL_EVF_NO_TIME = 1 << 2,
    SL_EVF_STILL_RUNNING = 1 << 3, /* GPU operation cut by a forced flush: end unknown */
    SL_EVF_NO_RESULT = 1 << 4,  /* wait from a CUPTI below 12.8: its call's row has the result. From
                                   decode to assemble only */
    SL_EVF_ONLY_EDGES = 1 << 5, /* no row of the window: for what orders the window's waits */
    SL_EVF_RECORDS_LOST = 1 << 6, /* SL_EV_DELIVERED: some records since the last one were lost */
    SL_EVF_BEGUN = 1 << 7,        /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: its beginning was told */
    SL_EVF_ASYNC = 1 << 6, /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP, SL_EV_RANGE: any thread may end it, so
                              it is none of its thread's nested ones */
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: began before the window, or ended after it */
    SL_EVF_CUT_START = 1 << 0,
    SL_EVF_CUT_END = 1 << 1,
};

/* SL_EV_NVTX_RANGE, SL_EV_NVTX_RANGE_MARK: what the 64 bits of `u.note.value` are. */
enum sl_note_value {
    SL_NOTE_NONE,
    SL_NOTE_U64,
    SL_NOTE_I64,
    SL_NOTE_F64,
    SL_NOTE_F32,             /* the lower half */
    SL_NOTE_RECORD_FUNCTION, /* no payload: PyTorch's id of it */
};

struct sl_event {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t correlation; /* low 32 bits as decoded; widened to 64 by assemble; 0 = none */
    uint32_t name;        /* intern id; 0 = none */
    union {
        uint32_t thread; /* CPU rows: system thread id */
        uint32_t graph;  /* GPU operations: CUDA graph id, 0 = not from a graph */
    };
    uint8_t kind;  /* enum sl_event_kind */
    uint8_t flags; /* enum sl_event_flag */
    uint16_t device;
    uint32_t context;
    uint32_t stream; /* CUPTI's id: the legacy default stream is 7, say, never 0 */
    uint32_t shape;  /* GPU operations: id in the shape table */
    union {
        struct {
            uint64_t bytes; /* copies and memsets */
            uint64_t graph_node;
        } op;
        struct {
            uint32_t cbid;   /* callback id within its domain */
            uint32_t result; /* cudaError_t or CUresult; 0 = success */
            uint32_t op;     /* the innermost operator around it: the lower half of its record
                              * function's id, which serves as `External id`; 0 = none */
            uint32_t range; /* the innermost range of the user's around it: a pattern, whose numbers
                             * stand in `context` and `shape`; 0 = none */
        } call;
        struct {
            uint64_t event_sync_id; /* 0 below CUPTI 12.8 */
            uint32_t event_id;      /* 0 = none */
            uint8_t type;           /* enum sl_sync_type */
            uint8_t pad;
            uint16_t result; /* 0 = success (a query: ready) */
        } sync;
        struct {
            uint64_t record_function; /* PyTorch's id of it; 0 = none */
            int64_t sequence;         /* that a forward operator shares with its backward one; -1 =
                                         none */
        } row;
        struct {
            uint64_t op_end_ns;
            uint64_t reserved; /* all members are of one size: events are compared as bytes */
        } flow;
        struct {
            uint64_t value;
            uint64_t payload; /* numbers of `context` */
        } note;
        struct {
            uint32_t flags;   /* stream: CUPTI's flag (2 non-blocking, 3 legacy default, ...) */
            int32_t priority; /* stream; SL_PRIORITY_UNKNOWN (event/shape.h) */
            uint32_t index;   /* device: index into the device table */
            uint32_t pid;
        } meta;
        struct {
            uint64_t id, other;
        } node;
        struct {
            uint32_t number; /* counts from 1 in a process */
            uint32_t reason; /* enum sl_window_reason */
            uint64_t reserved;
        } window;
    } u;
};

_Static_assert(sizeof(struct sl_event) == 64, "an event is one cache line");

#endif
