/*
 * range_impl.h - what the files of the ranges share. Included by them alone.
 *
 * range.c has the ranges of each thread, range_list.c their places; range_row.c makes their rows,
 * range_gpu.c those of what the GPU did for them.
 */
#ifndef SL_RANGE_IMPL_H
#define SL_RANGE_IMPL_H

#include "event/range.h"

enum {
    SL_RANGE_THREADS = 4096, /* a power of two */
    SL_RANGE_BUCKETS = 4096, /* of started ranges, by id; a power of two */
    SL_RANGE_WORKERS = 64,
    SL_RANGE_CALLERS = 64,
    SL_RANGE_LAUNCH_BITS = 12,
    SL_RANGE_LAUNCHES = 1 << SL_RANGE_LAUNCH_BITS, /* under way, by workers */
};

/* By index; 0 is none. */
struct sl_range {
    struct sl_range_look look;
    uint64_t start_ns, end_ns; /* end UINT64_MAX: it is open */
    uint64_t id;               /* of a started one; 0: pushed */
    uint64_t last_op_ns;       /* end of the last operation seen */
    uint32_t thread, row;
    uint32_t domain;
    uint32_t parent;       /* innermost around it at its start, if it has the... */
    uint32_t parent_stamp; /* ...stamp */
    uint32_t stamp;        /* tells who uses the place from who used it before */
    uint32_t older, newer; /* of the thread, by start */
    uint32_t below;        /* open before it on its thread, and still open */
    uint32_t next;         /* free, or ended: in that order */
    uint32_t same_bucket;
    uint32_t spans;    /* the first */
    uint32_t launches; /* whose operations have not come */
    uint8_t begun;     /* its beginning was told in this window */
    uint8_t shown;     /* has its row in this window */
    uint8_t has_graph; /* some launch was of more than one operation */
};

/* What a range has on one stream. */
struct sl_range_span {
    uint64_t from_ns, to_ns;
    uint32_t stream, next;
    uint16_t device;
};

struct sl_range_thread {
    uint32_t id;
    uint32_t taken;
    uint32_t newest; /* range */
    uint32_t cursor; /* where the last look at the past ended */
    uint32_t open;   /* the range that began last of those that are open */
    uint32_t ranges; /* known */
};

/* A launch of a worker's, until its operation comes. */
struct sl_range_launch {
    uint64_t ns;
    uint32_t thread, for_thread;
};

struct sl_ranges {
    struct sl_ranges_options opt;
    struct sl_ranges_counts counts;

    struct sl_range *range; /* range[0] is not used */
    uint32_t ranges, used, free;
    uint32_t ended_first, ended_last; /* a list by end */
    uint32_t stamp;
    struct sl_range_span *span; /* span[0] is not used */
    uint32_t spans, spans_used, span_free;
    struct sl_range_thread *thread; /* open addressing */
    uint32_t threads;
    uint32_t *bucket; /* of started ranges that are open */

    /* Threads that work for others, and those with ranges, which they may work for. Past these
     * counts it is not known who works for whom. */
    uint32_t worker[SL_RANGE_WORKERS], workers;
    uint32_t caller[SL_RANGE_CALLERS], callers;
    struct sl_range_launch launch[SL_RANGE_LAUNCHES]; /* by their time */

    uint64_t from_ns, until_ns; /* the window */
    void *memory;
    size_t memory_bytes;
};

static inline struct sl_range *sl_range_parent(const struct sl_ranges *r, const struct sl_range *x)
{
    struct sl_range *parent = &r->range[x->parent];

    return x->parent && parent->stamp == x->parent_stamp ? parent : NULL;
}

static inline int sl_range_in_window(const struct sl_ranges *r, uint64_t ns)
{
    return ns >= r->from_ns && ns < r->until_ns;
}

static inline uint32_t sl_range_index(const struct sl_ranges *r, const struct sl_range *x)
{
    return (uint32_t)(x - r->range);
}

static inline int sl_range_is_open(const struct sl_range *x)
{
    return x->end_ns == UINT64_MAX;
}

/* range_list.c: NULL: nothing is known of it. */
struct sl_range_thread *sl_range_find_thread(const struct sl_ranges *r, uint32_t id);
/* The innermost of its thread from now on; NULL: there is no room. */
struct sl_range *sl_range_begin(struct sl_ranges *r, uint32_t thread, uint64_t ns,
                                const struct sl_range_look *look);
/* One that has ended, and is on no list of ended ones. */
void sl_range_forget(struct sl_ranges *r, struct sl_range *x);
void sl_range_append_ended(struct sl_ranges *r, uint32_t index);
/* The one that ended first; 0: none. */
uint32_t sl_range_take_ended(struct sl_ranges *r);

/* range_row.c: it is open: a part of it is in the window, if that is open too. Ranges that any
 * thread may end are around nothing. */
void sl_range_tell_begin(struct sl_ranges *r, struct sl_range *x);
/* The part of a range that ends at `end_ns`, or later, in the window. */
void sl_range_show(struct sl_ranges *r, struct sl_range *x, uint64_t end_ns);

/* range.c: the innermost range of a thread that was open at that time; NULL: none. */
struct sl_range *sl_range_at(struct sl_ranges *r, uint32_t thread, uint64_t ns);

int sl_range_is_worker(const struct sl_ranges *r, uint32_t thread);

/* range_gpu.c: its rows, as far as they are known; they are forgotten then. */
void sl_range_put_spans(struct sl_ranges *r, struct sl_range *x);

#endif
