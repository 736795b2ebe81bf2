/*
 * describe.h - the args of a kernel that runs collectives and messages.
 *
 * Pure functions; any thread.
 */
#ifndef SL_NCCL_DESCRIBE_H
#define SL_NCCL_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/nccl/plugin.h"

enum {
    SL_NCCL_TEXT_MOST = 4096, /* maximum number of bytes of the members */
};

/* The work of a kernel. */
struct sl_nccl_work {
    struct sl_nccl_event first; /* the first collective or message, with the data of its call */
    uint64_t bytes;             /* sum over the calls */
    uint32_t calls;             /* number of calls */
    uint32_t comm;              /* number of the communicator */
    uint64_t tag;               /* of the first call, given by the user; 0: none */
    uint32_t reduction;         /* of the first call, number of a text; 0: not known */
    int is_mixed;               /* 1: the functions differ */
    int is_rank_unknown;        /* 1: `comm` may be another rank's */
};

/* Writes JSON members, each with a comma before it. The number of the collective is not among them,
 * because it changes from kernel to kernel. Returns the number of bytes. The first *sizes bytes are
 * the sizes, root and peer that the program passed, which PyTorch tells in its own words. */
size_t sl_nccl_describe(char *to, const struct sl_nccl_work *w, uint32_t *sizes);

/* Writes a call as JSON members, in the form of the NVTX range that is missing around it. Returns
 * the number of bytes. */
size_t sl_nccl_describe_call(char *to, const struct sl_nccl_event *call);

/* Returns count times the size of an element, or 0 if it is not known. */
uint64_t sl_nccl_bytes(const struct sl_nccl_event *e);

/* Returns 1 if the text is one of the names. `names` ends in NULL. */
int sl_nccl_is_one_of(uint32_t text, const char *const *names);

#endif
