/*
 * collective.h - what PyTorch tells about a collective -> type, bytes and ranks, as Chakra has
 * them.
 *
 * Groups are numbered by a hash of their ranks, so that all ranks of a job give a group the same
 * number without asking each other. Running jobs and traces of torch.profiler's tell the same.
 *
 * Threads: one owner. Memory: at most `cap_bytes`, and half a MiB, all of it mapped; what does not
 * fit is not known.
 */
#ifndef SL_EVENT_COLLECTIVE_H
#define SL_EVENT_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "write/chakra/chakra.h"

struct sl_comms;

/* `data` NULL: not told. */
struct sl_comm_text {
    const char *data;
    size_t size;
};

/* In PyTorch's words; numbers below 0: not told. Ranks are those of the whole job. */
struct sl_comm_told {
    struct sl_comm_text collective, dtype, group, group_ranks; /* "[0, 1]" */
    int64_t elements;                                          /* that go in */
    int64_t group_size, group_start, group_stride;
    int64_t src_rank, dst_rank;
};

/* 0 or -ENOMEM. */
int sl_comms_create(struct sl_comms **out, size_t cap_bytes);
void sl_comms_destroy(struct sl_comms *c); /* NULL is fine */

/* Ranks of the job: the group of all of them has number 0. */
void sl_comms_world(struct sl_comms *c, uint64_t size);

/* The name of a group whose ranks come next, one by one or as a text, up to the end. */
void sl_comms_name(struct sl_comms *c, struct sl_comm_text name);
void sl_comms_name_rank(struct sl_comms *c, int64_t rank);
void sl_comms_name_ranks(struct sl_comms *c, struct sl_comm_text ranks);
void sl_comms_name_end(struct sl_comms *c);

/* 0 and *out; -EINVAL: it is not known what it does, to how many bytes, or among whom. */
int sl_comms_read(struct sl_comms *c, const struct sl_comm_told *told,
                  struct sl_chakra_collective *out);

/* The same kept: its number, the same for the same; 0: it is not known, or there is no room. */
uint32_t sl_comms_put(struct sl_comms *c, const struct sl_comm_told *told);
/* 1 and *out; 0: there is none. */
int sl_comms_get(const struct sl_comms *c, uint32_t number, struct sl_chakra_collective *out);

/* All groups but the one of all ranks, one by one. */
void sl_comms_groups(const struct sl_comms *c,
                     void (*take)(void *user, uint32_t number, const uint32_t *rank, size_t ranks),
                     void *user);

/* How many those are: they only become more. */
size_t sl_comms_group_count(const struct sl_comms *c);

#endif
