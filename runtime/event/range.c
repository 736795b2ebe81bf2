/*
 * range.c - finds out which of the user's ranges were open on a thread at a given time.
 *
 * A thread's ranges form a list, sorted by start. When a range starts, the open range that began
 * last becomes its parent. So a search for the ranges that were open at a given time starts at the
 * last range that began before that time, and continues with the parents. Ranges of two domains,
 * and started ranges, need not be nested, so a parent may end before its child.
 *
 * Threads, memory: see range.h.
 */
#include "event/range.h"

#include <errno.h>

#include "base/pages.h"
#include "event/range_impl.h"

#define DEFAULT_CAP_BYTES ((size_t)4 << 20)
/* How long after the first operation of a graph launch the other operations of the launch may
 * arrive, in nanoseconds. */
#define GRAPH_NS 1000000000u

/* ---- begin and end ---- */

static void end(struct sl_ranges *r, struct sl_range *x, uint64_t ns)
{
    struct sl_range_thread *t = sl_range_find_thread(r, x->thread);
    uint32_t *link = t ? &t->open : NULL;

    while (link && *link && *link != sl_range_index(r, x))
        link = &r->range[*link].below;
    if (link && *link)
        *link = x->below;
    x->end_ns = ns > x->start_ns ? ns : x->start_ns;
    sl_range_show(r, x, x->end_ns);
    sl_range_append_ended(r, sl_range_index(r, x));
}

void sl_ranges_push(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns,
                    const struct sl_range_look *look)
{
    struct sl_range *x = sl_range_begin(r, thread, ns, look);

    if (!x)
        return;
    x->domain = domain;
    sl_range_tell_begin(r, x);
}

/* Returns the innermost open range of a domain. If `value` is not NULL, the range must have that
 * value. */
static struct sl_range *innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain,
                                  const uint32_t *value)
{
    struct sl_range_thread *t = sl_range_find_thread(r, thread);
    struct sl_range *x;

    for (uint32_t index = t ? t->open : 0; index; index = x->below) {
        x = &r->range[index];
        if (!x->id && x->domain == domain && (!value || (uint32_t)x->look.value == *value))
            return x;
    }
    return NULL;
}

struct sl_range_look *sl_ranges_innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain)
{
    struct sl_range *x = innermost(r, thread, domain, NULL);

    return x ? &x->look : NULL;
}

void sl_ranges_pop(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns)
{
    struct sl_range *x = innermost(r, thread, domain, NULL);

    if (x)
        end(r, x, ns);
}

int sl_ranges_pop_value(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint32_t value,
                        uint64_t ns)
{
    struct sl_range *x = innermost(r, thread, domain, &value);

    if (x)
        end(r, x, ns);
    return x != NULL;
}

void sl_ranges_end_thread(struct sl_ranges *r, uint32_t thread, uint64_t ns)
{
    struct sl_range_thread *t = sl_range_find_thread(r, thread);
    struct sl_range *x;

    for (uint32_t index = t ? t->open : 0, below; index; index = below) {
        x = &r->range[index];
        below = x->below;
        if (!x->id)
            end(r, x, ns);
    }
}

static uint32_t *bucket_of(const struct sl_ranges *r, uint64_t id)
{
    return &r->bucket[id & (SL_RANGE_BUCKETS - 1)];
}

void sl_ranges_start(struct sl_ranges *r, uint32_t thread, uint64_t id, uint64_t ns, uint32_t row,
                     const struct sl_range_look *look)
{
    struct sl_range *x = sl_range_begin(r, thread, ns, look);

    if (!x)
        return;
    x->id = id;
    x->row = row;
    x->same_bucket = *bucket_of(r, id);
    *bucket_of(r, id) = sl_range_index(r, x);
}

static uint32_t *find_started(const struct sl_ranges *r, uint64_t id)
{
    uint32_t *link = bucket_of(r, id);

    while (*link && r->range[*link].id != id)
        link = &r->range[*link].same_bucket;
    return link;
}

struct sl_range_look *sl_ranges_started(struct sl_ranges *r, uint64_t id, uint32_t *row)
{
    struct sl_range *x = &r->range[*find_started(r, id)];

    if (x == r->range)
        return NULL;
    *row = x->row;
    return &x->look;
}

void sl_ranges_end(struct sl_ranges *r, uint64_t id, uint64_t ns)
{
    uint32_t *link = find_started(r, id);
    struct sl_range *x = &r->range[*link];

    if (!*link)
        return;
    *link = x->same_bucket;
    end(r, x, ns);
}

/* ---- ranges by time ---- */

struct sl_range *sl_range_at(struct sl_ranges *r, uint32_t thread, uint64_t ns)
{
    struct sl_range_thread *t = sl_range_find_thread(r, thread);
    uint32_t at = t ? t->cursor : 0;
    struct sl_range *x;

    if (!t)
        return NULL;
    /* The search starts at the result of the previous search, because calls arrive nearly in the
     * order of time. */
    if (!at)
        at = t->newest;
    while (at && r->range[at].start_ns > ns)
        at = r->range[at].older;
    while (at && r->range[at].newer && r->range[r->range[at].newer].start_ns <= ns)
        at = r->range[at].newer;
    t->cursor = at;
    x = at ? &r->range[at] : NULL;
    while (x && x->end_ns <= ns)
        x = sl_range_parent(r, x);
    return x;
}

int sl_range_is_worker(const struct sl_ranges *r, uint32_t thread)
{
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->worker[i] == thread)
            return 1;
    return 0;
}

void sl_ranges_worker(struct sl_ranges *r, uint32_t thread)
{
    if (r->workers < SL_RANGE_WORKERS && !sl_range_is_worker(r, thread))
        r->worker[r->workers++] = thread;
}

/* ---- eviction ---- */

static int is_done(const struct sl_range *x, uint64_t complete_ns)
{
    uint64_t more_ns = x->has_graph ? GRAPH_NS : 0;

    return x->end_ns < complete_ns && !x->launches && x->last_op_ns + more_ns < complete_ns;
}

void sl_ranges_complete(struct sl_ranges *r, uint64_t complete_ns)
{
    uint32_t index = r->ended_first, next;

    r->ended_first = r->ended_last = 0;
    for (; index; index = next) {
        next = r->range[index].next;
        if (is_done(&r->range[index], complete_ns))
            sl_range_forget(r, &r->range[index]);
        else
            sl_range_append_ended(r, index);
    }
}

void sl_ranges_get_counts(const struct sl_ranges *r, struct sl_ranges_counts *out)
{
    *out = r->counts;
}

/* ---- creation and destruction ---- */

/* Places the tables in `memory`. Returns the total size of the tables in bytes. */
static size_t areas(struct sl_ranges *r, char *memory)
{
    size_t at = 0;

    r->thread = (struct sl_range_thread *)(memory + at);
    at += SL_RANGE_THREADS * sizeof(*r->thread);
    r->bucket = (uint32_t *)(memory + at);
    at += SL_RANGE_BUCKETS * sizeof(*r->bucket);
    r->range = (struct sl_range *)(memory + at);
    at += (size_t)r->ranges * sizeof(*r->range);
    r->span = (struct sl_range_span *)(memory + at);
    return at + (size_t)r->spans * sizeof(*r->span);
}

int sl_ranges_create(struct sl_ranges **out, const struct sl_ranges_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES, fixed;
    struct sl_ranges *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    fixed = areas(r, NULL);
    if (cap < 2 * fixed) {
        sl_pages_unmap(r, sizeof(*r));
        return -EINVAL;
    }
    /* The table has room for as many spans (GPU work of a range on one stream) as ranges, because
     * most ranges have work on at most one stream. */
    r->ranges = r->spans =
        (uint32_t)((cap - fixed) / (sizeof(struct sl_range) + sizeof(struct sl_range_span)));
    r->memory_bytes = areas(r, NULL);
    r->memory = sl_pages_map(r->memory_bytes);
    if (!r->memory) {
        sl_pages_unmap(r, sizeof(*r));
        return -ENOMEM;
    }
    areas(r, r->memory);
    r->opt = *opt;
    r->used = r->spans_used = 1;
    *out = r;
    return 0;
}

void sl_ranges_destroy(struct sl_ranges *r)
{
    if (!r)
        return;
    sl_pages_unmap(r->memory, r->memory_bytes);
    sl_pages_unmap(r, sizeof(*r));
}
