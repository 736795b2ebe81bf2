/*
 * header.h - reads a trace's own description: rank, host, base time, writer, losses.
 *
 * Threads: plain data of one owner. Memory: none beyond the struct.
 */
#ifndef SL_HEADER_H
#define SL_HEADER_H

#include <stdint.h>

#include "read/json_event.h"

#define SL_HEADER_COUNTERS 64
#define SL_HEADER_DEVICES  64

struct sl_header_counter {
    char name[48];
    uint64_t value;
};

struct sl_header {
    int own_file;  /* not 0 if syncline wrote the file */
    int has_edges; /* not 0 if the file has a row for each edge */
    char version[32], host[128], job[128];
    char run[65];         /* id of the run of the job; "" if there is none */
    int64_t run_start_ns; /* start of the run on this rank, in ns since the epoch; 0: not known */
    int64_t local_world_size; /* ranks of the job on each node; 0: not known, or all are on one */
    uint64_t nccl_sample;     /* N: NCCL described every N-th collective; 0: each */
    int has_rank, has_world_size, has_base, has_window;
    int64_t rank, world_size;
    int64_t base_ns;              /* baseTimeNanoseconds of the file: all times are relative to it,
                                     in ns since the epoch */
    int64_t opened_ns, closed_ns; /* start and end of the recording window, in ns since the epoch */
    int is_cut; /* not 0: `syncline convert --steps` cut the file out of another one, whose counters
                   the file has */
    int64_t first_step, last_step; /* of such a file */
    int rank_findable;             /* not 0 if HTA's regular expression finds the rank */
    struct sl_header_counter counter[SL_HEADER_COUNTERS];
    unsigned counters;
    struct {
        int64_t id;
        char name[64];
    } device[SL_HEADER_DEVICES];
    unsigned devices;
};

/* Reads one scalar of a top-level field. Pass this function to sl_json_visit(), with the header as
 * `user`. */
void sl_header_value(void *header, const char *path, enum sl_json_type type, struct sl_text value);

/* Checks the raw text of a top-level field, because HTA finds the rank by a regular expression and
 * not by a JSON parser. */
void sl_header_text(struct sl_header *h, struct sl_text key, struct sl_text value);

/* Returns the value of a counter, or 0 if the header has no counter of this name. */
uint64_t sl_header_counter(const struct sl_header *h, const char *name);

/* Returns 1 if the counter means that the file lacks records that CUPTI made. No file says when
 * they were lost. */
int sl_header_is_loss(const char *name);

#endif
