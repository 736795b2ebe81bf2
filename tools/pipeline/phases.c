/*
 * phases.c - matches ranges with patterns, and finds for each kernel the ranges around its launch.
 *
 * The ranges of a thread are sorted by start, and each knows the last earlier one that is still
 * open when it begins. So the ranges that are open at a moment are a chain that begins with the
 * last range that began before it.
 *
 * Threads, memory: see phases.h.
 */
#include "pipeline/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/device.h"
#include "read/grow.h"

#define STRANGERS_MOST 256
#define THREADS_MOST   64
#define DEPTH_MOST     256 /* operators inside each other */

/* ---- names ---- */

int sl_phase_names_init(struct sl_phase_names *n, const struct sl_patterns *patterns,
                        struct sl_intern *names)
{
    size_t slots = (size_t)sl_intern_count(names) + 1;

    *n = (struct sl_phase_names){.patterns = patterns, .names = names, .slots = slots};
    n->id = calloc(slots, sizeof(*n->id));
    n->state = calloc(slots, sizeof(*n->state));
    n->loose_name_ns = calloc(slots, sizeof(*n->loose_name_ns));
    return n->id && n->state && n->loose_name_ns ? 0 : -ENOMEM;
}

void sl_phase_names_free(struct sl_phase_names *n)
{
    free(n->id);
    free(n->state);
    free(n->stranger);
    free(n->loose_name_ns);
}

/* Returns 1 if two names differ in nothing but numbers. */
static int is_alike(const char *a, const char *b)
{
    while (*a && *b) {
        size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");

        if (!digits_a != !digits_b || (!digits_a && *a != *b))
            return 0;
        a += digits_a ? digits_a : 1;
        b += digits_b ? digits_b : 1;
    }
    return *a == *b;
}

/* Counts a name that no pattern matches. Until the end, `id[name].mb` is its stranger. */
static int add_stranger(struct sl_phase_names *n, uint32_t name, const char *text, int is_new)
{
    struct sl_phase_stranger *s;
    int32_t at = is_new ? 0 : n->id[name].mb;

    for (; is_new && (size_t)at < n->strangers; at++) {
        const char *known = sl_intern_get(n->names, n->stranger[at].name, NULL);

        if (known && is_alike(known, text))
            break;
    }
    n->id[name].mb = at;
    if ((size_t)at < n->strangers) {
        n->stranger[at].count++;
        return 0;
    }
    if (n->strangers == STRANGERS_MOST)
        return 0;
    s = sl_grow((void **)&n->stranger, &n->strangers, &n->stranger_slots, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct sl_phase_stranger){name, 1};
    return 0;
}

/* Returns 1 and the phase of a name, 0 if it has none, or -ENOMEM. */
static int find(struct sl_phase_names *n, uint32_t name, struct sl_phase_id *out)
{
    const char *text = sl_intern_get(n->names, name, NULL);
    int is_new;

    if (!text || name >= n->slots || strncmp(text, "ProfilerStep#", 13) == 0)
        return 0;
    is_new = !n->state[name];
    if (is_new)
        n->state[name] = sl_patterns_find(n->patterns, text, &n->id[name]) ? 1 : 2;
    *out = n->id[name];
    if (n->state[name] == 1)
        return n->id[name].kind != SL_PHASE_NONE;
    return add_stranger(n, name, text, is_new);
}

/* ---- ranges ---- */

static int take_ranges(struct sl_phases *out, const struct sl_recording *r,
                       struct sl_phase_names *n)
{
    out->phase = calloc(r->annotations + 1, sizeof(*out->phase));
    out->of_op = calloc(r->ops + 1, sizeof(*out->of_op));
    if (!out->phase || !out->of_op)
        return -ENOMEM;
    for (size_t i = 0; i < r->annotations; i++) {
        const struct sl_report_annotation *a = &r->annotation[i];
        struct sl_phase *p = &out->phase[out->count];
        int rc = find(n, a->name, &p->id);

        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        p->start_ns = a->start_ns;
        p->end_ns = a->end_ns;
        p->thread = a->thread;
        p->name = a->name;
        p->device = SL_DEVICE_NONE;
        out->count++;
    }
    return 0;
}

/* Returns the innermost range of `from` (an index + 1) and those around it that is open at `ns`. */
static uint32_t open_at(const struct sl_phases *p, uint32_t from, uint64_t ns)
{
    while (from && p->phase[from - 1].end_ns <= ns)
        from = p->phase[from - 1].around;
    return from;
}

static void nest(struct sl_phases *p)
{
    for (size_t i = 1; i < p->count; i++)
        if (p->phase[i].thread == p->phase[i - 1].thread)
            p->phase[i].around = open_at(p, (uint32_t)i, p->phase[i].start_ns);
}

/* Returns the index + 1 of the next range of the same kind that encloses a range, or 0. */
static uint32_t same_around(const struct sl_phases *p, const struct sl_phase *inner)
{
    uint32_t at = inner->around;

    while (at &&
           (p->phase[at - 1].id.kind != inner->id.kind || p->phase[at - 1].end_ns < inner->end_ns))
        at = p->phase[at - 1].around;
    return at;
}

/* Decides which of the ranges of one kind inside each other is the phase. */
static void join_same(struct sl_phases *p)
{
    for (size_t i = 0; i < p->count; i++) {
        uint32_t outer = same_around(p, &p->phase[i]);

        if (outer)
            p->phase[outer - 1].children++;
    }
    for (size_t i = 0; i < p->count; i++) {
        struct sl_phase *inner = &p->phase[i], *outer;
        uint32_t at = same_around(p, inner);

        inner->is_dropped = inner->children > 1;
        if (!at || p->phase[at - 1].is_dropped)
            continue;
        at = p->phase[at - 1].owner ? p->phase[at - 1].owner : at;
        outer = &p->phase[at - 1];
        inner->owner = at;
        if (outer->id.mb < 0)
            outer->id.mb = inner->id.mb;
        if (outer->id.chunk < 0)
            outer->id.chunk = inner->id.chunk;
    }
    /* An outer range with one inside, which has several inside, is none either. */
    for (size_t i = p->count; i-- > 0;)
        if (p->phase[i].is_dropped) {
            uint32_t at = same_around(p, &p->phase[i]);

            p->phase[i].owner = 0;
            if (at)
                p->phase[at - 1].is_dropped = 1;
        }
    for (size_t i = 0; i < p->count; i++)
        if (p->phase[i].owner && p->phase[p->phase[i].owner - 1].is_dropped)
            p->phase[i].owner = 0;
}

/* ---- kernels ---- */

/* A thread with ranges. */
struct thread {
    uint32_t number;
    size_t first, end; /* its ranges */
    uint8_t device;    /* of the first kernel that it launched; SL_DEVICE_NONE: none */
};

struct search {
    const struct sl_recording *r;
    struct sl_phases *p;
    struct sl_report_sequence *by_start; /* the sequence numbers by thread and start; made when they
                                            are first needed */
    struct thread thread[THREADS_MOST];
    size_t threads;
};

static void list_threads(struct search *s)
{
    const struct sl_phases *p = s->p;

    for (size_t i = 0, end; i < p->count && s->threads < THREADS_MOST; i = end) {
        for (end = i; end < p->count && p->phase[end].thread == p->phase[i].thread; end++)
            ;
        s->thread[s->threads++] = (struct thread){p->phase[i].thread, i, end, SL_DEVICE_NONE};
    }
}

/* A file may have several processes, each with a device of its own. */
static void find_devices(struct search *s)
{
    for (size_t i = 0; i < s->r->ops; i++) {
        const struct sl_report_op *op = &s->r->op[i];

        for (size_t k = 0; op->launch && k < s->threads; k++)
            if (s->thread[k].device == SL_DEVICE_NONE &&
                s->thread[k].number == s->r->launch[op->launch - 1].thread)
                s->thread[k].device = op->device;
    }
}

/* Returns the innermost range that is open on the thread, as an index + 1, or 0. */
static uint32_t find_on(const struct search *s, const struct thread *t, uint64_t ns)
{
    size_t low = t->first, high = t->end;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->p->phase[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > t->first ? open_at(s->p, (uint32_t)low, ns) : 0;
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct sl_report_sequence *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Returns the innermost operator with a sequence number around a moment, or NULL. */
static const struct sl_report_sequence *sequence_at(struct search *s, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = s->r->sequences, least;

    if (!high)
        return NULL;
    if (!s->by_start) {
        s->by_start = malloc(high * sizeof(*s->by_start));
        if (!s->by_start)
            return NULL;
        memcpy(s->by_start, s->r->sequence, high * sizeof(*s->by_start));
        qsort(s->by_start, high, sizeof(*s->by_start), by_thread_and_start);
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_sequence *at = &s->by_start[middle];

        if (at->thread < thread || (at->thread == thread && at->start_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    least = low > DEPTH_MOST ? low - DEPTH_MOST : 0;
    while (low-- > least && s->by_start[low].thread == thread)
        if (s->by_start[low].end_ns > ns)
            return &s->by_start[low];
    return NULL;
}

/* Returns 1 if an operator of the thread before `ns` has the sequence number. */
static int has_forward(const struct sl_recording *r, int64_t number, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->sequences;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->sequence[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->sequences && r->sequence[low].number == number; low++)
        if (r->sequence[low].thread == thread && r->sequence[low].start_ns < ns)
            return 1;
    return 0;
}

/* Returns the range of the thread that waits for the launching thread, or 0. */
static uint32_t find_caller(struct search *s, const struct sl_report_op *op, uint32_t thread,
                            uint64_t ns)
{
    const struct sl_report_sequence *sequence = NULL;
    uint32_t found[THREADS_MOST], at, only = 0;
    size_t open = 0, with = 0;

    for (size_t i = 0; i < s->threads; i++) {
        if (s->thread[i].number == thread ||
            (s->thread[i].device != SL_DEVICE_NONE && s->thread[i].device != op->device))
            continue;
        at = find_on(s, &s->thread[i], ns);
        if (at)
            found[open++] = at;
    }
    if (open <= 1)
        return open ? found[0] : 0;
    sequence = sequence_at(s, thread, ns);
    for (size_t i = 0; sequence && i < open; i++)
        if (has_forward(s->r, sequence->number, s->p->phase[found[i] - 1].thread,
                        sequence->start_ns)) {
            only = found[i];
            with++;
        }
    return with == 1 ? only : 0;
}

/* Returns the innermost range around the launch of an operation, or 0. */
static uint32_t range_of(struct search *s, const struct sl_report_op *op)
{
    const struct sl_report_launch *l = op->launch ? &s->r->launch[op->launch - 1] : NULL;
    uint32_t at = 0;

    if (!l)
        return 0;
    for (size_t i = 0; i < s->threads && !at; i++)
        if (s->thread[i].number == l->thread)
            at = find_on(s, &s->thread[i], l->start_ns);
    return at ? at : find_caller(s, op, l->thread, l->start_ns);
}

static void lengthen(struct sl_phase *p, const struct sl_report_op *op)
{
    if (p->device == SL_DEVICE_NONE) {
        p->device = op->device;
        p->begin_ns = op->start_ns;
        p->done_ns = op->end_ns;
    }
    if (p->device != op->device)
        return;
    p->begin_ns = op->start_ns < p->begin_ns ? op->start_ns : p->begin_ns;
    p->done_ns = op->end_ns > p->done_ns ? op->end_ns : p->done_ns;
}

/* Gives the operation to the innermost phase of its kind of work, and lengthens those around it. */
static void give(struct search *s, size_t op_index, uint32_t at)
{
    const struct sl_report_op *op = &s->r->op[op_index];
    int wanted = op->work == SL_WORK_COMMUNICATION;

    for (; at; at = s->p->phase[at - 1].around) {
        uint32_t owner = s->p->phase[at - 1].owner ? s->p->phase[at - 1].owner : at;
        struct sl_phase *p = &s->p->phase[owner - 1];

        if (!sl_phase_is_own(p) || sl_phase_is_communication(p->id.kind) != wanted)
            continue;
        lengthen(p, op);
        p->kernels++;
        if (!s->p->of_op[op_index])
            s->p->of_op[op_index] = owner;
    }
}

static void count_loose(struct sl_phase_names *n, const struct sl_report_op *op)
{
    n->loose++;
    n->loose_ns += op->end_ns - op->start_ns;
    if (op->name < n->slots)
        n->loose_name_ns[op->name] += op->end_ns - op->start_ns;
}

/* Adds up the time in which kernels of each phase run. Operations are by device and start. */
static int add_kernel_times(struct search *s)
{
    uint64_t *until = calloc(s->p->count + 1, sizeof(*until));

    if (!until)
        return -ENOMEM;
    for (size_t i = 0; i < s->r->ops; i++) {
        const struct sl_report_op *op = &s->r->op[i];
        uint32_t at = s->p->of_op[i];
        uint64_t from;

        if (!at || s->p->phase[at - 1].device != op->device)
            continue;
        from = op->start_ns > until[at] ? op->start_ns : until[at];
        s->p->phase[at - 1].kernel_ns += op->end_ns > from ? op->end_ns - from : 0;
        until[at] = op->end_ns > until[at] ? op->end_ns : until[at];
    }
    free(until);
    return 0;
}

int sl_phases_make(struct sl_phases *out, const struct sl_recording *r, struct sl_phase_names *n)
{
    struct search s = {.r = r, .p = out};
    int rc;

    *out = (struct sl_phases){0};
    rc = take_ranges(out, r, n);
    if (rc)
        return rc;
    nest(out);
    join_same(out);
    list_threads(&s);
    find_devices(&s);
    for (size_t i = 0; i < r->ops; i++) {
        uint32_t at;

        if (r->op[i].work == SL_WORK_COPY)
            continue;
        at = range_of(&s, &r->op[i]);
        if (at)
            give(&s, i, at);
        else
            count_loose(n, &r->op[i]);
    }
    free(s.by_start);
    return add_kernel_times(&s);
}

void sl_phases_free(struct sl_phases *p)
{
    free(p->phase);
    free(p->of_op);
    free(p->ready_ns);
    *p = (struct sl_phases){0};
}
