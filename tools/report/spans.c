/*
 * spans.c - merges spans by sorting them, and walks several lists side by side.
 *
 * Threads, memory: see spans.h.
 */
#include "report/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "read/grow.h"

int sl_spans_add(struct sl_spans *s, uint64_t begin_ns, uint64_t end_ns)
{
    struct sl_span *span;

    if (begin_ns >= end_ns)
        return 0;
    span = sl_grow((void **)&s->span, &s->count, &s->slots, sizeof(*span));
    if (!span)
        return -ENOMEM;
    *span = (struct sl_span){begin_ns, end_ns};
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct sl_span *x = a, *y = b;

    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

void sl_spans_merge(struct sl_spans *s)
{
    size_t kept = 0;
    int is_sorted = 1;

    for (size_t i = 1; i < s->count && is_sorted; i++)
        is_sorted = s->span[i - 1].begin_ns <= s->span[i].begin_ns;
    if (!is_sorted)
        qsort(s->span, s->count, sizeof(*s->span), by_begin);
    for (size_t i = 0; i < s->count; i++) {
        struct sl_span *last = kept ? &s->span[kept - 1] : NULL;

        if (last && s->span[i].begin_ns <= last->end_ns) {
            if (s->span[i].end_ns > last->end_ns)
                last->end_ns = s->span[i].end_ns;
            continue;
        }
        s->span[kept++] = s->span[i];
    }
    s->count = kept;
}

uint32_t sl_spans_at(struct sl_spans *lists, int count, uint64_t ns, uint64_t *until)
{
    uint32_t found = 0;

    for (int i = 0; i < count; i++) {
        struct sl_spans *s = &lists[i];
        const struct sl_span *span;
        uint64_t changes_ns;

        while (s->at < s->count && s->span[s->at].end_ns <= ns)
            s->at++;
        if (s->at == s->count)
            continue;
        span = &s->span[s->at];
        changes_ns = span->begin_ns > ns ? span->begin_ns : span->end_ns;
        if (changes_ns < *until)
            *until = changes_ns;
        if (span->begin_ns <= ns)
            found |= 1u << i;
    }
    return found;
}

void sl_spans_free(struct sl_spans *s)
{
    free(s->span);
    *s = (struct sl_spans){0};
}
