/*
 * range_impl.h - declarations that only the files range*.c use.
 *
 * range.c begins, ends and finds ranges. range_list.c stores ranges. range_row.c emits the slices
 * of ranges. range_gpu.c emits the slices of the GPU work of ranges.
 */
#ifndef SL_RANGE_IMPL_H
#define SL_RANGE_IMPL_H

#include "event/range.h"

enum {
    SL_RANGE_THREADS = 4096, /* size of the table of threads; a power of two */
    SL_RANGE_BUCKETS = 4096, /* size of the hash table of started ranges, by id; a power of two */
    SL_RANGE_WORKERS = 64,
    SL_RANGE_CALLERS = 64,
    SL_RANGE_LAUNCH_BITS = 12,
    /* number of entries for launches of worker threads */
    SL_RANGE_LAUNCHES = 1 << SL_RANGE_LAUNCH_BITS,
};

/* Ranges refer to each other by index. The index 0 means that there is no range. */
struct sl_range {
    struct sl_range_look look;
    uint64_t start_ns, end_ns; /* end_ns is UINT64_MAX while the range is open */
    uint64_t id;               /* id of a started range; 0 for a pushed range */
    uint64_t last_op_ns;       /* end of the last GPU operation of the range so far */
    uint32_t thread, row;
    uint32_t domain;
    uint32_t parent;       /* index of the range that was the innermost when this range started */
    uint32_t parent_stamp; /* `parent` is valid as long as the range at that index has this stamp */
    /* number that is different for each range that is stored at this index */
    uint32_t stamp;
    uint32_t older, newer; /* neighbours in the thread's list of ranges, sorted by start */
    uint32_t below;        /* index of the next outer range of the thread that is still open */
    /* index of the next entry in the list of free entries, or in the list of ended ranges, which is
     * sorted by end */
    uint32_t next;
    uint32_t same_bucket;
    uint32_t spans;    /* index of the range's first span; 0 if the range has no span */
    uint32_t launches; /* number of the range's launches whose operations have not arrived */
    uint8_t begun;     /* 1: an event for the range's begin was emitted in this window */
    uint8_t shown;     /* 1: the range's slice was emitted in this window */
    uint8_t has_graph; /* 1: one of the range's launches had more than one operation */
};

/* The GPU work of a range on one stream, called a span. */
struct sl_range_span {
    uint64_t from_ns, to_ns;
    uint32_t stream, next;
    uint8_t device;
};

struct sl_range_thread {
    uint32_t id;
    uint32_t taken;
    uint32_t newest; /* index of the range that began last */
    uint32_t cursor; /* index of the range at which the last search by time ended */
    uint32_t open;   /* index of the open range that began last */
    uint32_t ranges; /* number of the thread's ranges that are stored */
};

/* A launch of a worker thread. The entry is kept until the launch's operation arrives. */
struct sl_range_launch {
    uint64_t ns;
    uint32_t thread, for_thread;
};

struct sl_ranges {
    struct sl_ranges_options opt;
    struct sl_ranges_counts counts;

    struct sl_range *range; /* all ranges; range[0] is not used */
    uint32_t ranges, used, free;
    uint32_t ended_first, ended_last; /* list of ended ranges, sorted by end */
    uint32_t stamp;
    struct sl_range_span *span; /* all spans; span[0] is not used */
    uint32_t spans, spans_used, span_free;
    struct sl_range_thread *thread; /* hash table of threads, with open addressing */
    uint32_t threads;
    uint32_t *bucket; /* hash table of the started ranges that are open */

    /* `worker`: threads that work for other threads. `caller`: threads with ranges, for which the
     * workers may work. If more threads exist than fit, it is not known for which thread a worker
     * works. */
    uint32_t worker[SL_RANGE_WORKERS], workers;
    uint32_t caller[SL_RANGE_CALLERS], callers;
    /* a hash table; the key is the time of the launch */
    struct sl_range_launch launch[SL_RANGE_LAUNCHES];

    uint64_t from_ns, until_ns; /* start and end of the window */
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

/* range_list.c: returns the thread's entry, or NULL if the thread has no ranges. */
struct sl_range_thread *sl_range_find_thread(const struct sl_ranges *r, uint32_t id);
/* Begins a range, which becomes the innermost range of its thread. Returns NULL if there is no
 * room. */
struct sl_range *sl_range_begin(struct sl_ranges *r, uint32_t thread, uint64_t ns,
                                const struct sl_range_look *look);
/* Frees an ended range that is on no list of ended ranges. */
void sl_range_forget(struct sl_ranges *r, struct sl_range *x);
void sl_range_append_ended(struct sl_ranges *r, uint32_t index);
/* Removes the range that ended first from the list of ended ranges. Returns the range's index, or 0
 * if the list is empty. */
uint32_t sl_range_take_ended(struct sl_ranges *r);

/* range_row.c: emits an event for the begin of an open range, if a part of the range is in the open
 * window. Ranges that any thread may end are left out, because no other slices are nested in
 * them. */
void sl_range_tell_begin(struct sl_ranges *r, struct sl_range *x);
/* Emits the part of the range that is in the window. The range ends at `end_ns` or later. */
void sl_range_show(struct sl_ranges *r, struct sl_range *x, uint64_t end_ns);

/* range.c: returns the innermost range of a thread that was open at the given time. Returns NULL if
 * no range was open. */
struct sl_range *sl_range_at(struct sl_ranges *r, uint32_t thread, uint64_t ns);

int sl_range_is_worker(const struct sl_ranges *r, uint32_t thread);

/* range_gpu.c: emits the GPU work of a range that was seen so far, and removes the range's spans.
 */
void sl_range_put_spans(struct sl_ranges *r, struct sl_range *x);

#endif
