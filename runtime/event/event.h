/*
 * event.h - the event type that all sources produce and all outputs consume.
 *
 * An event is plain data of one cache line. It is copied by value through rings, owns nothing, and
 * refers to texts and launch shapes by interned id (base/intern.h, event/shape.h). Interned ids
 * stay valid for the life of the process.
 *
 * Each member of the struct has one meaning. Members of different kinds of event may share bytes,
 * under different names. The list of kinds below says which members a kind uses; nobody reads the
 * other members. Events are compared as bytes, so code that makes an event initialises every byte.
 *
 * Times are CLOCK_REALTIME nanoseconds, CUPTI's default clock on Linux. `start_ns == 0 && end_ns ==
 * 0` means that CUPTI gave no time, not a zero length.
 */
#ifndef SL_EVENT_H
#define SL_EVENT_H

#include <stdint.h>

/* The `stream` of a wait for an event or a context, which names no stream. The value is CUPTI's
 * CUPTI_SYNCHRONIZATION_INVALID_VALUE. */
#define SL_STREAM_NONE UINT32_MAX

/* Value of `device` if the device is unknown, or if its number is not the number of a CUDA
 * device. */
#define SL_DEVICE_NONE UINT8_MAX

/* Value of `end_ns` for a slice that has not ended yet. */
#define SL_END_UNKNOWN UINT64_MAX

/* A track that belongs to no thread has a number of at least SL_ROW_FIRST in `thread`. System
 * thread ids are below 2^22, so they never reach this value. */
#define SL_ROW_FIRST 0x40000000u

/* Result of a query that found work pending: cudaErrorNotReady or CUDA_ERROR_NOT_READY. */
#define SL_RESULT_NOT_READY 600u

enum sl_event_kind {
    SL_EV_NONE = 0,

    /* GPU operations use correlation, device, context, stream, shape, graph and `u.op`. `name` is
     * the kernel's mangled name. One flow arrow from the launching call ends at each operation. */
    SL_EV_KERNEL,
    SL_EV_MEMCPY, /* a copy; the shape says whether the copy is between two devices */
    SL_EV_MEMSET,
    SL_EV_GRAPH, /* CUPTI's graph-level record: one event for a whole launched graph */

    /* Events of CPU threads use the members thread and name. Calls also use correlation, place,
     * range_numbers and `u.call`. */
    SL_EV_RUNTIME, /* a call of the runtime API (cuda*) */
    SL_EV_DRIVER,  /* a call of the driver API (cu*) */
    /* time that CUPTI, or the driver within a call, spent; also uses correlation and
     * `u.overhead`; thread 0 means unknown */
    SL_EV_OVERHEAD,
    SL_EV_CPU_OP, /* a PyTorch operator; also forward_thread, order, inputs, `u.row` */
    SL_EV_RANGE,  /* a range of the user; the same members as SL_EV_CPU_OP */
    /* Slices that contain others (SL_EV_CPU_OP, SL_EV_RANGE, SL_EV_NVTX_RANGE) arrive when they
     * end. An output that cannot wait for the end also gets an event at the begin of the slice,
     * with SL_END_UNKNOWN. The event at the end of the slice then has SL_EVF_BEGUN and the same
     * `order`. */

    /* NVTX events use thread, payload, more, value_type and `u.note`. The name is a pattern
     * (event/pattern.h) with its numbers in name_numbers. */
    SL_EV_NVTX_RANGE,      /* a range; also order */
    SL_EV_NVTX_RANGE_MARK, /* a mark, at one moment */
    /* The GPU work of a range on one stream. Uses device and stream of the work, and thread, name,
     * name_numbers and more of the range. */
    SL_EV_NVTX_RANGE_GPU,

    /* A wait. Uses correlation (of the waiting call), device, context, stream, `u.sync`. */
    SL_EV_SYNC,
    /* A call of cudaEventRecord. Uses correlation, device, context, stream and `u.sync`, except for
     * its type and result. By default the writers do not write this kind. */
    SL_EV_CUDA_EVENT,

    /* Arrows. Events for arrows use start_ns and thread (of the slice at which the arrow starts)
     * and `u.flow`, but not end_ns. */
    /* An arrow from a launch to its GPU operation, made by the assembler. Also uses correlation,
     * and device and stream of the operation. SL_EVF_FLOW_FIRST marks the first arrow of a
     * correlation id, so that the start of all arrows of this id is written once. An operation
     * without a time gets no arrow. */
    SL_EV_FLOW,
    /* from a forward to a backward operator with the same sequence number; also uses `arrow` */
    SL_EV_FLOW_BACK,

    /* The work of a launching call and its kernel, as NCCL reports it. Pushed before the call's
     * event. Uses correlation, start_ns and end_ns (of the call), name (interned JSON members) and
     * `u.collective`. */
    SL_EV_COLLECTIVE,

    /* Metadata events. Each is pushed before the first event that needs the metadata. */
    SL_EV_META_PROCESS, /* uses name */
    SL_EV_META_THREAD,  /* uses thread, name, u.meta.pid */
    /* device, name (0 if the device has none), u.meta.index (into struct sl_device_table) */
    SL_EV_META_DEVICE,
    SL_EV_META_CONTEXT, /* uses device, context, name */
    /* device, context, stream, name (0 if the program gave none), u.meta.flags, u.meta.priority */
    SL_EV_META_STREAM,
    SL_EV_META_EVENT, /* uses event_handle, name */
    /* a fact about a graph node: fact, u.node; enum sl_node_fact lists the other members */
    SL_EV_META_NODE,

    /* A gap. From start_ns to end_ns nothing was recorded, because another profiler had CUPTI.
     * end_ns is 0 if the gap has not ended. */
    SL_EV_GAP,

    /* Control events. The recorder thread pushes these events, and the writer acts on them in the
     * order of the ring. */
    SL_EV_WINDOW_OPEN,  /* start_ns: the time at which the window opens; u.window */
    SL_EV_WINDOW_CLOSE, /* end_ns: the time at which the window closes; u.window */
    SL_EV_DELIVERED,    /* all records that ended before end_ns have arrived, or are lost
                         * (SL_EVF_RECORDS_LOST) */
    SL_EV_KINDS_ON,     /* work enqueued before start_ns was not recorded */

    SL_EV_KIND_COUNT
};

/* The type of a wait (u.sync.type). The values are the values of CUPTI_ActivitySynchronizationType.
 */
enum sl_sync_type {
    SL_SYNC_UNKNOWN = 0,
    SL_SYNC_EVENT = 1,       /* cudaEventSynchronize, cudaEventQuery */
    SL_SYNC_STREAM_WAIT = 2, /* cudaStreamWaitEvent */
    SL_SYNC_STREAM = 3,      /* cudaStreamSynchronize, blocking copies */
    SL_SYNC_CONTEXT = 4,     /* cudaDeviceSynchronize */
};

/* The cause of an SL_EV_OVERHEAD (u.overhead.type). In the types that are named
 * here, a call may have waited for the GPU. */
enum sl_overhead_type {
    SL_OVERHEAD_OTHER,
    SL_OVERHEAD_QUEUE_FULL,   /* CUPTI's COMMAND_BUFFER_FULL */
    SL_OVERHEAD_MODULE_LOAD,  /* CUPTI's RUNTIME_TRIGGERED_MODULE_LOADING */
    SL_OVERHEAD_FUNCTION_LOAD /* CUPTI's LAZY_FUNCTION_LOADING */
};

/* Facts about a graph node (`u.node.id`). */
enum sl_node_fact {
    SL_NODE_CREATED = 1,     /* created in `graph` */
    SL_NODE_IS_GRAPH,        /* created in `graph`; the node represents a whole child graph */
    SL_NODE_CLONED,          /* created as a copy of node `other` when its graph was cloned */
    SL_NODE_DEPENDS,         /* runs after node `other` */
    SL_NODE_DEPENDS_NO_MORE, /* no longer runs after node `other` */
    /* An operator created the node. `name` and `node_sequence` are the operator's name and sequence
     * number, and `other` is the id of the operator's record function. */
    SL_NODE_CAPTURED,
    SL_NODE_WORK, /* the node's work, as NCCL reports it; `name` holds interned JSON members */
    /* facts were lost, so the facts reported before this event may be incomplete */
    SL_NODE_FACTS_LOST,
};

enum sl_event_flag {
    SL_EVF_FLOW_FIRST = 1 << 0, /* SL_EV_FLOW: this is the first arrow with its correlation id */
    SL_EVF_LAUNCH = 1 << 1, /* a call that enqueues a GPU operation (set by decode from the cbid) */
    SL_EVF_NO_TIME = 1 << 2,
    /* a forced flush of CUPTI truncated this GPU operation, so its end is unknown */
    SL_EVF_STILL_RUNNING = 1 << 3,
    /* A wait from CUPTI before 12.8, whose result is only in the call's record. The decoder sets
     * this flag for the assembler. */
    SL_EVF_NO_RESULT = 1 << 4,
    SL_EVF_ONLY_EDGES = 1 << 5,   /* the event is outside the window, but edges of waits in the
                                   * window need the event */
    SL_EVF_RECORDS_LOST = 1 << 6, /* SL_EV_DELIVERED: records were lost since the last delivery */
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: an event was also emitted at the begin of this slice */
    SL_EVF_BEGUN = 1 << 7,
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP, SL_EV_RANGE: any thread may end the range or operator, so it
     * is not one of the nested slices of its thread. */
    SL_EVF_ASYNC = 1 << 8,
    /* SL_EV_NVTX_RANGE, SL_EV_CPU_OP: the slice was truncated at the start or at the end of the
     * window */
    SL_EVF_CUT_START = 1 << 9,
    SL_EVF_CUT_END = 1 << 10,
    SL_EVF_GUESSED = 1 << 11, /* SL_EV_SYNC, tools/read: no row names the awaited event record */
};

/* SL_EV_NVTX_RANGE, SL_EV_NVTX_RANGE_MARK: the type of `u.note.value`. */
enum sl_note_value {
    SL_NOTE_NONE,
    SL_NOTE_U64,
    SL_NOTE_I64,
    SL_NOTE_F64,
    SL_NOTE_F32,             /* the value is in the lower half of `u.note.value` */
    SL_NOTE_NCCL_WAITS,      /* two halves, in us: waits for the GPU and for the network */
    SL_NOTE_RECORD_FUNCTION, /* no payload, but PyTorch's id of the record function */
};

struct sl_event {
    uint64_t start_ns;
    uint64_t end_ns;
    union {
        /* correlation id; the decoder sets the low 32 bits, the assembler widens the id to 64 bits;
         * 0 = none */
        uint64_t correlation;
        uint64_t name_numbers; /* NVTX: the numbers to insert into the pattern `name` */
        uint64_t arrow;        /* SL_EV_FLOW_BACK: number of the arrow, from 1 */
        uint64_t event_handle; /* SL_EV_META_EVENT: CUDA's handle of a CUDA event */
        /* SL_EV_CPU_OP, of a collective: its number among the collectives of its group, and the
         * batch of calls with one kernel (lower half of the first call's id of the record
         * function). 0 = unknown, or none. */
        struct {
            uint32_t seq, batch;
        } comm;
        uint64_t missed;       /* SL_EV_WINDOW_OPEN: number of windows missed before this one */
        int64_t node_sequence; /* SL_NODE_CAPTURED: the operator's sequence number; -1 = none */
    };
    uint32_t name; /* intern id; 0 = the event has no name, or the name is unknown */
    union {
        uint32_t thread; /* CPU events and arrows: system thread id */
        uint32_t graph;  /* GPU operations, SL_EV_META_NODE: CUDA graph id, 0 = not from a graph */
    };
    uint8_t kind; /* enum sl_event_kind */
    union {
        uint8_t device;     /* also of SL_EV_CPU_OP, of a collective */
        uint8_t value_type; /* NVTX: enum sl_note_value */
    };
    uint16_t flags; /* enum sl_event_flag */
    union {
        uint32_t context;
        /* Calls: id of an interned struct sl_op_place (event/ops.h), which contains the collective
         * and the line of the user's code; 0 = both are unknown. */
        uint32_t place;
        /* operators of autograd: PyTorch's number of the thread that ran the forward pass;
         * otherwise 0 */
        uint32_t forward_thread;
        /* NVTX: pattern (event/pattern.h) with the JSON members of the payload; 0 = none */
        uint32_t payload;
        uint32_t around; /* tools/read: name of the range around a call */
    };
    union {
        struct {
            union {
                /* CUPTI's id of the stream; never 0, because the legacy default stream has the id 7
                 */
                uint32_t stream;
                /* Slices that contain other slices: number of the slice in the order of beginning.
                 * If two slices have equal times, the slice with the lower number is the outer
                 * slice. */
                uint32_t order;
                uint32_t around_line; /* tools/read: line of code around a call */
            };
            union {
                uint32_t shape; /* GPU operations: id in the shape table */
                /* Operators and ranges of the user: id of the inputs. The source of the event
                 * defines what the id means. In a job the id is an interned text
                 * (event/op_detail.h). For the operator `record_param_comms` the text describes the
                 * collective. */
                uint32_t inputs;
                /* NVTX: interned text with further JSON members of the payload; 0 = none */
                uint32_t more;
                uint32_t fact;        /* SL_EV_META_NODE: enum sl_node_fact */
                uint32_t around_step; /* tools/read: step around a call */
                uint32_t collective;  /* tools/read: number of a range's collective */
            };
        };
        uint64_t range_numbers; /* calls: the numbers to insert into the pattern `u.call.range` */
    };
    union {
        struct {
            uint64_t bytes; /* copies and memsets: number of bytes */
            uint64_t graph_node;
        } op;
        struct {
            uint32_t cbid;   /* callback id within its domain */
            uint32_t result; /* cudaError_t or CUresult; 0 = success */
            union {
                /* identifies the innermost operator around the call by the lower half of the id of
                 * its record function, which traces show as `External id`; 0 = none */
                uint32_t op;
                uint32_t queries; /* write/chakra: number of queries in a run */
            };
            /* name of the innermost range around the call, a pattern (event/pattern.h); 0 = none */
            uint32_t range;
        } call;
        struct {
            uint32_t type; /* enum sl_overhead_type */
            uint32_t pad[3];
        } overhead;
        struct {
            uint64_t event_sync_id; /* CUPTI's cudaEventSyncId; 0 before CUPTI 12.8 */
            uint32_t event_id;      /* CUPTI's id of the CUDA event; 0 = none */
            uint8_t type;           /* enum sl_sync_type */
            uint8_t pad;
            uint16_t result; /* 0 = success; for a query, 0 means that the work has completed */
        } sync;
        struct {
            uint64_t record_function; /* PyTorch's id of the record function; 0 = none */
            /* sequence number, which is equal for a forward operator and its backward operator; -1
             * = none */
            int64_t sequence;
        } row;
        struct {
            uint64_t head_ns; /* start of the slice to which the arrow leads */
            union {
                uint64_t op_end_ns; /* SL_EV_FLOW: time at which the GPU operation ended */
                /* SL_EV_FLOW_BACK: system id of the backward operator's thread */
                uint64_t head_thread;
            };
        } flow;
        struct {
            uint64_t value;           /* NVTX: the payload's value; `value_type` gives its type */
            uint64_t payload_numbers; /* the numbers to insert into the pattern `payload` */
        } note;
        struct {
            uint32_t flags;   /* stream: CUPTI's flag (2 non-blocking, 3 legacy default, ...) */
            int32_t priority; /* stream: the priority, or SL_PRIORITY_UNKNOWN (event/shape.h) */
            uint32_t index;   /* SL_EV_META_DEVICE: index into struct sl_device_table */
            uint32_t pid;
        } meta;
        struct {
            uint64_t id, other;
        } node;
        struct {
            uint64_t number; /* UINT64_MAX: none */
            uint32_t what;   /* enum sl_launch_what (event/launches.h) */
            uint32_t sizes;  /* as in struct sl_launch_about */
        } collective;
        struct {
            uint32_t number;          /* number of the window in the process, from 1 */
            uint8_t reason;           /* enum sl_window_reason */
            uint8_t is_requested;     /* 1: the program requested the window */
            uint8_t is_timed;         /* 1: the window was due at a time */
            uint8_t is_lead_in_short; /* 1: a stop came before the lead-in was over */
            uint64_t step;            /* the step with which the window begins; 0: none */
        } window;
    } u;
};

_Static_assert(sizeof(struct sl_event) == 64, "an event is one cache line");

/* Converts the device number in a record or a file to the `device` of an event. */
static inline uint8_t sl_event_device(uint64_t number)
{
    return number < SL_DEVICE_NONE ? (uint8_t)number : SL_DEVICE_NONE;
}

#endif
