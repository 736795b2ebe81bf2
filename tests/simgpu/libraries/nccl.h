/*
 * nccl.h - shared by the files of the NCCL stand-in.
 *
 * - nccl.c: NCCL's functions for communicators, groups and collectives, which create tasks
 * - nccl_task.c: launches one kernel for the tasks of a group; the kernel waits for the other ranks
 * - nccl_shared.c: the memory that ranks share, and the waits of ranks during set-up
 * - nccl_reduce.c: sums and other reductions of NCCL data types
 * - nccl_plugin.c: loads a profiler plugin and sends it NCCL's events
 * - nccl_nvtx.c: NCCL's NVTX ranges
 * - nccl_copies.c: collectives that copy engines run
 *
 * A communicator is a file that all its ranks map. In this file, each rank and each pair of ranks
 * has counters and an area for data. Collectives are numbered. A rank sets "arrived" to n when it
 * has copied its input of collective n to its area. The rank sets "done" to n when it has read the
 * inputs of all other ranks. A rank is a process, or a device of a process with several devices.
 */
#ifndef SIM_NCCL_H
#define SIM_NCCL_H

#include <stdatomic.h>

#include "libraries/library.h"

enum sim_nccl_result {
    NCCL_SUCCESS = 0,
    NCCL_CUDA_ERROR = 1,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5
};

enum {
    SIM_NCCL_RANKS = 64 /* highest number of ranks of a communicator */
};

enum sim_nccl_type {
    NCCL_INT8,
    NCCL_UINT8,
    NCCL_INT32,
    NCCL_UINT32,
    NCCL_INT64,
    NCCL_UINT64,
    NCCL_FLOAT16,
    NCCL_FLOAT32,
    NCCL_FLOAT64,
    NCCL_BFLOAT16,
    NCCL_FLOAT8_E4M3,
    NCCL_FLOAT8_E5M2,
    NCCL_TYPES
};

enum sim_nccl_operator {
    NCCL_SUM,
    NCCL_PROD,
    NCCL_MAX,
    NCCL_MIN,
    NCCL_AVG,
    NCCL_OPERATORS /* first number of the operators that ncclRedOpCreatePreMulSum creates */
};

struct sim_nccl_id { /* ncclUniqueId */
    char path[128];
};

/* ---- memory shared by the ranks (nccl_shared.c) ---- */

struct sim_nccl_rank {                           /* one per rank, written by the rank itself */
    _Alignas(64) _Atomic uint64_t arrived, done; /* numbers of collectives; see above */
    uint64_t start_ns;                           /* start of the collective `arrived` */
    _Atomic uint64_t splits, splits_read;        /* numbers of ncclCommSplit calls */
    int color, key;
};

struct sim_nccl_pair {                            /* the messages of one rank to another */
    _Alignas(64) _Atomic uint64_t sent, received; /* numbers of messages */
    uint64_t send_ns, receive_ns;
};

struct sim_nccl_shared {
    _Atomic int attached;
    struct sim_nccl_rank rank[];
};

struct sim_nccl_comm {
    atomic_int refs; /* number of references: one of the program, one per pending kernel */
    atomic_bool aborted;
    int ranks, rank, device;
    bool is_nonblocking; /* true: a thread of NCCL's launches the kernels */
    struct sim_nccl_shared *shared;
    size_t bytes;
    struct sim_nccl_id id;
    uint64_t collectives, splits; /* numbers of collectives and splits that this rank has begun */
    uint64_t *sent, *received;    /* numbers of messages that this rank has begun, by peer */
    /* for a profiler plugin: the plugin's context; numbers of collectives by verb, counted without
     * a plugin, too; whether the plugin knows the communicator */
    void *context;
    uint64_t hash, numbers[10], copies;
    bool told;
};

int sim_nccl_new_id(struct sim_nccl_id *id);
int sim_nccl_attach(const struct sim_nccl_id *id, int ranks, int rank, struct sim_nccl_comm **out);
void sim_nccl_hold(struct sim_nccl_comm *comm);
void sim_nccl_release(struct sim_nccl_comm *comm);
struct sim_nccl_pair *sim_nccl_pair(const struct sim_nccl_comm *comm, int from, int to);
char *sim_nccl_data(const struct sim_nccl_comm *comm, int rank);
char *sim_nccl_pair_data(const struct sim_nccl_comm *comm, int from, int to);
size_t sim_nccl_room(bool pair); /* size of the data area of a rank or pair, in bytes */
/* For ncclCommSplit. Waits for all ranks. The ranks with the same color, in order of key, form the
 * new communicator. Stores their number in *ranks and the calling rank's new number in *rank. */
int sim_nccl_split(struct sim_nccl_comm *comm, int color, int key, int *ranks, int *rank,
                   struct sim_nccl_id *id);

/* ---- tasks (nccl_task.c) ---- */

enum sim_nccl_verb {
    NCCL_ALL_REDUCE,
    NCCL_BROADCAST,
    NCCL_REDUCE,
    NCCL_ALL_GATHER,
    NCCL_REDUCE_SCATTER,
    NCCL_ALL_TO_ALL,
    NCCL_SEND,
    NCCL_RECEIVE,
    NCCL_GATHER,
    NCCL_SCATTER
};

struct sim_nccl_task {
    enum sim_nccl_verb verb;
    const void *in;
    void *out;
    size_t count; /* number of elements, as in the NCCL call */
    enum sim_nccl_type type;
    int op, peer;  /* `peer` is the root, source or destination rank */
    double factor; /* the factor of an operator of ncclRedOpCreatePreMulSum */
    /* the profiler plugin's handle of the call, or an array of the handles of the messages that
     * the call consists of */
    union {
        void *call, **calls;
    };
    uint64_t number;
    bool is_copied; /* true if copy engines run the collective */
    uint64_t tag;   /* the user's tag; 0: none */
};

/* Launches one kernel on the stream for the tasks, which are copied. Returns 0 or an
 * sim_nccl_result. */
int sim_nccl_launch(struct sim_nccl_comm *comm, void *stream, const struct sim_nccl_task *tasks,
                    int count);

/* Writes a line of the truth. The operations' correlation ids are above `before` and at most
 * `after`. */
void sim_nccl_truth(const struct sim_nccl_comm *comm, const struct sim_nccl_task *tasks, int count,
                    uint64_t before, uint64_t after);

/* ---- copy engines (nccl_copies.c) ---- */

bool sim_nccl_is_copied(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task);
int sim_nccl_copy(struct sim_nccl_comm *comm, void *stream, const struct sim_nccl_task *task);

/* ---- a profiler plugin (nccl_plugin.c) ---- */

bool sim_nccl_is_captured(void *stream);
int sim_nccl_version(void); /* such as 22809 */
void sim_nccl_plugin_attach(struct sim_nccl_comm *comm);
void sim_nccl_plugin_detach(struct sim_nccl_comm *comm);
/* Reports a call, and stores its handle and number in the task. `depth`: open ncclGroupStart() */
void sim_nccl_tell_call(struct sim_nccl_comm *comm, struct sim_nccl_task *task, void *stream,
                        int depth);
/* Call before the launch of a kernel. Returns the plugin's handle of the launch. */
void *sim_nccl_tell_launch(const struct sim_nccl_comm *comm, const struct sim_nccl_task *tasks,
                           int count, void *stream);
void sim_nccl_tell_launched(const struct sim_nccl_comm *comm, void *launch, void *stream,
                            const struct sim_nccl_task *tasks, int count, unsigned channels);
/* The calling thread's group, for a thread that launches for another thread. */
void *sim_nccl_group(void);
void sim_nccl_set_group(void *group);
void *sim_nccl_tell_copies(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                           void *stream);
void sim_nccl_tell_copied(const struct sim_nccl_comm *comm, void *copies);
void sim_nccl_tell_group_end(void);

/* ---- NVTX (nccl_nvtx.c): begin a range; end the last range that began ---- */

void sim_nccl_range_call(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task);
void sim_nccl_range_group(bool is_end);
void sim_nccl_range_end(void);

/* ---- arithmetic (nccl_reduce.c) ---- */

size_t sim_nccl_size(enum sim_nccl_type type);
/* Returns the name of the type in NCCL's kernel names. */
const char *sim_nccl_type_name(enum sim_nccl_type type);
/* Computes out = in[0] op in[1] ... op in[n-1] for each element, in this order on every rank. */
void sim_nccl_reduce(void *out, const char *const *in, int n, size_t count, enum sim_nccl_type type,
                     int op, double factor);

#endif
