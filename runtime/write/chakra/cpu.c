/*
 * cpu.c - writes the slices of CPU threads as nodes: pieces, gaps, and calls that wait.
 *
 * Rows (slices) of a thread arrive in order of start and may be nested. A row is cut into pieces at
 * the rows inside it. Time without a row is a gap, and a gap becomes a node, too. So the nodes of a
 * thread follow each other without a hole. A replay that runs these nodes one after the other
 * reproduces the thread's time.
 *
 * The thread's last row is *pending*: the pieces of this row are known only when the next row
 * arrives, or a GPU operation that the row launched. A call that waits becomes two nodes. The node
 * NAME ends when the call has enqueued its own operation, and is the parent of this operation.
 * NAME.wait depends on NAME and on all sources, and lasts from the end of the last source to the
 * call's end. A copy from pageable memory first waits for its stream and then reads the memory, so
 * all sources have ended before the call's own operation begins. For such a copy, NAME.wait ends
 * when the operation begins, and NAME.wait is the operation's parent. A third piece lasts until the
 * call's end. NAME.wait is also the parent of a kernel whose launch waited, as a launch into a full
 * queue does. There is no third piece then.
 *
 *     thread   |gap|   NAME   |                     |.wait|gap|
 *     stream             |  own operation or source |
 *
 * A backward pass involves two threads. The caller's nodes end where autograd's first operator
 * begins, and that operator depends on the caller's last node. The caller's nodes continue where
 * autograd's last operator ended, and depend on that operator. The time between is in no node of
 * the caller.
 *
 *     caller   |  up to here |                     | and on
 *     autograd               | op | gap | op | ... |
 *
 * If two rows that may enclose other rows overlap, the common time counts as time of the row that
 * began last. These rules apply to rows that are reported at their begin, and to rows that arrive
 * complete.
 *
 * A simulator runs the nodes of all threads one after the other. So that it does not count the same
 * time twice, the duration in microseconds is only the part after the latest end of the nodes
 * written before. Threads that launch nothing, such as NCCL's watchdog, are always beside a thread
 * that does, so their nodes count nothing.
 *
 * Threads: one owner. Memory: the tables that lane.c describes.
 */
#include "sync/call_class.h"
#include "write/chakra/chakra_internal.h"

/* Returns the link to the launch. If the launch is not known, the link is 0. */
static uint32_t *link_to_launch(const struct sl_chakra *c, uint64_t correlation)
{
    uint32_t *link = &c->launch_bucket[correlation & (SL_CHAKRA_LAUNCHES - 1)];

    while (*link && c->launch[*link - 1].correlation != correlation)
        link = &c->launch[*link - 1].next;
    return link;
}

static struct sl_chakra_launch *find_launch(const struct sl_chakra *c, uint64_t correlation)
{
    uint32_t index = correlation ? *link_to_launch(c, correlation) : 0;

    return index ? &c->launch[index - 1] : NULL;
}

/* Stores a launch, in place of the oldest one. */
static void note_launch(struct sl_chakra *c, uint64_t correlation, uint32_t thread)
{
    uint32_t *link = link_to_launch(c, correlation);
    struct sl_chakra_launch *l;

    if (*link) {
        l = &c->launch[*link - 1];
        *l = (struct sl_chakra_launch){correlation, 0, 0, thread, l->next};
        return;
    }
    l = &c->launch[c->next_launch];
    if (l->correlation)
        *link_to_launch(c, l->correlation) = l->next;
    link = &c->launch_bucket[correlation & (SL_CHAKRA_LAUNCHES - 1)];
    *l = (struct sl_chakra_launch){correlation, 0, 0, thread, *link};
    *link = c->next_launch + 1;
    c->next_launch = (c->next_launch + 1) & (SL_CHAKRA_LAUNCHES - 1);
}

/* Returns the start of the part of a node that counts as host time, and counts that part. */
static uint64_t count_host_time(struct sl_chakra *c, const struct sl_chakra_thread *t,
                                uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = c->host_ns > start_ns ? c->host_ns : start_ns;

    if ((c->has_launched && !t->launches) || from >= end_ns)
        return end_ns;
    c->host_ns = end_ns;
    return from;
}

/* Writes the next node of a thread. The new node depends on the thread's last node and on the nodes
 * in c->dep. */
static void put(struct sl_chakra *c, struct sl_chakra_thread *t, const struct sl_event *ev,
                int waits, uint64_t start_ns, uint64_t end_ns)
{
    struct sl_chakra_node n = {.ev = ev, .waits = waits, .thread = t->id};

    n.first = ev == &t->row && !t->named;
    n.start_ns = start_ns;
    n.end_ns = end_ns;
    n.counted_ns = count_host_time(c, t, start_ns, end_ns);
    n.name = ev ? sl_chakra_name(c, ev) : NULL;
    sl_chakra_add_dep(c, t->last);
    sl_chakra_add_dep(c, t->after);
    t->after = 0;
    t->last = sl_chakra_put_node(c, &n);
    t->frontier_ns = end_ns;
    c->count.cpu_nodes++;
    c->count.gap_nodes += !ev;
    c->count.wait_nodes += (uint64_t)(waits != 0);
}

static void put_until(struct sl_chakra *c, struct sl_chakra_thread *t, const struct sl_event *ev,
                      uint64_t until_ns)
{
    if (until_ns > t->frontier_ns)
        put(c, t, ev, 0, t->frontier_ns, until_ns);
}

/* Makes the thread's last node the parent of the operations that the pending row launches. */
static void set_launch(struct sl_chakra *c, const struct sl_chakra_thread *t)
{
    struct sl_chakra_launch *l = find_launch(c, sl_chakra_correlation(&t->row));

    if (l) {
        l->id = t->last;
        l->end_ns = t->frontier_ns;
    }
}

/* Writes the first piece of the pending row, even if its length is 0. */
static void put_named(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    put(c, t, &t->row, 0, t->frontier_ns, until_ns > t->frontier_ns ? until_ns : t->frontier_ns);
    t->named = 1;
    set_launch(c, t);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Writes the node NAME.wait, which begins at the end of the last source. */
static void put_wait(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    uint64_t from = t->frontier_ns;

    sl_chakra_add_sources(c, sl_chakra_correlation(&t->row), 0, 0, &from);
    put(c, t, &t->row, 1, earlier(from, until_ns), until_ns);
}

/* A call that launches a kernel never waits for it. If the call waits, it does so before it
 * enqueues the kernel. */
static int launches_kernel(const struct sl_event *row)
{
    return sl_chakra_is_call(row) && sl_call_class_of((enum sl_event_kind)row->kind,
                                                      row->u.call.cbid) == SL_CALL_KERNEL_LAUNCH;
}

static void finish_wait(struct sl_chakra *c, struct sl_chakra_thread *t)
{
    if (!t->named && t->row.flags & SL_EVF_LAUNCH)
        put_named(c, t, earlier(t->row.end_ns, t->row.start_ns + SL_CHAKRA_ENQUEUE_NS));
    put_wait(c, t, t->row.end_ns);
    if (launches_kernel(&t->row))
        set_launch(c, t);
}

/* Writes the rest of the pending row, up to its end. */
static void finish_row(struct sl_chakra *c, struct sl_chakra_thread *t)
{
    t->pending = 0;
    if (sl_chakra_waits(c, sl_chakra_correlation(&t->row)))
        finish_wait(c, t);
    else if (!t->named)
        put_named(c, t, t->row.end_ns);
    else
        put_until(c, t, &t->row, t->row.end_ns);
}

/* Writes the rest of the enclosing rows that end by `until_ns`, and closes them. */
static void close_open(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    while (t->open && t->open->row.end_ns <= until_ns) {
        struct sl_chakra_open *o = t->open;

        t->open = o->around;
        t->depth--;
        put_until(c, t, &o->row, o->row.end_ns);
        o->around = c->open_free;
        c->open_free = o;
    }
}

static struct sl_event *innermost(const struct sl_chakra_thread *t)
{
    return t->open ? &t->open->row : NULL;
}

/* Writes all rows of a thread that worked for another thread. */
static void finish_worker(struct sl_chakra *c, struct sl_chakra_thread *t)
{
    uint64_t end_ns = 0;

    if (t->pending)
        finish_row(c, t);
    for (const struct sl_chakra_open *o = t->open; o; o = o->around)
        end_ns = o->row.end_ns;
    close_open(c, t, end_ns);
}

/* Ends the work of other threads for this thread. If all of these threads are idle at that time,
 * this thread continued when the last of them had ended its work. Otherwise this thread did not
 * wait for the other threads. */
static void take_back(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    uint64_t done_ns = t->frontier_ns;
    const struct sl_event *around;
    int waited = 1;
    size_t i;

    for (i = 0; i < c->threads; i++) {
        struct sl_chakra_thread *w = &c->thread[i];

        if (!w->has_caller || w->caller != t->id)
            continue;
        waited &= !sl_chakra_is_in(w, until_ns, NULL);
        if (waited)
            finish_worker(c, w);
        done_ns = w->frontier_ns > done_ns ? w->frontier_ns : done_ns;
    }
    for (i = 0; i < c->threads; i++) {
        struct sl_chakra_thread *w = &c->thread[i];

        if (!w->has_caller || w->caller != t->id)
            continue;
        w->has_caller = 0;
        if (waited)
            sl_chakra_add_dep(c, w->last);
    }
    t->waits_for = 0;
    if (!waited || done_ns > until_ns) {
        c->deps = 0;
        return;
    }
    around = innermost(t);
    if (around && around->end_ns < until_ns)
        until_ns = around->end_ns > done_ns ? around->end_ns : done_ns;
    put(c, t, around, 0, done_ns, until_ns);
}

/* Returns 1 if there is room for one more enclosing row of the thread. */
static int has_place(struct sl_chakra *c, const struct sl_chakra_thread *t, uint64_t ns)
{
    if (!c->open_free && c->opened == SL_CHAKRA_OPEN)
        sl_chakra_settle_idle(c, ns);
    return t->depth < SL_CHAKRA_DEPTH && (c->open_free || c->opened < SL_CHAKRA_OPEN);
}

static void open_row(struct sl_chakra *c, struct sl_chakra_thread *t)
{
    struct sl_chakra_open *o = c->open_free;

    if (o)
        c->open_free = o->around;
    else
        o = &c->open[c->opened++];
    o->row = t->row;
    o->around = t->open;
    t->open = o;
    t->depth++;
}

/* Called when a row inside the pending row arrives. The pending row becomes an enclosing row. */
static void begin_inside(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    int opens = has_place(c, t, until_ns);

    /* If rows are nested too deeply, a call keeps the rest of its time. The rest of the time of any
     * other row counts as time of the row around it. */
    if (!opens && !sl_chakra_is_outer(&t->row))
        return;
    if (!t->named)
        put_named(c, t, until_ns);
    if (opens)
        open_row(c, t);
    else
        c->count.rows_deep++;
    t->pending = 0;
}

/* Writes the nodes of the thread up to the start of the thread's next row. */
static void settle(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t until_ns)
{
    if (t->waits_for)
        take_back(c, t, until_ns);
    if (t->pending && t->row.end_ns > until_ns &&
        !sl_chakra_waits(c, sl_chakra_correlation(&t->row)))
        begin_inside(c, t, until_ns);
    if (t->pending)
        finish_row(c, t);
    close_open(c, t, until_ns);
    put_until(c, t, innermost(t), until_ns);
}

/* Called when autograd begins on this thread. The first node of the thread depends on the caller's
 * last node. The first node does not depend on a gap node of its own thread. */
static void hand_over(struct sl_chakra *c, struct sl_chakra_thread *t,
                      struct sl_chakra_thread *caller, uint64_t start_ns)
{
    finish_worker(c, t);
    /* If other threads already work for the caller, the caller's nodes ended when the first of
     * these threads began. */
    if (!caller->waits_for)
        settle(c, caller, start_ns);
    t->frontier_ns = start_ns;
    t->after = caller->last;
    t->has_caller = 1;
    t->caller = caller->id;
    t->launches |= caller->launches;
    caller->waits_for++;
    c->count.handovers++;
}

/* Returns 1 if the pending row must be written to its end before this row, because this row is not
 * inside the pending row. There are two cases. This row ends later than the pending row. Or the
 * pending row is a call and this row is an operator or a range, which a call never contains. */
static int ends_first(const struct sl_chakra_thread *t, const struct sl_event *ev)
{
    if (sl_chakra_is_outer(&t->row) && ev->start_ns >= t->row.start_ns)
        return 0;
    return ev->end_ns > t->row.end_ns || (sl_chakra_is_call(&t->row) && sl_chakra_is_outer(ev));
}

/* Returns 1 if nodes that were written already cover the row's whole time. The writer then leaves
 * the row out. But it writes an operator or a range, with length 0, because the row may be late
 * only because a clock is slightly behind. */
static int is_late(const struct sl_chakra_thread *t, const struct sl_event *ev)
{
    return ev->start_ns < t->frontier_ns && ev->end_ns <= t->frontier_ns && !sl_chakra_is_outer(ev);
}

/* Adds a query to the run that is the pending row, if the thread did nothing between. Returns 0 if
 * the query is not part of that run. */
static int extends_run(struct sl_chakra_thread *t, const struct sl_event *ev)
{
    return t->pending && !t->named && !t->waits_for &&
           (!t->open || t->open->row.end_ns > ev->start_ns) && sl_chakra_join_polls(&t->row, ev);
}

void sl_chakra_take_row(struct sl_chakra *c, const struct sl_event *ev)
{
    struct sl_chakra_thread *t = sl_chakra_get_thread(c, ev->thread, ev->start_ns), *caller;
    uint64_t correlation = sl_chakra_correlation(ev);

    if (!t) {
        c->count.rows_full++;
        return;
    }
    if (is_late(t, ev)) {
        c->count.rows_late++;
        return;
    }
    if (extends_run(t, ev))
        return;
    if (t->pending && ends_first(t, ev))
        finish_row(c, t);
    if (ev->kind == SL_EV_CPU_OP)
        sl_chakra_note_sequence(c, ev);
    if (ev->flags & SL_EVF_LAUNCH)
        t->launches = c->has_launched = 1;
    caller = ev->kind == SL_EV_CPU_OP && !t->has_caller && !sl_chakra_is_in(t, ev->start_ns, NULL)
                 ? sl_chakra_caller_of(c, ev)
                 : NULL;
    if (caller)
        hand_over(c, t, caller, ev->start_ns);
    settle(c, t, ev->start_ns);
    if (is_late(t, ev)) {
        c->count.rows_late++;
        return;
    }
    c->count.rows_cut += ev->start_ns < t->frontier_ns;
    t->row = *ev;
    t->pending = 1;
    t->named = 0;
    if (correlation && sl_call_may_enqueue(sl_chakra_class_of(ev)))
        note_launch(c, correlation, ev->thread);
}

/* Returns the row that was added at its begin and ends with this event. Returns NULL if there is no
 * such row. */
static struct sl_event *find_begun(struct sl_chakra_thread *t, const struct sl_event *end)
{
    struct sl_chakra_open *o;

    if (t->pending && t->row.kind == end->kind && t->row.order == end->order &&
        t->row.end_ns == SL_END_UNKNOWN)
        return &t->row;
    for (o = t->open; o; o = o->around)
        if (o->row.kind == end->kind && o->row.order == end->order &&
            o->row.end_ns == SL_END_UNKNOWN)
            return &o->row;
    return NULL;
}

void sl_chakra_take_end(struct sl_chakra *c, const struct sl_event *ev)
{
    struct sl_chakra_thread *t = sl_chakra_find_thread(c, ev->thread);
    struct sl_event *row = t ? find_begun(t, ev) : NULL;

    if (row)
        row->end_ns = ev->end_ns;
}

/* Returns the latest end of an operation at whose start the launch is cut. A later record of the
 * operation might come after the thread's next nodes were written. */
static uint64_t cut_until_ns(const struct sl_event *launch)
{
    return launch->end_ns +
           (launch->end_ns - launch->start_ns > SL_CHAKRA_DELAY_MAX_NS ? SL_CHAKRA_CUT_NS : 0);
}

int sl_chakra_may_be_cut(const struct sl_chakra *c, const struct sl_event *call,
                         uint64_t complete_ns)
{
    return call->flags & SL_EVF_LAUNCH && !c->hurried && !c->ending &&
           cut_until_ns(call) > complete_ns;
}

/* Called when an operation of the pending row begins. Cuts the row into two pieces at the time at
 * which the operation was enqueued. */
static void enqueued(struct sl_chakra *c, struct sl_chakra_thread *t, const struct sl_event *op,
                     uint64_t free_ns)
{
    uint64_t start_ns = op->start_ns;
    uint64_t cut = start_ns < t->row.start_ns ? t->row.start_ns : earlier(start_ns, t->row.end_ns);
    int waits = sl_chakra_waits(c, sl_chakra_correlation(&t->row));

    if (op->end_ns > cut_until_ns(&t->row) ||
        (!waits && t->row.end_ns - cut <= SL_CHAKRA_DELAY_MAX_NS)) {
        finish_row(c, t);
        return;
    }
    if (waits && cut > t->row.start_ns &&
        sl_chakra_waited_by(c, sl_chakra_correlation(&t->row), start_ns)) {
        /* The call is a copy from pageable memory, which first waited and then enqueued its
         * operation. */
        put_named(c, t, earlier(cut, t->row.start_ns + SL_CHAKRA_ENQUEUE_NS));
        put_wait(c, t, cut);
        set_launch(c, t);
        return;
    }
    /* If the operation began right after other work, it is not known when the operation was
     * enqueued, so SL_CHAKRA_ENQUEUE_NS is assumed. If the operation began later, on an idle
     * stream, it was enqueued just before its start. */
    if (free_ns > t->row.start_ns && start_ns <= free_ns + SL_CHAKRA_DELAY_MAX_NS)
        cut = earlier(cut, t->row.start_ns + SL_CHAKRA_ENQUEUE_NS);
    put_named(c, t, cut);
}

int sl_chakra_has_launch(const struct sl_chakra *c, uint64_t correlation)
{
    return find_launch(c, correlation) != NULL;
}

const struct sl_chakra_launch *sl_chakra_launch_of(struct sl_chakra *c, const struct sl_event *op,
                                                   uint64_t free_ns)
{
    struct sl_chakra_launch *l = find_launch(c, op->correlation);
    struct sl_chakra_thread *t;

    if (!l)
        return NULL;
    if (l->id)
        return l;
    t = sl_chakra_find_thread(c, l->thread);
    if (!t || !t->pending || t->named || sl_chakra_correlation(&t->row) != op->correlation)
        return NULL;
    enqueued(c, t, op, free_ns);
    return l->id ? l : NULL;
}

void sl_chakra_cut_thread(struct sl_chakra *c, struct sl_chakra_thread *t, uint64_t ns)
{
    settle(c, t, ns);
}

void sl_chakra_settle_waits(struct sl_chakra *c, uint64_t complete_ns)
{
    size_t i;

    for (i = 0; c->edges && i < c->threads; i++) {
        struct sl_chakra_thread *t = &c->thread[i];

        if (t->pending && t->row.end_ns <= complete_ns &&
            sl_chakra_waits(c, sl_chakra_correlation(&t->row)))
            finish_row(c, t);
    }
}

/* Skips a thread for which other threads work, because the end of its wait is not known. */
void sl_chakra_settle_idle(struct sl_chakra *c, uint64_t ns)
{
    for (size_t i = 0; i < c->threads; i++) {
        struct sl_chakra_thread *t = &c->thread[i];

        if (t->waits_for)
            continue;
        if (t->pending && t->row.end_ns <= ns)
            finish_row(c, t);
        if (!t->pending)
            close_open(c, t, ns);
    }
}

/* Ends the rows whose end event was lost. */
static void end_unended(struct sl_chakra_thread *t)
{
    if (t->row.end_ns == SL_END_UNKNOWN)
        t->row.end_ns = t->row.start_ns > t->frontier_ns ? t->row.start_ns : t->frontier_ns;
    for (struct sl_chakra_open *o = t->open; o; o = o->around)
        if (o->row.end_ns == SL_END_UNKNOWN)
            o->row.end_ns = t->frontier_ns;
}

void sl_chakra_close_threads(struct sl_chakra *c)
{
    size_t i;

    for (i = 0; i < c->threads; i++)
        end_unended(&c->thread[i]);
    for (i = 0; i < c->threads; i++) {
        struct sl_chakra_thread *t = &c->thread[i];

        if (t->waits_for && t->open)
            take_back(c, t, t->open->row.end_ns);
        if (t->pending)
            finish_row(c, t);
        close_open(c, t, UINT64_MAX);
    }
}
