/*
 * event.h - the event type that all sources produce and all outputs consume.
 *
 * An event is plain data of one cache line. It is copied by value through rings, owns nothing, and
 * refers to texts and launch shapes by interned id (base/intern.h, event/shape.h). Those ids stay
 * valid for the life of the process.
 *
 * Times are CLOCK_REALTIME nanoseconds, CUPTI's default clock on Linux. If start_ns and end_ns are
 * both 0, CUPTI gave no time.
 */
#ifndef SL_EVENT_H
#define SL_EVENT_H

#include <stdint.h>

/* CUPTI's CUPTI_SYNCHRONIZATION_INVALID_VALUE: an event or context sync names no stream. */
#define SL_STREAM_NONE UINT32_MAX

/* `device` of an operation in a file that does not give the device */
#define SL_DEVICE_NONE UINT16_MAX

/* `end_ns` of a slice that has begun and not ended */
#define SL_END_UNKNOWN UINT64_MAX

/* Tracks that belong to no thread have a `thread` of this or more, which is above all system thread
 * ids (below 2^22). */
#define SL_ROW_FIRST 0x40000000u

/* cudaErrorNotReady, CUDA_ERROR_NOT_READY: result of a query that found work pending */
#define SL_RESULT_NOT_READY 600u

enum sl_event_kind {
    SL_EV_NONE = 0,

    /* GPU operations: device, context, stream, shape, graph, `u.op`; `name` is the kernel's mangled
     * name. One flow arrow from the launching call ends here. */
    SL_EV_KERNEL,
    SL_EV_MEMCPY, /* the shape says whether it is a copy between devices */
    SL_EV_MEMSET,
    SL_EV_GRAPH, /* CUPTI's graph-level record: one event for a whole launched graph */

    /* CPU events: `thread` is the system thread id; `u.call`. A call's `stream` is the id of an
     * interned struct sl_op_place (event/ops.h): its collective and its line of the user's code. It
     * is 0 or SL_STREAM_NONE if both are unknown. */
    SL_EV_RUNTIME,  /* cuda* */
    SL_EV_DRIVER,   /* cu* */
    SL_EV_OVERHEAD, /* CUPTI's own overhead: `name` interned; `thread`, 0 if unknown */
    /* A PyTorch operator: `u.row`, `thread`, `name`.
     *   - `context`: number of the forward thread, for an operator of autograd; else 0
     *   - `stream`: order; of two slices with equal times, the lower number is the outer slice
     *   - `shape`: id of the inputs, defined by the source. In a job it is an interned text
     *     (event/op_detail.h), which for `record_param_comms` describes the collective */
    SL_EV_CPU_OP,
    SL_EV_RANGE, /* a range of the user, with the fields of SL_EV_CPU_OP */
    /* Slices that contain others (SL_EV_CPU_OP, SL_EV_RANGE, SL_EV_NVTX_RANGE) arrive when they
     * end. A receiver that cannot wait also gets them when they begin, with SL_END_UNKNOWN. The
     * later event then has SL_EVF_BEGUN and the same number in `stream`. */

    /* NVTX: `u.note`, `thread`.
     *   - `name`, `context`: patterns (event/pattern.h); `context` is a payload, as members of an
     *     object
     *   - `correlation`, `u.note.payload`: the numbers of these two patterns
     *   - `shape`: more members, interned
     *   - `device`: enum sl_note_value, the type of `u.note.value`
     *   - `stream`: number of the range */
    SL_EV_NVTX_RANGE,      /* a range */
    SL_EV_NVTX_RANGE_MARK, /* a moment */
    /* GPU work of a range on one stream: `device`, `stream`, and the range's `name` and `shape` */
    SL_EV_NVTX_RANGE_GPU,

    /* `u.sync`; `correlation` of the waiting call */
    SL_EV_SYNC,
    /* cudaEventRecord: `u.sync.event_id`, `event_sync_id`, stream; not written by default */
    SL_EV_CUDA_EVENT,

    /* Arrow from a launch to its GPU operation, made by the assembler: start_ns and thread of the
     * call; end_ns is the operation's start; device, stream; u.flow has the operation's end.
     * SL_EVF_FLOW_FIRST marks the first arrow of a correlation id, so that their common tail is
     * written once. An operation without a time gets no arrow. */
    SL_EV_FLOW,
    /* Arrow from a forward operator to the backward operator with the same sequence number.
     * start_ns and thread are those of the forward operator, end_ns and `context` (a thread, too)
     * those of the backward operator. `correlation` is the arrow's number, from 1. */
    SL_EV_FLOW_BACK,

    /* Metadata, pushed before the first event that needs it. */
    SL_EV_META_PROCESS, /* name */
    SL_EV_META_THREAD,  /* thread, name */
    SL_EV_META_DEVICE,  /* device, name (0: none given); u.meta.index into the sl_device table */
    SL_EV_META_CONTEXT, /* device, context, name */
    SL_EV_META_STREAM,  /* device, context, stream, name (0: none given), u.meta.flags/priority */
    SL_EV_META_EVENT,   /* `correlation`: CUDA's handle of a CUDA event; name */
    SL_EV_META_NODE,    /* graph node: u.node, `shape` (enum sl_node_fact); if created, `graph` */

    /* From start_ns to end_ns (0: still open) nothing was recorded, because another profiler had
     * CUPTI. */
    SL_EV_GAP,

    /* Control events. The recorder thread pushes them, and the writer acts on them in the order of
     * the ring. */
    SL_EV_WINDOW_OPEN,  /* start_ns = opening time; u.window */
    SL_EV_WINDOW_CLOSE, /* end_ns = closing time; u.window */
    SL_EV_DELIVERED,    /* all records that ended before end_ns have arrived, or are lost
                         * (SL_EVF_RECORDS_LOST) */
    SL_EV_KINDS_ON,     /* work enqueued before start_ns was not seen */

    SL_EV_KIND_COUNT
};

/* The type of a wait (u.sync.type). Values are those of CUPTI_ActivitySynchronizationType. */
enum sl_sync_type {
    SL_SYNC_UNKNOWN = 0,
    SL_SYNC_EVENT = 1,       /* cudaEventSynchronize, cudaEventQuery */
    SL_SYNC_STREAM_WAIT = 2, /* cudaStreamWaitEvent */
    SL_SYNC_STREAM = 3,      /* cudaStreamSynchronize, blocking copies */
    SL_SYNC_CONTEXT = 4,     /* cudaDeviceSynchronize */
};

/* Facts about a graph node (u.node.id). */
enum sl_node_fact {
    SL_NODE_CREATED = 1,
    SL_NODE_IS_GRAPH,        /* the node was created and is itself a whole graph */
    SL_NODE_CLONED,          /* created as a copy of node `other` when its graph was cloned */
    SL_NODE_DEPENDS,         /* runs after node `other` */
    SL_NODE_DEPENDS_NO_MORE, /* revokes SL_NODE_DEPENDS */
    /* An operator created the node. `name` is the operator's, `other` the id of its record
     * function, `correlation` its sequence number + 1 (0: none). */
    SL_NODE_CAPTURED,
    SL_NODE_FACTS_LOST, /* facts were lost, so those before this one may be incomplete */
};

enum sl_event_flag {
    SL_EVF_FLOW_FIRST = 1 << 0,
    SL_EVF_LAUNCH = 1 << 1, /* a call that enqueues a GPU operation (set by decode from the cbid) */
    SL_EVF_NO_TIME = 1 << 2,
    SL_EVF_STILL_RUNNING = 1 << 3, /* a forced flush truncated this GPU operation: end unknown */
    /* A wait from CUPTI before 12.8, whose result is only in the call's record. Set by the decoder
     * for the assembler. */
    SL_EVF_NO_RESULT = 1 << 4,
    SL_EVF_ONLY_EDGES = 1 << 5,   /* the event is outside the window, but edges of waits in the
                                   * window need it */
    SL_EVF_RECORDS_LOST = 1 << 6, /* SL_EV_DELIVERED: records were lost since the last delivery */
    SL_EVF_BEGUN = 1 << 7, /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: an event for the beginning was emitted
                            * before */
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP, SL_EV_RANGE: any thread may end it, so it is not nested in
     * the other slices of its thread. */
    SL_EVF_ASYNC = 1 << 6,
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: truncated at the start or the end of the window */
    SL_EVF_CUT_START = 1 << 0,
    SL_EVF_CUT_END = 1 << 1,
};

/* SL_EV_NVTX_RANGE, SL_EV_NVTX_RANGE_MARK: the type of the 64 bits in `u.note.value`. */
enum sl_note_value {
    SL_NOTE_NONE,
    SL_NOTE_U64,
    SL_NOTE_I64,
    SL_NOTE_F64,
    SL_NOTE_F32,             /* the value is in the lower half */
    SL_NOTE_RECORD_FUNCTION, /* no payload, but PyTorch's id of the record function */
};

struct sl_event {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t correlation; /* 32 bits from the decoder, widened to 64 by the assembler; 0 = none */
    uint32_t name;        /* intern id; 0 = none */
    union {
        uint32_t thread; /* CPU events: system thread id */
        uint32_t graph;  /* GPU operations: CUDA graph id, 0 = not from a graph */
    };
    uint8_t kind;  /* enum sl_event_kind */
    uint8_t flags; /* enum sl_event_flag */
    uint16_t device;
    uint32_t context;
    uint32_t stream; /* CUPTI's id, which is never 0; the legacy default stream is 7, for example */
    uint32_t shape;  /* GPU operations: id in the shape table */
    union {
        struct {
            uint64_t bytes; /* copies and memsets */
            uint64_t graph_node;
        } op;
        struct {
            uint32_t cbid;   /* callback id within its domain */
            uint32_t result; /* cudaError_t or CUresult; 0 = success */
            /* the innermost operator around the call: the lower half of its record function's id,
             * also used as `External id`; 0 = none */
            uint32_t op;
            /* the innermost range of the user around the call: a pattern; its numbers are in
             * `context` and `shape`; 0 = none */
            uint32_t range;
        } call;
        struct {
            uint64_t event_sync_id; /* 0 before CUPTI 12.8 */
            uint32_t event_id;      /* 0 = none */
            uint8_t type;           /* enum sl_sync_type */
            uint8_t pad;
            uint16_t result; /* 0 = success (a query: work completed) */
        } sync;
        struct {
            uint64_t record_function; /* PyTorch's id of the record function; 0 = none */
            int64_t sequence;         /* pairs a forward and a backward operator; -1 = none */
        } row;
        struct {
            uint64_t op_end_ns;
            uint64_t reserved; /* makes all members equally large, because events are compared as
                                * bytes */
        } flow;
        struct {
            uint64_t value;
            uint64_t payload; /* the numbers of `context` */
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
