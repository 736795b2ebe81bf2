/*
 * clocks.h - aligns the clocks of several ranks by what the ranks did together.
 *
 * A fact says that one rank could not leave a collective before another rank had begun it. Each
 * fact bounds the difference of two clocks in one direction. Facts in both directions bound a
 * straight line, offset and drift, from above and below. The estimate is the line between the
 * middles of the bounds at the first and the last fact; the error is the distance to the farther
 * bound. A line may drift by at most SL_CLOCKS_DRIFT. Clocks without a common fact are aligned
 * through other clocks, and their errors are added.
 *
 * Ranks of one host share a clock. Ranks whose host is not known are taken to share one too, unless
 * a fact contradicts it by more than SL_CLOCKS_TOLERANCE_NS: then each of them has its own.
 *
 *   sl_clocks_create(&c, host, ranks);
 *   sl_clocks_add(c, ...);              once for each fact
 *   sl_clocks_solve(c);
 *   sl_clocks_ns(c, rank, ns); sl_clocks_error_ns(c, rank, ns);
 *
 * Threads: one owner. Memory: 24 bytes for each fact between two clocks, until sl_clocks_solve().
 */
#ifndef SL_ALIGN_CLOCKS_H
#define SL_ALIGN_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Facts may be wrong by this much, because times of GPUs are converted to the time of the CPU. */
#define SL_CLOCKS_TOLERANCE_NS 50000
/* The most by which two clocks drift: ns in each ns. NTP slews a clock by at most 500 ppm. */
#define SL_CLOCKS_DRIFT 500e-6

#define SL_CLOCKS_UNKNOWN UINT32_MAX /* the host of a rank is not known */

struct sl_clocks;

/* Facts that cannot hold together, by SL_CLOCKS_TOLERANCE_NS or more. */
struct sl_clocks_conflict {
    uint32_t a, b;   /* two ranks; a < b */
    int is_one_host; /* 1: the ranks share a clock; 0: no line fits between their clocks */
    uint64_t ns;     /* by how much, at worst */
};

/* `host` has the number of the host of each rank, or SL_CLOCKS_UNKNOWN. Returns 0 or -ENOMEM. */
int sl_clocks_create(struct sl_clocks **out, const uint32_t *host, size_t ranks);
void sl_clocks_destroy(struct sl_clocks *c); /* accepts NULL */

/* Rank `left` left a collective at `left_ns` on its clock, and could not leave it before rank
 * `began` had begun it, at `began_ns` on the clock of that rank. */
void sl_clocks_add(struct sl_clocks *c, uint32_t left, int64_t left_ns, uint32_t began,
                   int64_t began_ns);

/* Returns 0, or -ENOMEM, also if a fact did not fit. */
int sl_clocks_solve(struct sl_clocks *c);

/* Returns the rank whose clock the rank is aligned to. Times of two ranks are comparable only if
 * they are aligned to the same clock. */
uint32_t sl_clocks_reference(const struct sl_clocks *c, uint32_t rank);

/* Returns 1 if two ranks share a clock. */
int sl_clocks_is_shared(const struct sl_clocks *c, uint32_t a, uint32_t b);

/* Converts a time of a rank to the time of the reference clock, or returns the bound of the error
 * of this conversion. */
int64_t sl_clocks_ns(const struct sl_clocks *c, uint32_t rank, int64_t ns);
uint64_t sl_clocks_error_ns(const struct sl_clocks *c, uint32_t rank, int64_t ns);

/* Sets the offset of a rank's clock from the reference clock in the middle of the facts, its drift
 * in ns per second, and the largest error between the first and the last fact. */
struct sl_clocks_fit {
    int64_t offset_ns;
    double drift_ns_per_s;
    uint64_t error_ns;
};
struct sl_clocks_fit sl_clocks_fit(const struct sl_clocks *c, uint32_t rank);

/* Returns the conflicts, by rank; valid until sl_clocks_destroy(). */
const struct sl_clocks_conflict *sl_clocks_conflicts(const struct sl_clocks *c, size_t *count);

#endif
