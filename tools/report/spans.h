/*
 * spans.h - lists of times in which something ran, and which of several lists hold at a moment.
 *
 * Threads: one owner. Memory: 16 bytes for each span.
 */
#ifndef SL_REPORT_SPANS_H
#define SL_REPORT_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct sl_span {
    uint64_t begin_ns, end_ns;
};

/* A struct of zeroes is an empty list. */
struct sl_spans {
    struct sl_span *span;
    size_t count, slots;
    size_t at; /* the first span that ends after the last moment asked for */
};

void sl_spans_free(struct sl_spans *s);

/* Adds a span; one without length is left out. Returns 0 or -ENOMEM. */
int sl_spans_add(struct sl_spans *s, uint64_t begin_ns, uint64_t end_ns);

/* Sorts the spans and joins those that overlap or touch. */
void sl_spans_merge(struct sl_spans *s);

/* Returns a bit for each of `count` merged lists that has a span at `ns`. Lowers *until to the next
 * time at which the result may change. `ns` must not be less than at the call before. */
uint32_t sl_spans_at(struct sl_spans *lists, int count, uint64_t ns, uint64_t *until);

#endif
