/*
 * ops_call.c - finds the operators in which a CUDA call was made.
 *
 * For each operator a small entry is kept. Each thread has chunks of entries, sorted by the
 * operators' start. An entry stores the place (index) of its parent's entry. So a search for the
 * operators that ran at a given time starts at the last operator that began before that time, and
 * continues with the parents. A parent may be evicted before its child. The parent's place then
 * belongs to another thread or to a later operator; parent_at() detects this.
 *
 * Threads, memory: see ops.h.
 */
#include <string.h>

#include "event/ops_impl.h"

/* ---- threads ---- */

struct sl_ops_thread *sl_ops_find_thread(struct sl_ops *o, uint32_t id)
{
    uint32_t at = (id * 2654435761u >> 8) & (SL_OPS_THREADS - 1);

    while (o->thread[at].taken && o->thread[at].id != id)
        at = (at + 1) & (SL_OPS_THREADS - 1);
    return &o->thread[at];
}

/* ---- chunks ---- */

/* Called before a chunk is evicted. Running operators whose entry is in this chunk get the place 0,
 * that is, no entry. */
static void forget_places(struct sl_ops *o, const struct sl_ops_thread *t, uint32_t index)
{
    struct sl_ops_running *r;

    for (uint32_t at = t->innermost; at; at = r->below) {
        r = &o->running[at];
        if (r->place && (r->place - 1) / SL_OPS_IN_CHUNK == index)
            r->place = 0;
    }
}

static void free_chunk(struct sl_ops *o, uint32_t index)
{
    struct sl_ops_chunk *c = &o->chunk[index];
    struct sl_ops_thread *t = sl_ops_find_thread(o, c->thread);

    if (t->taken) {
        forget_places(o, t, index);
        if (t->newest == index)
            t->newest = c->older;
        if (t->oldest == index)
            t->oldest = c->newer;
        if (t->cursor == index)
            t->cursor = 0;
    }
    if (c->older)
        o->chunk[c->older].newer = c->newer;
    if (c->newer)
        o->chunk[c->newer].older = c->older;
    if (c->made_before)
        o->chunk[c->made_before].made_next = c->made_next;
    else
        o->chunk_first = c->made_next;
    if (c->made_next)
        o->chunk[c->made_next].made_before = c->made_before;
    else
        o->chunk_last = c->made_before;
    c->count = c->thread = 0;
    c->made_next = o->chunk_free;
    o->chunk_free = index;
}

/* Returns a free chunk. If there is no free chunk, evicts the oldest chunk. */
static uint32_t take_chunk(struct sl_ops *o)
{
    uint32_t index;

    if (!o->chunk_free && o->chunk_used < o->chunks)
        return o->chunk_used++;
    if (!o->chunk_free) {
        o->counts.forgotten += o->chunk[o->chunk_first].count;
        free_chunk(o, o->chunk_first);
    }
    index = o->chunk_free;
    o->chunk_free = o->chunk[index].made_next;
    return index;
}

static struct sl_ops_chunk *new_chunk(struct sl_ops *o, struct sl_ops_thread *t)
{
    uint32_t index = take_chunk(o);
    struct sl_ops_chunk *c;

    c = &o->chunk[index];
    c->thread = t->id;
    c->count = 0;
    c->older = t->newest;
    c->newer = c->made_next = 0;
    c->made_before = o->chunk_last;
    if (o->chunk_last)
        o->chunk[o->chunk_last].made_next = index;
    else
        o->chunk_first = index;
    o->chunk_last = index;
    if (t->newest)
        o->chunk[t->newest].newer = index;
    else
        t->oldest = index;
    t->newest = index;
    return c;
}

uint32_t sl_ops_new_place(struct sl_ops *o, struct sl_ops_thread *t)
{
    struct sl_ops_chunk *c = &o->chunk[t->newest];

    if (!t->newest || c->count == SL_OPS_IN_CHUNK)
        c = new_chunk(o, t);
    return (uint32_t)(c - o->chunk) * SL_OPS_IN_CHUNK + c->count++ + 1;
}

/* ---- eviction ---- */

/* Returns 1 if all operators of the chunk ended before complete_ns. Checks the last operator first,
 * because the last operator is the most likely to be still running. */
static int is_done(const struct sl_ops_chunk *c, uint64_t complete_ns)
{
    for (uint32_t i = c->count; i > 0; i--)
        if (c->op[i - 1].end_ns >= complete_ns)
            return 0;
    return 1;
}

void sl_ops_complete(struct sl_ops *o, uint64_t complete_ns)
{
    o->complete_ns = complete_ns;
    for (uint32_t index = o->chunk_first, next; index; index = next) {
        const struct sl_ops_chunk *c = &o->chunk[index];

        next = c->made_next;
        /* Operators in later chunks began later. A later call checks these chunks, once complete_ns
         * has passed their start. */
        if (c->op[0].start_ns >= complete_ns)
            continue;
        if (c->newer && is_done(c, complete_ns))
            free_chunk(o, index);
    }
}

/* Frees the chunks of a thread whose operators have all ended (is_done()), even the newest chunk,
 * which is otherwise kept to be filled. Called if the thread may have ended. */
static void free_if_done(struct sl_ops *o, const struct sl_ops_thread *t)
{
    while (!t->innermost && t->newest && is_done(&o->chunk[t->newest], o->complete_ns))
        free_chunk(o, t->newest);
}

/* Removes threads that have no entries any more. */
static void sweep_threads(struct sl_ops *o)
{
    struct sl_ops_thread kept[SL_OPS_THREADS / 2];
    uint32_t count = 0;

    for (uint32_t i = 0; i < SL_OPS_THREADS; i++) {
        if (!o->thread[i].taken)
            continue;
        free_if_done(o, &o->thread[i]);
        if (o->thread[i].newest || o->thread[i].innermost)
            kept[count++] = o->thread[i];
    }
    memset(o->thread, 0, sizeof(o->thread));
    for (uint32_t i = 0; i < count; i++)
        *sl_ops_find_thread(o, kept[i].id) = kept[i];
    o->threads = count;
}

struct sl_ops_thread *sl_ops_get_thread(struct sl_ops *o, uint32_t id)
{
    struct sl_ops_thread *t = sl_ops_find_thread(o, id);

    if (t->taken)
        return t;
    if (o->threads >= SL_OPS_THREADS / 2) {
        sweep_threads(o);
        if (o->threads >= SL_OPS_THREADS / 2)
            return NULL;
        t = sl_ops_find_thread(o, id);
    }
    *t = (struct sl_ops_thread){.id = id, .taken = 1};
    o->threads++;
    return t;
}

/* ---- calls ---- */

/* Returns the place (index of the entry) of the last operator that began at or before ns, or 0 if
 * there is none. */
static uint32_t last_before(struct sl_ops *o, struct sl_ops_thread *t, uint64_t ns)
{
    uint32_t index = t->cursor ? t->cursor : t->newest, low = 0, high;
    const struct sl_ops_chunk *c;

    /* The search starts at the result of the previous search, because calls arrive nearly in the
     * order of time. */
    while (index && o->chunk[index].op[0].start_ns > ns)
        index = o->chunk[index].older;
    while (index && o->chunk[index].newer && o->chunk[o->chunk[index].newer].op[0].start_ns <= ns)
        index = o->chunk[index].newer;
    t->cursor = index;
    if (!index)
        return 0;
    c = &o->chunk[index];
    high = c->count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        if (c->op[middle].start_ns <= ns)
            low = middle;
        else
            high = middle;
    }
    return index * SL_OPS_IN_CHUNK + low + 1;
}

/* Returns the parent's place, 0 if the parent was evicted. */
static uint32_t parent_at(const struct sl_ops *o, uint32_t thread, const struct sl_op_known *child)
{
    uint32_t place = child->parent;
    const struct sl_ops_chunk *c;

    if (!place)
        return 0;
    c = &o->chunk[(place - 1) / SL_OPS_IN_CHUNK];
    return c->thread == thread && (place - 1) % SL_OPS_IN_CHUNK < c->count &&
                   sl_ops_at(o, place)->order < child->order
               ? place
               : 0;
}

uint32_t sl_ops_call(struct sl_ops *o, struct sl_event *call)
{
    struct sl_ops_thread *t = sl_ops_find_thread(o, call->thread);
    uint32_t place = t->taken ? last_before(o, t, call->start_ns) : 0;
    struct sl_op_place at = {0, 0};
    const struct sl_op_known *k;
    uint32_t for_thread = 0;

    for (; place; place = parent_at(o, call->thread, k)) {
        k = sl_ops_at(o, place);
        if (k->end_ns <= call->start_ns)
            continue;
        if (!call->u.call.op) {
            call->u.call.op = k->handle;
            at.collective = k->collective;
        }
        if (!at.line)
            at.line = k->line;
        /* If a backward pass recomputes activations, the recomputation runs a nested backward pass.
         * The result is the thread that called the outermost pass. */
        if (k->for_thread)
            for_thread = k->for_thread;
    }
    if (at.collective || at.line)
        call->place = sl_intern_put(o->opt.places, (const char *)&at, sizeof(at));
    return for_thread;
}

struct sl_op_place sl_op_place_of(const struct sl_intern *places, const struct sl_event *call)
{
    struct sl_op_place place = {0, 0};
    size_t length = 0;
    const char *bytes = places ? sl_intern_get(places, call->place, &length) : NULL;

    if (bytes && length == sizeof(place))
        memcpy(&place, bytes, sizeof(place));
    return place;
}

int sl_ops_is_worker(struct sl_ops *o, uint32_t thread)
{
    const struct sl_ops_thread *t = sl_ops_find_thread(o, thread);

    return t->taken && t->works;
}
