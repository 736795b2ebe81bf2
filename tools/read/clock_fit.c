/*
 * clock_fit.c - compares GPU operations with their calls, and with the first call that waited for
 * them.
 *
 * Only waits that are certain count: the call of an operation had returned when the wait began, and
 * the records name the stream or the context.
 *
 * Threads, memory: see clock_fit.h.
 */
#include "read/clock_fit.h"

#include <stdio.h>
#include <string.h>

#include "print/format.h"
#include "sync/call_class.h"

#define ROUNDED_NS 2000u /* in ns; times in old files are rounded to whole microseconds */
#define UNKNOWN    UINT64_MAX

void sl_clock_fit_init(struct sl_clock_fit *f, uint32_t context)
{
    *f = (struct sl_clock_fit){.context = context, .lowest_ns = INT64_MIN, .highest_ns = INT64_MAX};
}

/* Returns the place of a key in a table. The place may hold another key. */
static struct sl_clock_tail *place(struct sl_clock_tail *table, uint64_t key)
{
    return &table[(key * 0x9e3779b97f4a7c15u >> 32) % SL_CLOCK_FIT_TAILS];
}

/* If `stream` is SL_STREAM_NONE, the key stands for the context. The result is 0 for
 * SL_CLOCK_FIT_CONTEXTS without a stream. */
static uint64_t key_of(uint32_t context, uint32_t stream)
{
    return ((uint64_t)context << 32 | stream) + 1;
}

static struct sl_clock_tail *find(struct sl_clock_tail *table, uint64_t key)
{
    struct sl_clock_tail *t = place(table, key);

    return key && t->key == key ? t : NULL;
}

/* ---- operations ---- */

static void end_with(struct sl_clock_fit *f, uint64_t key, uint64_t end_ns)
{
    struct sl_clock_tail *t = place(f->tail, key);

    if (t->key == key && end_ns <= t->end_ns)
        return;
    *t = (struct sl_clock_tail){
        .key = key, .end_ns = end_ns, .enqueued_ns = f->end_ns ? f->end_ns : UNKNOWN};
}

static void compare_with_wait(struct sl_clock_fit *f, uint64_t end_ns)
{
    int64_t room_ns = (int64_t)(f->end_ns - end_ns);

    f->awaited++;
    f->late += room_ns < -SL_CLOCK_FIT_FAR_NS;
    if (room_ns < f->highest_ns)
        f->highest_ns = room_ns;
}

static void take_operation(struct sl_clock_fit *f, const struct sl_event *ev, enum sl_clock_own own)
{
    int64_t ahead_ns = (int64_t)(f->start_ns - ev->start_ns);

    end_with(f, key_of(ev->context, ev->stream), ev->end_ns);
    end_with(f, key_of(ev->context, SL_STREAM_NONE), ev->end_ns);
    if (!f->end_ns)
        return;
    f->called++;
    f->early += ahead_ns > SL_CLOCK_FIT_FAR_NS;
    if (ahead_ns > f->lowest_ns)
        f->lowest_ns = ahead_ns;
    if ((own != SL_CLOCK_OWN_NONE && f->class == SL_CALL_BLOCKING_COPY) ||
        (own == SL_CLOCK_OWN_ANY && f->class != SL_CALL_GRAPH_LAUNCH))
        compare_with_wait(f, ev->end_ns);
}

/* ---- waits ---- */

/* Keeps which operation an event recorded. The rows of a file do not name the record's context. */
static void take_record(struct sl_clock_fit *f, const struct sl_event *ev)
{
    const struct sl_clock_tail *t = find(f->tail, key_of(f->context, ev->stream));

    if (f->context == SL_CLOCK_FIT_CONTEXTS || !t || t->enqueued_ns > f->start_ns)
        return;
    *place(f->record, ev->correlation) = (struct sl_clock_tail){
        .key = ev->correlation, .end_ns = t->end_ns, .enqueued_ns = t->enqueued_ns};
}

static void take_sync(struct sl_clock_fit *f, const struct sl_event *ev)
{
    f->has_sync = f->sees_syncs = 1;
    f->sync_context = ev->context;
    f->sync_stream = ev->stream;
    f->sync_record = ev->u.sync.event_sync_id;
}

/* Returns the operation that the current call waited for, or NULL if it is not certain. */
static struct sl_clock_tail *awaited(struct sl_clock_fit *f)
{
    switch (f->class) {
    case SL_CALL_DEVICE_SYNC:
    case SL_CALL_CONTEXT_SYNC:
        /* In a file with records of synchronization, the record of this call was lost. It may have
         * been for a context without operations. */
        if (!f->has_sync && f->sees_syncs)
            return NULL;
        return find(f->tail, key_of(f->has_sync ? f->sync_context : f->context, SL_STREAM_NONE));
    case SL_CALL_STREAM_SYNC:
        return f->has_sync ? find(f->tail, key_of(f->sync_context, f->sync_stream)) : NULL;
    case SL_CALL_EVENT_SYNC:
        return f->has_sync && f->sync_record ? find(f->record, f->sync_record) : NULL;
    default:
        return NULL;
    }
}

/* Ends the events with one correlation id. */
static void end_call(struct sl_clock_fit *f)
{
    struct sl_clock_tail *t = f->end_ns ? awaited(f) : NULL;

    if (t && !t->is_counted && t->enqueued_ns <= f->start_ns) {
        t->is_counted = 1;
        compare_with_wait(f, t->end_ns);
    }
}

/* ---- calls ---- */

static void begin_call(struct sl_clock_fit *f, const struct sl_event *ev)
{
    end_call(f);
    f->correlation = ev->correlation;
    f->start_ns = f->end_ns = 0;
    f->class = SL_CALL_OTHER;
    f->has_sync = 0;
}

/* An inner call with the same id changes nothing. If the id is of calls of two processes, it is not
 * known which of the calls is meant. */
static void take_call(struct sl_clock_fit *f, const struct sl_event *ev, int is_first)
{
    if (is_first && ev->u.call.result == 0) {
        f->start_ns = ev->start_ns;
        f->end_ns = ev->end_ns;
        f->thread = ev->thread;
        f->class = (uint8_t)sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid);
    } else if (ev->thread != f->thread || ev->start_ns > f->end_ns + ROUNDED_NS) {
        f->start_ns = f->end_ns = 0;
    }
}

void sl_clock_fit_event(struct sl_clock_fit *f, const struct sl_event *ev, enum sl_clock_own own)
{
    int is_first = ev->correlation != f->correlation;

    if (is_first)
        begin_call(f, ev);
    switch (ev->kind) {
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        take_call(f, ev, is_first);
        break;
    case SL_EV_CUDA_EVENT:
        take_record(f, ev);
        break;
    case SL_EV_SYNC:
        take_sync(f, ev);
        break;
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
        take_operation(f, ev, own);
        break;
    default:
        break;
    }
}

void sl_clock_fit_end(struct sl_clock_fit *f)
{
    end_call(f);
    f->end_ns = 0;
}

/* ---- the result ---- */

static int are_many(uint64_t some, uint64_t all)
{
    return some > all / 100;
}

int sl_clock_fit_is_apart(const struct sl_clock_fit *f)
{
    return are_many(f->early, f->called) || are_many(f->late, f->awaited);
}

static int64_t size_of(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

int64_t sl_clock_fit_skew_ns(const struct sl_clock_fit *f)
{
    int64_t ns = f->lowest_ns > 0 ? f->lowest_ns : f->highest_ns, most;

    if (!sl_clock_fit_is_apart(f))
        return 0;
    if (f->lowest_ns <= f->highest_ns)
        return ns;
    /* The clocks drift apart. The number that contradicts no wait is taken if it repairs most of
     * the difference. */
    most = size_of(f->lowest_ns) > size_of(f->highest_ns) ? f->lowest_ns : f->highest_ns;
    return f->lowest_ns - f->highest_ns <= size_of(most) / 2 ? f->highest_ns : 0;
}

/* Appends a text. */
static void add(char *to, size_t size, uint64_t some, uint64_t all, const char *what, int64_t ns)
{
    char n[SL_FORMAT_SIZE], m[SL_FORMAT_SIZE], span[SL_FORMAT_SIZE];
    size_t used = strlen(to);

    if (some)
        snprintf(to + used, size - used, "%s%s of %s GPU operations %s, by up to %s",
                 used ? "; " : "", sl_format_count(n, some), sl_format_count(m, all), what,
                 sl_format_span(span, (uint64_t)ns));
}

char *sl_clock_fit_text(const struct sl_clock_fit *f, char *to, size_t size)
{
    to[0] = '\0';
    add(to, size, f->early, f->called, "begin before their call", f->lowest_ns);
    add(to, size, f->late, f->awaited, "end after the call that waited for them", -f->highest_ns);
    return to;
}
