/*
 * ops.c - PyTorch's operators: which was running on a thread at a time.
 *
 * What is known of an operator for its calls is small and lies in chunks, in the order of its
 * thread's calls; what its row needs is kept only while it runs. An operator names its parent, so
 * that whatever is running at a time is found from the last that began before it, upwards. A parent
 * may be forgotten before its child: its place then belongs to another thread or a later operator,
 * and is known by that.
 *
 * Threads, memory: see ops.h.
 */
#include "event/ops.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"

#define DEFAULT_CAP_BYTES ((size_t)8 << 20)
#define CHUNK_OPS         64
#define THREADS           1024 /* a power of two; half of them are used */
#define RUNNING           8192 /* operators at a time, in all threads */
#define STARTED           256
#define FORWARDS          (1u << 15)
#define NOT_ENDED         UINT64_MAX

/* For calls. */
struct known {
    uint64_t start_ns, end_ns;
    uint32_t parent; /* its place + 1; 0: none */
    uint32_t handle, line, collective;
};

struct chunk {
    uint32_t thread; /* system id */
    uint32_t count;
    uint32_t older, newer;           /* of the thread; 0: none */
    uint32_t made_before, made_next; /* of all */
    struct known op[CHUNK_OPS];
};

/* For the row. */
struct running {
    struct sl_op op;
    uint64_t start_ns;
    uint32_t place; /* + 1; 0: forgotten, or none */
    uint32_t below; /* of the thread, or the next free one */
    uint32_t order;
    uint8_t is_shown, is_begun;
};

struct thread {
    uint32_t id, taken;
    uint32_t newest, oldest, cursor; /* chunks; 0: none */
    uint32_t innermost;              /* running; 0: none */
    uint32_t last;                   /* the running one that began last; 0: it has ended */
    uint32_t order;
};

/* Operators that have a sequence number, the last that began for each. */
struct forward {
    int64_t sequence;
    uint64_t start_ns; /* 0: none */
    uint32_t number, thread;
};

struct started {
    struct sl_op op;
    uint64_t start_ns; /* 0: free */
    uint32_t thread;
};

struct sl_ops {
    struct sl_ops_options opt;
    struct sl_ops_counts counts;
    uint64_t flows;
    struct thread thread[THREADS];
    uint32_t threads;
    struct running running[RUNNING]; /* [0] is not used */
    uint32_t running_used, running_free;
    struct started started[STARTED];
    struct forward forward[FORWARDS];
    struct chunk *chunk; /* [0] is not used */
    uint32_t chunks, chunk_used, chunk_free, chunk_first, chunk_last;
    size_t chunk_bytes;
};

/* ---- threads ---- */

static struct thread *probe(struct sl_ops *o, uint32_t id)
{
    uint32_t at = (id * 2654435761u >> 8) & (THREADS - 1);

    while (o->thread[at].taken && o->thread[at].id != id)
        at = (at + 1) & (THREADS - 1);
    return &o->thread[at];
}

/* Leaves out threads of which nothing is known any more. */
static void sweep_threads(struct sl_ops *o)
{
    struct thread kept[THREADS / 2];
    uint32_t count = 0;

    for (uint32_t i = 0; i < THREADS; i++)
        if (o->thread[i].taken && (o->thread[i].newest || o->thread[i].innermost))
            kept[count++] = o->thread[i];
    memset(o->thread, 0, sizeof(o->thread));
    for (uint32_t i = 0; i < count; i++)
        *probe(o, kept[i].id) = kept[i];
    o->threads = count;
}

/* NULL: there are too many. */
static struct thread *get_thread(struct sl_ops *o, uint32_t id)
{
    struct thread *t = probe(o, id);

    if (t->taken)
        return t;
    if (o->threads >= THREADS / 2) {
        sweep_threads(o);
        if (o->threads >= THREADS / 2)
            return NULL;
        t = probe(o, id);
    }
    *t = (struct thread){.id = id, .taken = 1};
    o->threads++;
    return t;
}

/* ---- chunks ---- */

static struct known *at_place(const struct sl_ops *o, uint32_t place)
{
    return &o->chunk[(place - 1) / CHUNK_OPS].op[(place - 1) % CHUNK_OPS];
}

/* What runs has no place any more: it goes on without. */
static void forget_places(struct sl_ops *o, const struct thread *t, uint32_t index)
{
    struct running *r;

    for (uint32_t at = t->innermost; at; at = r->below) {
        r = &o->running[at];
        if (r->place && (r->place - 1) / CHUNK_OPS == index)
            r->place = 0;
    }
}

static void free_chunk(struct sl_ops *o, uint32_t index)
{
    struct chunk *c = &o->chunk[index];
    struct thread *t = probe(o, c->thread);

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

/* One that is free, or the oldest. */
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

static struct chunk *new_chunk(struct sl_ops *o, struct thread *t)
{
    uint32_t index = take_chunk(o);
    struct chunk *c;

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

static uint32_t new_place(struct sl_ops *o, struct thread *t)
{
    struct chunk *c = &o->chunk[t->newest];

    if (!t->newest || c->count == CHUNK_OPS)
        c = new_chunk(o, t);
    return (uint32_t)(c - o->chunk) * CHUNK_OPS + c->count++ + 1;
}

/* ---- rows ---- */

static void show(struct sl_ops *o, const struct sl_op *op, uint32_t thread, uint32_t order,
                 uint64_t start_ns, uint64_t end_ns, uint8_t flags)
{
    struct sl_event ev = {.kind = SL_EV_CPU_OP, .flags = flags, .thread = thread};

    ev.start_ns = start_ns;
    ev.end_ns = end_ns > start_ns ? end_ns : start_ns;
    ev.name = op->name;
    ev.context = op->forward_number;
    ev.stream = order;
    ev.shape = op->detail;
    ev.u.row.record_function = op->handle;
    ev.u.row.sequence = op->sequence;
    o->counts.ops += end_ns != SL_END_UNKNOWN;
    o->opt.sink(o->opt.sink_user, &ev);
}

/* ---- forward and backward ---- */

static struct forward *forward_of(struct sl_ops *o, uint32_t number, int64_t sequence)
{
    uint64_t hash = ((uint64_t)sequence ^ (uint64_t)number << 40) * 0x9e3779b97f4a7c15u;

    return &o->forward[hash >> 49];
}

_Static_assert(FORWARDS == 1u << (64 - 49), "the hash has as many bits as the table");

/* Among those with one sequence number the last to begin is what autograd comes back to. */
static void note_forward(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    *forward_of(o, op->number, op->sequence) =
        (struct forward){op->sequence, ns, op->number, thread};
}

static void show_flow(struct sl_ops *o, const struct sl_op *op, uint32_t thread, uint64_t ns)
{
    struct forward *f = forward_of(o, op->forward_number, op->sequence);
    struct sl_event ev = {.kind = SL_EV_FLOW_BACK, .end_ns = ns, .context = thread};

    if (!f->start_ns || f->sequence != op->sequence || f->number != op->forward_number)
        return;
    ev.start_ns = f->start_ns;
    ev.thread = f->thread;
    ev.correlation = ++o->flows;
    f->start_ns = 0;
    o->opt.sink(o->opt.sink_user, &ev);
}

static void note_sequence(struct sl_ops *o, struct thread *t, uint64_t ns, const struct sl_op *op)
{
    struct running *around = t->last ? &o->running[t->last] : NULL;

    if (op->sequence < 0)
        return;
    if (op->forward_number == 0) {
        note_forward(o, t->id, ns, op);
        return;
    }
    if (op->is_backward && around && around->op.is_evaluation) {
        around->op.sequence = op->sequence;
        around->op.forward_number = op->forward_number;
    }
    show_flow(o, op, t->id, ns);
}

/* ---- begin and end ---- */

static uint32_t new_running(struct sl_ops *o)
{
    uint32_t index = o->running_free;

    if (index)
        o->running_free = o->running[index].below;
    else if (o->running_used < RUNNING)
        index = o->running_used++;
    return index;
}

/* The innermost that is no scope of the user's. */
static uint32_t parent_of(const struct sl_ops *o, const struct thread *t)
{
    uint32_t at = t->innermost;

    while (at && o->running[at].op.is_user)
        at = o->running[at].below;
    return at ? o->running[at].place : 0;
}

void sl_ops_begin(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    struct thread *t = get_thread(o, thread);
    uint32_t index = t ? new_running(o) : 0, place = 0, parent;
    struct running *r = &o->running[index];

    if (!index) {
        o->counts.lost++;
        return;
    }
    note_sequence(o, t, ns, op);
    if (!op->is_user) {
        place = new_place(o, t);
        parent = parent_of(o, t); /* the new place may have been its */
        *at_place(o, place) = (struct known){.start_ns = ns,
                                             .end_ns = NOT_ENDED,
                                             .parent = parent,
                                             .handle = (uint32_t)op->handle,
                                             .line = op->line,
                                             .collective = op->is_collective ? op->detail : 0};
    }
    *r = (struct running){.op = *op, .start_ns = ns, .place = place, .below = t->innermost};
    r->order = t->order++;
    t->innermost = t->last = index;
}

static int has_row(const struct running *r)
{
    return !r->op.is_user && !r->op.is_site;
}

static void end(struct sl_ops *o, struct thread *t, uint64_t ns)
{
    uint32_t index = t->innermost;
    struct running *r = &o->running[index];

    if (r->place)
        at_place(o, r->place)->end_ns = ns;
    if (has_row(r) && !r->is_shown)
        show(o, &r->op, t->id, r->order, r->start_ns, ns, r->is_begun ? SL_EVF_BEGUN : 0);
    if (t->last == index)
        t->last = 0;
    t->innermost = r->below;
    r->below = o->running_free;
    o->running_free = index;
}

/* 1: it is running, perhaps with others inside it whose end was lost. */
static int is_running(const struct sl_ops *o, const struct thread *t, uint32_t handle)
{
    uint32_t at = t->innermost;

    while (at && (uint32_t)o->running[at].op.handle != handle)
        at = o->running[at].below;
    return at != 0;
}

int sl_ops_end(struct sl_ops *o, uint32_t thread, uint32_t handle, uint64_t ns)
{
    struct thread *t = probe(o, thread);
    int is_user, is_it;

    if (!t->taken || !is_running(o, t, handle))
        return 0;
    do {
        is_it = (uint32_t)o->running[t->innermost].op.handle == handle;
        is_user = o->running[t->innermost].op.is_user;
        end(o, t, ns);
    } while (!is_it);
    return is_user;
}

uint32_t sl_ops_line(struct sl_ops *o, uint32_t thread)
{
    const struct thread *t = probe(o, thread);
    uint32_t at = t->taken ? t->innermost : 0;

    while (at && !o->running[at].op.line)
        at = o->running[at].below;
    return at ? o->running[at].op.line : 0;
}

void sl_ops_end_thread(struct sl_ops *o, uint32_t thread, uint64_t ns)
{
    struct thread *t = probe(o, thread);

    while (t->taken && t->innermost)
        end(o, t, ns);
}

void sl_ops_start(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    for (uint32_t i = 0; i < STARTED; i++) {
        if (o->started[i].start_ns)
            continue;
        o->started[i] = (struct started){*op, ns, thread};
        return;
    }
    o->counts.lost++;
}

void sl_ops_finish(struct sl_ops *o, uint64_t handle, uint64_t ns)
{
    for (uint32_t i = 0; i < STARTED; i++) {
        struct started *s = &o->started[i];

        if (!s->start_ns || s->op.handle != handle)
            continue;
        show(o, &s->op, s->thread, 0, s->start_ns, ns, 0);
        s->start_ns = 0;
        return;
    }
}

/* ---- calls ---- */

/* The last that began by then; 0: none. */
static uint32_t last_before(struct sl_ops *o, struct thread *t, uint64_t ns)
{
    uint32_t index = t->cursor ? t->cursor : t->newest, low = 0, high;
    const struct chunk *c;

    /* Calls come nearly in the order of time: the last answer is near. */
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
    return index * CHUNK_OPS + low + 1;
}

/* Is it still there? */
static uint32_t parent_at(const struct sl_ops *o, uint32_t thread, const struct known *child)
{
    uint32_t place = child->parent;
    const struct chunk *c;

    if (!place)
        return 0;
    c = &o->chunk[(place - 1) / CHUNK_OPS];
    return c->thread == thread && (place - 1) % CHUNK_OPS < c->count &&
                   at_place(o, place)->start_ns <= child->start_ns
               ? place
               : 0;
}

void sl_ops_call(struct sl_ops *o, struct sl_event *call)
{
    struct thread *t = probe(o, call->thread);
    uint32_t place = t->taken ? last_before(o, t, call->start_ns) : 0;
    struct sl_op_place at = {0, 0};
    const struct known *k;

    for (; place; place = parent_at(o, call->thread, k)) {
        k = at_place(o, place);
        if (k->end_ns <= call->start_ns)
            continue;
        if (!call->u.call.op) {
            call->u.call.op = k->handle;
            at.collective = k->collective;
        }
        if (!at.line)
            at.line = k->line;
    }
    if (at.collective || at.line)
        call->stream = sl_intern_put(o->opt.places, (const char *)&at, sizeof(at));
}

/* ---- windows ---- */

/* The outermost first. */
static void tell_begun(struct sl_ops *o, const struct thread *t, uint32_t at)
{
    struct running *r = &o->running[at];

    if (!at || r->is_begun)
        return;
    tell_begun(o, t, r->below);
    r->is_begun = 1;
    if (has_row(r) && !r->is_shown)
        show(o, &r->op, t->id, r->order, r->start_ns, SL_END_UNKNOWN, 0);
}

void sl_ops_tell_begun(struct sl_ops *o)
{
    for (uint32_t i = 0; o->opt.begins && i < THREADS; i++)
        if (o->thread[i].taken)
            tell_begun(o, &o->thread[i], o->thread[i].innermost);
}

/* All of its operators ended before. Those that began last end first, or nearly. */
static int is_done(const struct chunk *c, uint64_t complete_ns)
{
    for (uint32_t i = c->count; i > 0; i--)
        if (c->op[i - 1].end_ns >= complete_ns)
            return 0;
    return 1;
}

void sl_ops_complete(struct sl_ops *o, uint64_t complete_ns)
{
    for (uint32_t index = o->chunk_first, next; index; index = next) {
        const struct chunk *c = &o->chunk[index];

        next = c->made_next;
        /* Later ones began later: they are looked at when their time comes. */
        if (c->op[0].start_ns >= complete_ns)
            continue;
        if (c->newer && is_done(c, complete_ns))
            free_chunk(o, index);
    }
}

void sl_ops_close(struct sl_ops *o, uint64_t closed_ns)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        struct running *r;

        for (uint32_t at = o->thread[i].taken ? o->thread[i].innermost : 0; at; at = r->below) {
            uint8_t begun;

            r = &o->running[at];
            begun = r->is_begun ? SL_EVF_BEGUN : 0;
            if (has_row(r) && !r->is_shown && r->start_ns < closed_ns)
                show(o, &r->op, o->thread[i].id, r->order, r->start_ns, closed_ns,
                     SL_EVF_CUT_END | begun);
            r->is_shown |= r->start_ns < closed_ns;
        }
    }
}

void sl_ops_get_counts(const struct sl_ops *o, struct sl_ops_counts *out)
{
    *out = o->counts;
}

/* ---- life ---- */

int sl_ops_create(struct sl_ops **out, const struct sl_ops_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES;
    struct sl_ops *o;

    if (cap < sizeof(*o) + 64 * sizeof(*o->chunk))
        return -EINVAL;
    o = sl_pages_map(sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->opt = *opt;
    o->chunks = (uint32_t)((cap - sizeof(*o)) / sizeof(*o->chunk));
    o->chunk_bytes = o->chunks * sizeof(*o->chunk);
    o->chunk = sl_pages_map(o->chunk_bytes);
    if (!o->chunk) {
        sl_pages_unmap(o, sizeof(*o));
        return -ENOMEM;
    }
    o->chunk_used = o->running_used = 1;
    *out = o;
    return 0;
}

void sl_ops_destroy(struct sl_ops *o)
{
    if (!o)
        return;
    sl_pages_unmap(o->chunk, o->chunk_bytes);
    sl_pages_unmap(o, sizeof(*o));
}
