/*
 * probe.h - the interface between the simulated GPU and its CUPTI stand-in.
 *
 * The core (libsimgpu.so) simulates devices, streams and time, and writes the truth file. The core
 * does not know CUPTI records; the CUPTI stand-in does not know how streams work. A table of
 * functions, the probe, connects the two: the stand-in libcupti registers its probe when it is
 * loaded. Without libcupti the core's pointer is NULL and nothing is reported. The core assigns
 * correlation ids (one counter per process, from SIMGPU_CORRELATION_START), so that truth and
 * records use the same ids.
 *
 * Threads: the application thread that makes a call calls api_enter, api_exit and op_*. The core's
 * service thread, or the thread that notices the end of an operation, calls op_done. The core holds
 * no lock during these calls.
 */
#ifndef SIM_PROBE_H
#define SIM_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum sim_domain {
    SIM_RUNTIME = 0,
    SIM_DRIVER = 1
};

enum sim_op_kind {
    SIM_OP_KERNEL = 1,
    SIM_OP_MEMCPY,
    SIM_OP_MEMSET,
    SIM_OP_HOST,
    SIM_OP_MARKER
};

/* One GPU operation. The core counts references: sim_op_ref(), sim_op_unref(). `start_ns` and
 * `end_ns` are set before `done` becomes 1 (with a release). All other members are set at enqueue
 * and do not change. All times are in ns of CLOCK_REALTIME. */
struct sim_op {
    _Atomic int refs;
    _Atomic int done;
    enum sim_op_kind kind;
    uint64_t id; /* unique in the process, in order of enqueue */
    uint64_t start_ns, end_ns;
    uint32_t correlation; /* low 32 bits of correlation_wide, as in CUPTI */
    uint64_t correlation_wide;
    uint32_t device, context, stream; /* CUPTI ids; the legacy default stream has id 7 */
    uint32_t graph;                   /* 0 if the operation is not part of a graph */
    uint64_t graph_node;
    uint32_t thread; /* system id of the thread that enqueued the operation */
    int32_t priority;
    /* Members of kernels. `name` is mangled and lives until the process ends. */
    const char *name;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, static_shared, dynamic_shared, local_per_thread;
    uint64_t queued_ns, submitted_ns;
    uint32_t channel, channel_type;
    /* Members of copies and memsets. Kinds, memory types and flags have the values of CUPTI's
     * enums. */
    uint32_t copy_kind, src_memory, dst_memory, flags; /* bit 0 of flags: asynchronous */
    uint64_t bytes;
    uint32_t value; /* memset */
    int is_peer;
    uint32_t src_device, src_context, dst_device, dst_context;
};

struct sim_sync {
    uint32_t type; /* CUpti_ActivitySynchronizationType */
    uint32_t correlation;
    uint32_t context, stream; /* UINT32_MAX, CUPTI's invalid id, if none */
    uint32_t event_id;
    uint64_t event_sync_id;
    uint32_t result; /* return value of the call; 600 means not ready */
    uint64_t start_ns, end_ns;
};

struct sim_event_record {
    uint32_t correlation, context, stream, event_id;
    uint64_t event_sync_id;
    uint64_t device_ns; /* time at which the GPU reached the event record; 0 if not known yet */
};

enum sim_object_kind {
    SIM_OBJ_DEVICE,
    SIM_OBJ_CONTEXT,
    SIM_OBJ_STREAM
};

struct sim_object { /* a device, context or stream was created or destroyed */
    enum sim_object_kind kind;
    int created;
    uint32_t device, context, stream;
    uint32_t null_stream; /* for a context: id of the context's legacy default stream */
    uint32_t flags;       /* stream: CUpti_ActivityStreamFlag */
    int32_t priority;
    uint32_t correlation;
};

enum sim_overhead_kind { /* CUpti_ActivityOverheadKind */
    SIM_OVERHEAD_MODULE_LOAD = 4 << 16,
    SIM_OVERHEAD_QUEUE_FULL = 6 << 16
};

enum sim_graph_what { /* CUpti_CallbackIdResource */
    SIM_NODE_CREATED = 13,
    SIM_NODE_DEPENDS = 15,
    SIM_NODE_DEPENDS_NO_MORE = 16,
    SIM_NODE_CLONED = 20
};

struct sim_graph_fact {
    enum sim_graph_what what;
    const void *graph, *original_graph;
    const void *node, *original;
    const void *dependent; /* depends on `node` */
    int type;              /* CUgraphNodeType of `node` */
};

/* In a replay: the ids of the recorded process and thread. From now on the records of the calling
 * thread contain these ids. If `thread` is 0, the records contain the ids of the calling thread
 * again. */
struct sim_guise {
    uint32_t process, thread;
};

/* In a replay: a CUPTI record from the recording, in the layout of this CUPTI version. */
struct sim_raw_record {
    const uint8_t *bytes;
    uint32_t kind, size;
    uint32_t correlation; /* 0 if unknown */
    bool has_text; /* the 8 bytes at text_offset are the address of `text`, which may be NULL */
    uint32_t text_offset;
    const char *text;
    /* Converts a nonzero time stamp of the record to CLOCK_REALTIME, because the record may use
     * another clock. */
    uint64_t (*real_time)(void *user, uint64_t stamp);
    void *user;
};

struct sim_probe {
    void (*api_enter)(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t now_ns);
    void (*api_exit)(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t start_ns,
                     uint64_t end_ns, int result);
    void (*op_enqueued)(struct sim_op *op); /* CUPTI reserves the record's bytes in a buffer now */
    void (*op_done)(struct sim_op *op);
    void (*synchronized)(const struct sim_sync *sync);
    void (*event_recorded)(const struct sim_event_record *ev);
    void (*object)(const struct sim_object *object);
    void (*graph)(const struct sim_graph_fact *fact);
    void (*overhead)(uint32_t kind, uint64_t start_ns,
                     uint64_t end_ns); /* enum sim_overhead_kind */
    void (*at_exit)(void);             /* called when the process exits */

    /* For a process that replays a recording (sim_replay_begin()). */
    void (*guise)(const struct sim_guise *guise);
    void (*raw)(const struct sim_raw_record *raw);
    void (*hand_over)(uint64_t dropped); /* end of a recorded buffer; `dropped` is the number of
                                            records that CUPTI lost */
    uint64_t (*flushes)(void);           /* returns how often the client has flushed */
};

/* libsimgpu.so exports these functions, and the stand-ins call them. */
void sim_probe_set(const struct sim_probe *probe);
void sim_op_ref(struct sim_op *op);
void sim_op_unref(struct sim_op *op);

/* CLOCK_REALTIME in ns. Modelled durations are divided by the scale, time stamps are not. */
uint64_t sim_now_ns(void);

/* Completes the operations that have ended by now: sets `done` and calls op_done. The service
 * thread calls this every millisecond. Waiting calls, queries and buffer flushes also call this
 * function, so that they need not wait for the service thread. */
void sim_progress(void);

/* sim_correlation_now() returns the 64-bit correlation counter. sim_correlation_of_thread() returns
 * the correlation id of the call in progress on this thread, or 0 if there is none. */
uint64_t sim_correlation_now(void);
uint32_t sim_correlation_of_thread(void);

/* Logs the simulator's own actions that must not count as faults of syncline. Each action becomes
 * one line of JSON in the file that SIMGPU_LOG names
 * ({"what":"dropped","kind":"kernel","correlation":5} ...). */
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the value of an option, an environment variable SIMGPU_NAME that tests/simgpu/run sets.
 * `name` has no prefix. Returns NULL if the option is not set. */
const char *sim_option(const char *name);

/* Returns a random number in [0, 1) that depends only on (seed, point, key). The key is the
 * correlation id of the call or record concerned, so that a run can be repeated. */
double sim_random(const char *point, uint64_t key);

/* Fault injection, called at the entry of every stand-in function. Returns 0, or the error code
 * that the function must return. With SIMGPU_FAIL="F:N:CODE,..." the N-th call of the function F
 * fails with CODE; if N is 0, every call of F fails. */
int sim_fail(const char *function);

/*
 * Replay. A process that replays a recording calls sim_replay_begin() before cuInit. After this
 * call CUPTI gets no reports of the process's own calls and operations. `devices` (borrowed) are
 * the devices that CUDA reports. If there are none, CUDA reports the default devices.
 */
struct sim_device_info;
void sim_replay_begin(const struct sim_device_info *devices, uint32_t count);
bool sim_replaying(void);
const struct sim_device_info *sim_replay_devices(uint32_t *count);
/* Returns the probe of the client's CUPTI, which receives the recorded reports, or NULL if no CUPTI
 * is loaded. */
const struct sim_probe *sim_replay_probe(void);
/* Returns an empty operation, or NULL if memory is exhausted. The caller holds the only
 * reference. */
struct sim_op *sim_replay_op(void);

/* Device facts for DEVICE records and cudaGetDeviceProperties. */
struct sim_device_info {
    char name[256];
    uint8_t uuid[16];
    uint32_t major, minor, multiprocessors;
    uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm, max_warps_per_sm;
    uint32_t max_registers_per_block, max_registers_per_sm;
    uint32_t max_shared_per_block, max_shared_per_sm, warp_size;
    uint32_t core_clock_khz, memory_clock_khz, bus_width, l2_bytes;
    uint64_t memory_bytes, memory_bandwidth_kbps;
};
uint32_t sim_device_count(void);
const struct sim_device_info *sim_device_info(uint32_t device);

/* Map CUDA handles to CUPTI ids. Return 0, or -1 for an unknown handle. A NULL context means the
 * calling thread's current context; `stream` accepts the special CUDA values (NULL, 1, 2). */
int sim_context_id(const void *context, uint32_t *id, uint32_t *device);
int sim_stream_id(const void *context, const void *stream, int per_thread, uint32_t *id);
int sim_graph_id(const void *graph_or_exec, uint32_t *id);
int sim_graph_node_id(const void *node, uint64_t *id);

#endif
