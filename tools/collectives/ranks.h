/*
 * ranks.h - reads the collectives of the traces of several ranks.
 *
 * A part is what one rank did for a collective: a kernel of communication that PyTorch or NCCL
 * describes, or several with the same sequence number. In a file without kernels it is a launch
 * that NCCL describes (SYNCLINE_KINDS=collectives). Names of all files are interned in one table.
 *
 * Threads: one owner; helper threads read the file. Memory: 128 bytes for each part and call; while
 * a file is read, also 24 bytes for each kernel, 176 for each launch of a file without kernels, and
 * up to 64 MiB for the launches of kernels.
 */
#ifndef SL_COLLECTIVES_RANKS_H
#define SL_COLLECTIVES_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "args/args.h"
#include "base/intern.h"
#include "event/collective.h"
#include "read/header.h"

/* What numbers a part. */
enum sl_rank_numbering {
    SL_NUMBERED_BY_STEP,
    SL_NUMBERED_BY_SEQ,  /* PyTorch's sequence number, of the group */
    SL_NUMBERED_BY_NCCL, /* NCCL's number, of the communicator and function */
    SL_NUMBERED_BY_ORDER /* not at all: a call of PyTorch, without its kernel */
};

struct sl_rank_part {
    int64_t start_ns, end_ns; /* since the epoch, on the clock of the rank */
    int64_t launch_ns;   /* since the base of the file; the start, if the launch is not known */
    uint64_t kernel_ns;  /* length of the kernels */
    uint64_t exposed_ns; /* time of them in which no compute kernel of the device ran */
    uint64_t size;       /* nccl-tests' S, or SL_MESSAGE_UNKNOWN */
    /* By PyTorch or NCCL; else, and of send and recv, 2 n + 1 in step n, 2 n between step n and the
     * step before, and 0 in a file without steps. */
    uint64_t number;
    uint64_t comm;       /* identifies the communicator; 0: not known */
    uint32_t group;      /* index in sl_ranks.group */
    uint32_t call, line; /* intern ids; line 0: not known */
    int32_t peer;        /* of messages: the only other rank; -1: not known, or several */
    int32_t to, from;    /* of messages: the same by direction; -1 also: none */
    int32_t root;        /* -1: not known */
    int32_t self; /* of a part that only NCCL describes: this rank. `self`, `peer` and `root` are
                     then numbers in the communicator, else in the job */
    uint32_t kernels;
    uint32_t calls; /* how many calls share the kernel, as far as known */
    /* Of messages: how many this rank had sent to `peer`, and received from it, before this one. */
    uint32_t sent, received;
    uint8_t type; /* enum sl_collective_type */
    uint8_t dtype, device;
    uint8_t numbered; /* enum sl_rank_numbering */
    uint8_t func;     /* enum sl_collective_type of NCCL's function, if NCCL numbers the part */
    uint8_t is_shared : 1;  /* 1: the kernel is that of several collectives, or of a batch */
    uint8_t is_loose : 1;   /* 1: numbered by step, before the first step or after the last, where
                               ranks may have recorded different calls */
    uint8_t is_nccl : 1;    /* 1: only NCCL describes the part, so it may have been sampled */
    uint8_t is_launch : 1;  /* 1: a launch, whose kernel is not recorded. `start_ns` gives the order
                               of the launches, and the part has no other times */
    uint8_t has_launch : 1; /* 1: launch_ns is that of the launch */
    uint8_t is_open : 1;    /* 1: a call of PyTorch of which the file has no kernel, nor one of a
                               later call of its group */
};

struct sl_rank_file {
    const char *path; /* borrowed */
    struct sl_header header;
    uint32_t rank; /* index in sl_ranks.rank */
    struct sl_rank_part *part;
    size_t parts;
    /* The calls of PyTorch, except send and recv, in the order of the file. They have no kernels,
     * and start_ns is the time of the call. */
    struct sl_rank_part *call;
    size_t calls;
    int64_t end_ns; /* since the epoch: the end of the window, or of the last event */
    uint64_t undescribed, undescribed_ns; /* kernels of communication that nothing describes */
    uint64_t replays, replays_ns;         /* those of them in CUDA graphs */
    int has_replays;  /* 1: kernels of communication in CUDA graphs are described */
    int has_nccl;     /* 1: a part is described only by NCCL */
    int is_cut;       /* 1: only a part of the file was read */
    int is_recovered; /* 1: the file ends before its process did */
};

/* A group of ranks and its description, such as "default_pg"; or a communicator, if only NCCL
 * describes its collectives. */
struct sl_rank_group {
    uint64_t comm;        /* as in sl_rank_part; 0: a group of PyTorch */
    uint32_t number;      /* sl_collective.group, in the first file that has the group */
    uint32_t description; /* intern id; 0: none */
    size_t ranks;         /* number of ranks; 0: not known */
    uint32_t *rank;       /* the known ones, ascending; NULL: none */
    size_t known;         /* of a communicator, those that have a file; else all */
};

struct sl_rank {
    int64_t number; /* -1: the file does not name it */
    uint32_t host;  /* SL_CLOCKS_UNKNOWN, or an intern id */
};

struct sl_ranks {
    struct sl_intern *names;
    struct sl_rank_file *file;
    struct sl_rank *rank; /* each once, by number; those without a number are at the end */
    struct sl_rank_group *group;
    size_t files, ranks, groups, group_slots;
    uint64_t world_size; /* the largest that a file names; 0: none does */
};

/* Makes room for `files` files. Returns 0 or -ENOMEM. */
int sl_ranks_create(struct sl_ranks *all, size_t files);
void sl_ranks_free(struct sl_ranks *all);

/* Reads the file at `path` (borrowed) and adds it. Returns an exit status (args/args.h). Of a file
 * that cannot be read, nothing is added. What is wrong is said in one line on stderr. */
int sl_ranks_read(struct sl_ranks *all, const struct sl_command *command, const char *path);

/* Finds the ranks, after the last file. Returns 0 or -ENOMEM. */
int sl_ranks_end(struct sl_ranks *all);

/* Returns a name, or "" for 0. */
const char *sl_ranks_name(const struct sl_ranks *all, uint32_t id);

#endif
