/*
 * sim.h - the objects of the simulated GPU, and the functions that the driver and runtime stand-ins
 * call.
 *
 * CUDA's handles are pointers to these objects: CUcontext is sim_context, CUstream and cudaStream_t
 * are sim_stream, CUfunction, CUkernel and cudaKernel_t are sim_kernel, and so on. A destroyed
 * object keeps its memory but loses its magic number, so that a stale handle causes an error
 * instead of a crash.
 *
 * Locks: sim_lock() guards everything that concerns order: streams, events, contexts, operations,
 * graphs. No thread holds this lock while a probe, a host callback or a data copy runs. The truth
 * file, the log and memory have their own locks. A thread that holds one of their locks acquires no
 * other lock.
 *
 * Results are CUDA error numbers (SIM_E_*), which are the same for driver and runtime. The result 0
 * means success.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/probe.h"

enum sim_error {
    SIM_OK = 0,
    SIM_E_VALUE = 1,
    SIM_E_MEMORY = 2,
    SIM_E_NOT_INITIALIZED = 3,
    SIM_E_CONFIGURATION = 9, /* from the runtime only; the driver returns SIM_E_VALUE */
    SIM_E_NO_DEVICE = 100,
    SIM_E_DEVICE = 101,
    SIM_E_IMAGE = 200,
    SIM_E_CONTEXT = 201,
    SIM_E_HANDLE = 400,
    SIM_E_NOT_FOUND = 500,
    SIM_E_NOT_READY = 600,
    SIM_E_PEER_ENABLED = 704,
    SIM_E_PEER_NOT_ENABLED = 705,
    SIM_E_HOST_REGISTERED = 712,
    SIM_E_HOST_NOT_REGISTERED = 713,
    SIM_E_NOT_PERMITTED = 800,
    SIM_E_NOT_SUPPORTED = 801,
    SIM_E_CAPTURE_UNSUPPORTED = 900,
    SIM_E_CAPTURE_INVALIDATED = 901,
    SIM_E_CAPTURE_UNMATCHED = 903,
    SIM_E_CAPTURE_UNJOINED = 904,
    SIM_E_CAPTURE_ISOLATION = 905,
    SIM_E_CAPTURE_IMPLICIT = 906,
    SIM_E_CAPTURED_EVENT = 907,
    SIM_E_CAPTURE_THREAD = 908,
    SIM_E_GRAPH_UPDATE = 910
};

enum {
    SIM_NONE = 0xffffffffu, /* CUPTI's id for an invalid context, stream or event */
    SIM_LEGACY_STREAM = 7,
    SIM_STREAM_NONBLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
    SIM_EVENT_NO_TIMING = 2     /* CU_EVENT_DISABLE_TIMING */
};

/* ---- operations and sets of operations (op.c) ---- */

/* The reason why an operation, or a call, has to follow another operation. sim_via_name() returns
 * the names that the truth file uses. */
enum sim_via {
    SIM_VIA_STREAM = 0, /* order within the stream */
    SIM_VIA_STREAM_WAIT,
    SIM_VIA_LEGACY,
    SIM_VIA_GRAPH
};

struct sim_link {
    struct op *op;
    enum sim_via via;
    uint64_t call; /* 64-bit correlation id of the stream-wait call; 0 unless `via` is
                      SIM_VIA_STREAM_WAIT */
};

struct sim_set {
    int n, cap;
    struct sim_link *link; /* points to `few` as long as the set is small */
    struct sim_link few[2];
};

struct sim_kernel;
struct sim_stream;
struct sim_context;
struct sim_event;
struct sim_graph;
struct sim_node;
struct sim_exec;
struct sim_capture;

/* A kernel that waits for other processes, such as the kernel of a collective. Its end does not
 * depend on this process's device alone. The struct must live as long as any work that points to
 * it. */
struct sim_remote {
    /* `begin` is called at each enqueue, in order of enqueue, and returns the state of the launch.
     * The lock is held, so `begin` must not call the simulator. */
    void *(*begin)(struct sim_remote *remote);
    /* The service thread calls `poll` repeatedly after the kernel's start (`start_ns`), until
     * `poll` returns true. Then `poll` has set *end_ns and freed the state. `poll` never blocks. */
    bool (*poll)(void *state, uint64_t start_ns, uint64_t *end_ns);
    bool kept; /* true if the work is part of a graph, which may be launched again at any time */
};

/* The work of an operation, or of a graph node. The struct is plain data that can be copied. */
enum sim_work_kind {
    SIM_WORK_KERNEL,
    SIM_WORK_COPY,
    SIM_WORK_SET,
    SIM_WORK_HOST,
    SIM_WORK_FREE, /* stream-ordered free; takes no time and has no record */
    SIM_WORK_EMPTY,
    SIM_WORK_EVENT_RECORD,
    SIM_WORK_EVENT_WAIT,
    SIM_WORK_CHILD
};

struct sim_work {
    enum sim_work_kind kind;
    uint64_t duration_ns; /* modelled duration, not yet divided by the option `scale` */
    union {
        struct {
            struct sim_kernel *kernel;
            uint32_t grid[3], block[3], cluster[3], dynamic_shared;
            uint64_t cost_ns; /* duration that the launching library estimated; 0 if it is derived
                                 from grid and block */
            struct sim_remote *remote; /* or NULL */
            void *count; /* address of an element count that the kernel sets to 0 (count.c), or NULL
                          */
            uint32_t count_bytes;
        } launch;
        struct {
            void *dst;
            const void *src;
            size_t dst_pitch, src_pitch, width, height;
            uint32_t copy_kind, src_memory, dst_memory;
            bool async, peer;
            uint32_t src_device, dst_device;
        } copy;
        struct {
            void *dst;
            size_t pitch, width, height; /* measured in elements of `size` bytes */
            uint32_t value, size, memory;
            bool async;
        } set;
        struct {
            void (*call)(void *data);
            void *data;
            /* function that cudaStreamAddCallback was called with; NULL for cudaLaunchHostFunc */
            void (*call_stream)(struct sim_stream *stream, int status, void *data);
        } host;
        void *free;
        struct sim_event *event;
        struct sim_graph *child; /* owned by the node */
    };
};

struct op {
    struct sim_op pub; /* the first member, because CUPTI sees only the sim_op */
    struct op *next;   /* links the stream's queue, or the free list */
    struct op *job_next, *settle_next;
    _Atomic(bool) announced; /* reported to CUPTI */
    struct sim_stream *lane;
    struct sim_context *context;
    uint64_t duration_ns; /* already divided by the option `scale` */
    uint64_t ready_ns;    /* latest known end of the operation's predecessors */
    uint64_t free_ns;     /* for the truth file: time from which the operation was enqueued and its
                             stream was idle */
    int blockers;         /* number of predecessors whose end is unknown */
    bool timed;           /* the operation's start and end are known and no longer change */
    int error;            /* error that the operation's end leaves in the context */
    struct waiter *waiters;
    struct sim_work *work; /* work that the service thread has to do; NULL if there is none */
    void *remote_state;    /* state that launch.remote->begin returned */
    struct sim_set behind; /* predecessors, for the truth file only */
};

/* Returns whether the operation is on this stream. The function compares stream ids, because ids
 * are never reused, but the memory of a stream is. */
static inline bool sim_op_is_on(const struct op *op, const struct sim_context *context,
                                uint32_t stream)
{
    return op->pub.stream == stream && op->context == context;
}

void *sim_keep(size_t bytes); /* zeroed memory for an object with a handle (keep.c) */
struct op *sim_op_new(void);  /* one reference, other members zero; lock held */
void sim_set_add(struct sim_set *set, struct op *op, enum sim_via via, uint64_t call);
void sim_set_merge(struct sim_set *set, const struct sim_set *from, enum sim_via via,
                   uint64_t call);
void sim_set_merge_as_is(struct sim_set *set, const struct sim_set *from);
void sim_set_merge_before(struct sim_set *set, const struct sim_set *from);
/* If `via` is NULL, the links keep their reason. */
void sim_set_merge_tail(struct sim_set *set, const struct sim_set *tail,
                        const struct sim_stream *lane, bool own, const enum sim_via *via);
void sim_set_clear(struct sim_set *set);
const char *sim_via_name(enum sim_via via);

/* ---- devices and contexts (device.c, context.c) ---- */

struct sim_context {
    uint32_t magic;
    uint32_t id, device, flags;
    bool primary;
    int retained;
    int sticky;                 /* error that every later call in the context returns, or 0 */
    struct sim_stream *legacy;  /* id 7 */
    struct sim_stream *streams; /* all streams except graph lanes, linked by ctx_next */
    struct sim_stream *fresh;   /* blocking streams with work since the last legacy operation */
    struct sim_set gone;        /* tails of destroyed blocking streams */
    uint32_t next_stream;
    uint64_t peers; /* one bit for each device whose memory this context can access */
};

int sim_context_create(uint32_t device, uint32_t flags, struct sim_context **out);
int sim_context_destroy(struct sim_context *context);
int sim_context_primary(uint32_t device, struct sim_context **out); /* created if needed */
int sim_context_primary_release(uint32_t device, bool reset);
bool sim_context_primary_active(uint32_t device, uint32_t *flags);
void sim_context_primary_flags(uint32_t device, uint32_t flags);
bool sim_context_valid(const struct sim_context *context);
/* Returns the thread's current context in *out: the top of the driver's stack, or else the primary
 * context of the device that the runtime selected. */
int sim_context_current(struct sim_context **out);
void sim_context_set(struct sim_context *context);
int sim_context_push(struct sim_context *context);
int sim_context_pop(struct sim_context **out);
int sim_context_peer(struct sim_context *context, uint32_t device, bool enable);
int sim_context_synchronize(struct sim_context *context);
int sim_context_wait_all(struct sim_context *context,
                         const char *kind); /* `kind`: free, unload...; makes no record */
int sim_device_attribute(uint32_t device, int attribute, int *value); /* CUdevice_attribute */

/* ---- the process, threads and calls (init.c, call.c) ---- */

struct sim_call {
    enum sim_domain domain;
    uint32_t cbid;
    const char *name;
    uint64_t correlation, start_ns;
    const struct sim_probe *probe;
    struct sim_call *outer;
    bool per_thread; /* a _ptsz or _ptds entry: handle 0 means the per-thread default stream */
};

struct sim_thread {
    uint32_t tid;
    struct sim_call *call;
    int device; /* the runtime's current device */
    struct sim_context *stack[16];
    int depth;
    int last_error; /* for cudaGetLastError */
    int capture_mode;
    bool in_callback, sharp_timer;
    struct sim_stream *per_thread[16]; /* per-thread default streams, by context */
};

struct sim_thread *sim_thread_self(void);
int sim_init(void); /* performs cuInit once, and loads CUDA_INJECTION64_PATH */
bool sim_ready(void);
bool sim_forked(void); /* true in the child of a process that had called cuInit */
int sim_driver_version(void);
/* Returns the probe that gets the reports of this process's actions, or NULL. */
const struct sim_probe *sim_probe_get(void);
const struct sim_probe *sim_probe_registered(void);

/* Starts a call: assigns the correlation id, takes the time stamp, calls the probe, and checks for
 * injected and sticky errors. A nonzero return value is the result of the call; the caller then
 * skips the body and passes the value to sim_call_exit(). */
int sim_call_enter(struct sim_call *call, enum sim_domain domain, uint32_t cbid, const char *name,
                   bool per_thread);
/* Starts a driver call inside a runtime call, with the same correlation id (--nested-driver). */
int sim_call_enter_nested(struct sim_call *call, uint32_t cbid, const char *name);
void sim_graph_tell_kept(void);
int sim_call_exit(struct sim_call *call, int result);
uint64_t sim_call_correlation(void); /* 64-bit id of the call in progress */

/* ---- options, clock, log, truth ---- */

uint64_t sim_option_u64(const char *name, uint64_t fallback);
double sim_option_double(const char *name, double fallback);
bool sim_option_duration(const char *text, uint64_t *ns); /* "10us", "2ms", "1.5s", "100" (ns) */
uint64_t sim_clock_scaled(uint64_t ns);
void sim_clock_sleep_until(uint64_t ns);

extern bool sim_truth_on;
struct sim_truth_wait {
    const char *kind;
    const struct sim_set *set;
    uint32_t context, stream, event;
    uint64_t sync_id; /* number of the awaited event record, or 0 */
    uint64_t start_ns, end_ns;
    int result;
};
void sim_truth_open(void);
void sim_truth_call(const struct sim_call *call, uint64_t end_ns, int result);
void sim_truth_op(const struct op *op, bool finished);
void sim_truth_wait(const struct sim_truth_wait *wait);
void sim_truth_follow(const struct sim_truth_wait *wait);
void sim_truth_event(const struct sim_event_record *ev, const struct sim_set *set);
void sim_truth_object(const struct sim_object *object);
/* Adds a line of JSON about something that only a library knows. */
void sim_truth_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_truth_flush(void);

/* True if the reports for CUPTI are also written to a file (record.c). */
extern bool sim_record_on;
extern const struct sim_probe sim_record_probe;
void sim_record_open(void);
void sim_record_flush(void);

/* ---- streams and order (stream.c, schedule.c, wait.c) ---- */

/* A list of distinct graph nodes. */
struct sim_nodes {
    struct sim_node **node;
    size_t n, cap;
};

struct sim_stream {
    uint32_t magic;
    uint32_t id, flags;
    int32_t priority;
    bool legacy, blocking, destroyed, lane; /* lane: internal stream of a graph, without a handle */
    struct sim_context *context;
    struct sim_stream *ctx_next;
    struct sim_set tail;
    uint64_t version;     /* of the legacy stream only: changes when its tail changes */
    uint64_t legacy_seen; /* version of the legacy stream that the tail already covers */
    bool fresh;
    struct sim_stream *fresh_next;
    struct op *head, **last; /* pending operations, in order */
    uint32_t queued;
    struct sim_stream *active_next, **active_prev; /* streams with a queue */
    struct sim_capture *capture;
    struct sim_nodes captured; /* predecessors of the next captured node */
};

void sim_lock(void);
void sim_unlock(void);

int sim_stream_create(struct sim_context *context, uint32_t flags, int priority,
                      struct sim_stream **out);
int sim_stream_create_legacy(struct sim_context *context);
struct sim_stream *sim_stream_lane(struct sim_context *context); /* for graphs; lock held */
int sim_stream_destroy(struct sim_stream *stream);
/* Accepts the handles 0, 1, 2 and pointers to a stream. Returns SIM_E_HANDLE for any other
 * handle. */
int sim_stream_resolve(void *handle, struct sim_stream **out);
/* Collects the predecessors of an operation enqueued now, or of a call that waits now. The caller
 * holds the lock. */
void sim_stream_collect(struct sim_stream *stream, struct sim_set *set);
/* Adds the set to the stream's tail. The caller holds the lock. */
void sim_stream_follow(struct sim_stream *stream, const struct sim_set *set, enum sim_via via,
                       uint64_t call);
void sim_stream_replace_tail(struct sim_stream *stream, struct op *op);    /* lock held */
void sim_stream_take_tail(struct sim_stream *stream, struct sim_set *set); /* empties `set` */
void sim_stream_drained(struct sim_stream *stream);                        /* lock held */

/* Enqueues work, or adds a node on a capturing stream. If `out` is not NULL, it receives the
 * operation; the caller then owns a reference. */
int sim_submit(struct sim_stream *stream, const struct sim_work *work, struct op **out);
/* Enqueues a node's work on a graph lane, after the operations of an explicit set. The caller holds
 * the lock, keeps the set, and owns a reference to the returned operation. */
struct op *sim_submit_node(struct sim_stream *lane, const struct sim_work *work,
                           const struct sim_set *behind, uint32_t graph, uint64_t node);
/* Consumes the reference to the operation. The caller must not hold the lock. */
void sim_submit_announce(struct op *op);
void sim_schedule_start(void);
void sim_schedule_stop(void);
void sim_schedule_report_unfinished(void);
/* Waits on the wall clock until the last operation of the set has ended, plus the wake-up time. */
void sim_schedule_wait(const struct sim_set *set);
bool sim_schedule_ended(const struct sim_set *set, uint64_t now_ns); /* lock held */

int sim_stream_synchronize(struct sim_stream *stream);
int sim_stream_query(struct sim_stream *stream);
int sim_stream_wait_event(struct sim_stream *stream, struct sim_event *event, unsigned flags);
int sim_wait_op(struct op *op, const char *kind); /* consumes the reference */
int sim_wait_stream(struct sim_stream *stream, const char *kind);
/* Reports the time from `start_ns` until now, which the current call spent, to CUPTI. */
void sim_tell_overhead(enum sim_overhead_kind kind, uint64_t start_ns);
int sim_host_callback(struct sim_stream *stream, const struct sim_work *work);

/* ---- events (event.c) ---- */

struct sim_event {
    uint32_t magic;
    uint32_t id, flags;
    struct sim_context *context;
    bool recorded;
    uint64_t sync_id, recorded_ns;
    uint32_t stream;
    struct sim_set set;
    struct sim_capture *capture;       /* capture in which the event was recorded */
    struct sim_nodes nodes;            /* nodes of the capture that precede the record */
    struct sim_event *next, *all_next; /* `next`: free list; `all_next`: all events ever made */
};

int sim_event_create(struct sim_context *context, uint32_t flags, struct sim_event **out);
int sim_event_destroy(struct sim_event *event);
bool sim_event_valid(const struct sim_event *event);
int sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned flags);
/* Stores the set in the event, which takes ownership of the set's links. The caller holds the lock,
 * and reports the returned record after unlocking. */
struct sim_event_record sim_event_fill(struct sim_event *event, uint32_t context, uint32_t stream,
                                       struct sim_set *set);
void sim_event_tell(const struct sim_event_record *record);
int sim_event_synchronize(struct sim_event *event);
int sim_event_query(struct sim_event *event);
int sim_event_elapsed(float *ms, struct sim_event *start, struct sim_event *end);

/* ---- kernels and modules (kernel.c, module.c) ---- */

struct sim_kernel {
    uint32_t magic;
    const char *name; /* interned for the life of the process */
    struct sim_module *module;
    struct sim_kernel *next;
    uint32_t parameters, registers, static_shared, local;
    uint32_t own_ns;           /* part of the modelled time, in ns, that differs between kernels */
    uint32_t *offsets, *sizes; /* offsets and sizes of the parameters; NULL if they are unknown */
    int spin_index;            /* parameter that holds the duration, or -1 */
    uint32_t spin_size;
    int count_parameter; /* parameter with the address of a count, or -1 */
    bool fixed;          /* an option gives the duration */
    uint64_t fixed_ns;
    int max_dynamic_shared;
    uint64_t used; /* for a kernel without a module: like `used` of sim_module */
};

struct sim_symbol {
    const char *name;
    void *address;
    size_t size;
    struct sim_symbol *next;
};

struct sim_module {
    uint32_t magic;
    struct sim_kernel *kernels;
    uint32_t kernel_count;
    bool binary; /* true if the image is not PTX text; its kernels are then not known in advance */
    uint64_t used; /* bit N: a kernel was launched in the context whose id modulo 64 is N */
    struct sim_symbol *symbols;
};

const char *sim_intern(const char *text, size_t length);
struct sim_kernel *sim_kernel_new(const char *name, size_t length);
/* Returns the kernel of this name that belongs to no module. Creates a missing kernel. */
struct sim_kernel *sim_kernel_named(const char *name);
bool sim_kernel_valid(const struct sim_kernel *kernel);
/* Fills the launch. The duration comes from an option, the spin parameter or the cost model.
 * `params` and `extra` are those of cuLaunchKernel; grid and block must be set.
 * Returns SIM_E_CONFIGURATION if no device supports the shape. */
int sim_kernel_plan(struct sim_work *work, void **params, void **extra);
int sim_kernel_fault(const struct sim_kernel *kernel); /* returns the error that --kernel-error
                                                          selects for this launch, or 0 */
int sim_module_load(const void *image, struct sim_module **out);
int sim_module_unload(struct sim_module *module);
bool sim_module_valid(const struct sim_module *module);
void sim_module_use(struct sim_stream *stream, struct sim_kernel *kernel);
struct sim_kernel *sim_module_kernel(struct sim_module *module, const char *name);
struct sim_symbol *sim_module_symbol(struct sim_module *module, const char *name);
int sim_kernel_occupancy(const struct sim_kernel *kernel, int block, size_t dynamic_shared);

/* ---- capture and graphs (capture.c, graph.c) ---- */

enum sim_capture_status {
    SIM_CAPTURE_NONE,
    SIM_CAPTURE_ACTIVE,
    SIM_CAPTURE_INVALID
};

struct sim_capture_info {
    enum sim_capture_status status;
    uint64_t id; /* this and the following members are valid only while `status` is active */
    struct sim_graph *graph;
    struct sim_node **nodes; /* predecessors of the next node; valid until the stream's next call */
    size_t count;
};

bool sim_stream_capturing(const struct sim_stream *stream);
int sim_capture_begin(struct sim_stream *stream, int mode);
int sim_capture_end(struct sim_stream *stream, struct sim_graph **out);
int sim_capture_info(struct sim_stream *stream, struct sim_capture_info *info);
int sim_capture_update(struct sim_stream *stream, struct sim_node **nodes, size_t count, bool set);
/* Called by operations that a capture forbids (allocation, synchronization). Returns 0, or the
 * error after invalidating the affected captures. If `stream` is NULL, every capture that this
 * thread may disturb is affected. */
int sim_capture_guard(struct sim_stream *stream);
int sim_capture_exchange_mode(int *mode);
/* The caller of all functions below holds the lock. An operation on the legacy stream invalidates
 * captures of blocking streams. */
int sim_capture_implicit(struct sim_stream *stream);
int sim_capture_add(struct sim_stream *stream, const struct sim_work *work);
int sim_capture_record(struct sim_stream *stream, struct sim_event *event);
int sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
void sim_capture_forget(struct sim_event *event);

int sim_graph_create(struct sim_graph **out);
int sim_graph_destroy(struct sim_graph *graph);
bool sim_graph_valid(const struct sim_graph *graph);
bool sim_node_valid(const struct sim_node *node);
int sim_graph_clone(struct sim_graph *graph, struct sim_graph **out);
struct sim_node *sim_graph_find(const struct sim_graph *clone, const struct sim_node *original);
int sim_graph_add(struct sim_graph *graph, const struct sim_work *work, struct sim_node **behind,
                  size_t count, struct sim_node **out);
int sim_graph_link(struct sim_graph *graph, struct sim_node *from, struct sim_node *to, bool add);
int sim_graph_nodes(struct sim_graph *graph, struct sim_node **out, size_t *count, bool roots);
int sim_graph_edges(struct sim_graph *graph, struct sim_node **from, struct sim_node **to,
                    size_t *count);
int sim_node_neighbours(struct sim_node *node, bool after, struct sim_node **out, size_t *count);
int sim_node_remove(struct sim_node *node);
struct sim_work *sim_node_work(struct sim_node *node);
int sim_graph_instantiate(struct sim_graph *graph, struct sim_exec **out);
int sim_exec_update(struct sim_exec *exec, struct sim_graph *graph);
int sim_exec_set(struct sim_exec *exec, struct sim_node *node, const struct sim_work *work);
int sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream);
int sim_exec_set_enabled(struct sim_exec *exec, struct sim_node *node, bool enabled);
int sim_exec_destroy(struct sim_exec *exec);

#endif
