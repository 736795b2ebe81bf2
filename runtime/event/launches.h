/*
 * launches.h - stores which library call made the kernel launches of a time span.
 *
 * A library such as NCCL reports when it begins and ends to launch a kernel, and what the kernel
 * does. The record of the CUDA call that launches the kernel arrives later. It belongs to the span
 * of its thread that contains its start. Spans of a thread do not overlap.
 *
 * Threads: one owner. Memory: a mapping of fixed size, whose pages are touched as spans are added.
 * The newest spans are kept, of any number of threads: NCCL may start a thread for each launch.
 */
#ifndef SL_LAUNCHES_H
#define SL_LAUNCHES_H

#include <stdint.h>

enum {
    SL_LAUNCHES_SPANS = 65536, /* spans of all threads; a power of two */
};

struct sl_launches;

/* The operations that the text describes, of those that the calls of a span launch. */
enum sl_launch_what {
    SL_LAUNCH_KERNELS,
    /* kernels whose name says that they are NCCL's, launched by the driver's launch functions */
    SL_LAUNCH_NCCL_KERNELS,
    SL_LAUNCH_COPIES,
};

/* The work of the kernels of a span. */
struct sl_launch_about {
    uint32_t text;   /* interned JSON members; 0: not known */
    uint32_t sizes;  /* bytes at the text's begin, about facts that PyTorch tells, too */
    uint32_t thread; /* the span's thread */
    uint32_t what;   /* enum sl_launch_what */
    uint64_t number; /* the collective's number; UINT64_MAX: none */
};

/* Returns 0 or -ENOMEM. */
int sl_launches_create(struct sl_launches **out);
void sl_launches_destroy(struct sl_launches *l); /* NULL is allowed */

/* Adds a span, which begins after the thread's earlier spans. Spans are added in the order of their
 * ends. Returns the span, or NULL if `thread` is 0. The caller fills the returned struct, which
 * stays valid until SL_LAUNCHES_SPANS further spans were added. */
struct sl_launch_about *sl_launches_add(struct sl_launches *l, uint32_t thread, uint64_t start_ns,
                                        uint64_t end_ns);

/* Returns the span of the thread that contains the time, or NULL. */
const struct sl_launch_about *sl_launches_find(const struct sl_launches *l, uint32_t thread,
                                               uint64_t ns);

/* Returns 1 if a span was ever added. */
int sl_launches_any(const struct sl_launches *l);

#endif
