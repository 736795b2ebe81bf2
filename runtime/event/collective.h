/*
 * collective.h - converts PyTorch's description of a collective to its type, bytes and ranks.
 *
 * A group's number is a hash of its ranks. Therefore every rank of a job computes the same number
 * for a group, without communication. PyTorch describes a collective in the same way to an observer
 * in a running job and in a trace of torch.profiler.
 *
 * Threads: one owner. Memory: at most `cap_bytes` plus half a MiB, in mappings of its own. When the
 * memory is full, further collectives are treated as unknown.
 */
#ifndef SL_EVENT_COLLECTIVE_H
#define SL_EVENT_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

enum sl_collective_type {
    SL_COLLECTIVE_ALL_REDUCE,
    SL_COLLECTIVE_REDUCE,
    SL_COLLECTIVE_ALL_GATHER,
    SL_COLLECTIVE_GATHER,
    SL_COLLECTIVE_SCATTER,
    SL_COLLECTIVE_BROADCAST,
    SL_COLLECTIVE_ALL_TO_ALL,
    SL_COLLECTIVE_REDUCE_SCATTER,
    SL_COLLECTIVE_BARRIER,
    SL_COLLECTIVE_SEND,
    SL_COLLECTIVE_RECV,
    /* several sends and receives in one kernel: PyTorch's batch_isend_irecv() */
    SL_COLLECTIVE_BATCH,
    SL_COLLECTIVE_TYPE_COUNT
};

struct sl_collective {
    enum sl_collective_type type;
    uint64_t bytes; /* bytes that this rank contributes; of a BATCH, bytes sent and received */
    uint32_t group; /* number of the group of ranks that takes part; 0: all ranks of the job */
    int32_t peer;   /* for SEND, the rank that receives; for RECV, the rank that sends */
    /* type of the elements, see sl_collective_dtype(); 0: not known, or several types */
    uint8_t dtype;
    uint8_t is_shared;     /* 1: several calls, or a BATCH, share the kernel */
    int64_t message_bytes; /* see sl_collective_message_bytes(); -1: not known */
};

struct sl_collectives;

/* A text that PyTorch reported. `data` is NULL if PyTorch did not report the text. */
struct sl_collective_text {
    const char *data;
    size_t size;
};

/* PyTorch's description of a collective. Numbers that were not reported are negative. Ranks are
 * numbered in the whole job. */
struct sl_collective_args {
    /* `group_ranks` is a text such as "[0, 1]" */
    struct sl_collective_text collective, dtype, group, group_ranks;
    int64_t elements, out_elements; /* numbers of input and output elements */
    int64_t rank;                   /* `Rank`: for a rooted call, the root's number in the group */
    /* `Message size`, which files of syncline have. A batch, and a call with several types of
     * elements, have no other size. */
    int64_t message_bytes;
    int64_t group_size, group_start, group_stride;
    int64_t src_rank, dst_rank;
    int is_shared; /* 1: the call shares its kernel with others */
};

/* Returns 0 or -ENOMEM. */
int sl_collectives_create(struct sl_collectives **out, size_t cap_bytes);
void sl_collectives_destroy(struct sl_collectives *c); /* accepts NULL */

/* Sets the number of ranks of the job. The group of all ranks has number 0. */
void sl_collectives_world(struct sl_collectives *c, uint64_t size);

/* Names a group; a known name is ignored. The caller then passes the group's ranks, one by one or
 * as a text, and calls sl_collectives_name_end(). */
void sl_collectives_name(struct sl_collectives *c, struct sl_collective_text name);
void sl_collectives_name_rank(struct sl_collectives *c, int64_t rank);
void sl_collectives_name_ranks(struct sl_collectives *c, struct sl_collective_text ranks);
void sl_collectives_name_end(struct sl_collectives *c);

/* Finds the type of a collective by PyTorch's name. Returns 0, or -EINVAL. */
int sl_collective_type(struct sl_collective_text collective, enum sl_collective_type *out);

/* Converts a description to *out. Returns 0, or -EINVAL if the collective's type, bytes or ranks
 * are not known. */
int sl_collectives_read(struct sl_collectives *c, const struct sl_collective_args *told,
                        struct sl_collective *out);

/* Converts and stores a collective. Returns the collective's number; equal collectives have equal
 * numbers. Returns 0 if the collective's type, bytes or ranks are not known, or if the table is
 * full. */
uint32_t sl_collectives_put(struct sl_collectives *c, const struct sl_collective_args *told);
/* Copies the collective with this number to *out. Returns 1, or 0 if there is no such collective.
 */
int sl_collectives_get(const struct sl_collectives *c, uint32_t number, struct sl_collective *out);

/* Returns the message size in bytes as nccl-tests defines it (event/message.h), from `Message size`
 * or else from the numbers of elements. A coalesced call has the sum of its tensors. Returns -1 if
 * the size is not known. */
int64_t sl_collective_message_bytes(const struct sl_collective_args *told);

/* Returns the name of the Python function for PyTorch's name of a collective. For example, returns
 * "all_gather_into_tensor" for "_allgather_base". Returns NULL if the text is not the name of a
 * collective, as "wait" and "init". */
const char *sl_collective_call(struct sl_collective_text collective);

/* Returns the root of a rooted call (broadcast, reduce, gather, scatter), numbered in the whole
 * job. Returns -1 for other calls, or if the root is not known. */
int64_t sl_collective_root(const struct sl_collective_args *told);

/* Returns PyTorch's name of a type of elements, such as "BFloat16", or "" for 0 or an unknown
 * number. */
const char *sl_collective_dtype(uint8_t dtype);
/* Returns the number of a type of elements, or 0 for an unknown name; and the size of an element of
 * this type in bytes, or 0. */
uint8_t sl_collective_dtype_number(struct sl_collective_text dtype);
unsigned sl_collective_dtype_bytes(uint8_t dtype);

/* Calls `take` for each group except for the group of all ranks. */
void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user);

/* Returns the number of stored groups, which never decreases. */
size_t sl_collectives_group_count(const struct sl_collectives *c);

#endif
