/*
 * kineto_row.c - changes the events of a trace that other programs refuse.
 *
 * Threads, memory: see kineto_row.h.
 */
#include "convert/kineto_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "read/number.h"

#define PAUSE_NS 2
/* Two times that differ by at most this much may be equal, or cross, as doubles of microseconds. */
#define TOUCH_NS 1

/* Returns the value of the next member with this key after `*at`, and moves `*at` behind it. Inside
 * of strings quotes are escaped, so a quoted key is a key. */
static struct sl_text next_value(const struct sl_span *span, const char *key, const char **at)
{
    const char *end = span->text + span->size;
    const char *p = memmem(*at, (size_t)(end - *at), key, strlen(key)), *from;

    if (!p)
        return (struct sl_text){NULL, 0};
    for (p += strlen(key); p < end && strchr(" \t\r\n:", *p); p++)
        ;
    for (from = p; p < end && !strchr(" \t\r\n,}", *p); p++)
        ;
    *at = p;
    return (struct sl_text){from, (size_t)(p - from)};
}

/* Finds the number of a member that is this time. Another object inside the event may have a member
 * of the same name. */
static struct sl_text find_time(const struct sl_span *span, const char *key, int64_t wanted_ns)
{
    const char *at = span->text;
    struct sl_text value;
    int64_t ns;
    int exact;

    while ((value = next_value(span, key, &at)).data)
        if (sl_number_scaled(value.data, value.size, 3, &ns, &exact) == 0 && ns == wanted_ns)
            break;
    return value;
}

static void change_time(struct sl_kineto_change *out, struct sl_text old, int64_t ns)
{
    out->from = old.data;
    out->to = old.data + old.size;
    snprintf(out->text, sizeof(out->text), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static int is_fact(const struct sl_trace_row *row)
{
    static const char *const names[] = {"sync_edge", "sync_name", "cuda_event_name",
                                        "distributedInfo"};

    for (size_t i = 0; row->phase == 'M' && i < sizeof(names) / sizeof(names[0]); i++)
        if (sl_text_is(row->name, names[i]))
            return 1;
    return 0;
}

/* The metadata event of an edge has no time. It follows the slice of its call. */
static size_t change_fact(const struct sl_kineto_row *r, const struct sl_trace_item *item,
                          struct sl_kineto_change *out)
{
    const char *scope = sl_text_is(item->row.name, "sync_edge") ? "t" : "p", *at = item->span.text;
    int64_t ns = r->last_ns > r->first_ns ? r->last_ns : r->first_ns;
    struct sl_text phase;

    do
        phase = next_value(&item->span, "\"ph\"", &at);
    while (phase.data && !sl_text_is(phase, "\"M\""));
    if (!phase.data)
        return 0;
    out->from = phase.data;
    out->to = phase.data + phase.size;
    if (item->row.has & SL_HAS_TS)
        snprintf(out->text, sizeof(out->text), "\"i\",\"s\":\"%s\"", scope);
    else
        snprintf(out->text, sizeof(out->text), "\"i\",\"s\":\"%s\",\"ts\":%" PRId64 ".%03d", scope,
                 ns / 1000, (int)(ns % 1000));
    return 1;
}

static size_t change_step(struct sl_kineto_row *r, const struct sl_trace_item *item,
                          struct sl_kineto_change *out)
{
    const struct sl_trace_row *row = &item->row;
    struct sl_text ts = find_time(&item->span, "\"ts\"", row->ts_ns);
    struct sl_text dur = find_time(&item->span, "\"dur\"", row->dur_ns);
    int64_t since = row->ts_ns - r->step_end_ns, later = PAUSE_NS - since;
    int touches = since >= -TOUCH_NS && since < PAUSE_NS &&
                  sl_text_is(row->pid.text, r->step_pid) && sl_text_is(row->tid.text, r->step_tid);
    int ts_is_first = ts.data < dur.data;

    sl_text_copy(r->step_pid, sizeof(r->step_pid), row->pid.text);
    sl_text_copy(r->step_tid, sizeof(r->step_tid), row->tid.text);
    r->step_end_ns = row->ts_ns + row->dur_ns;
    if (!touches || !ts.data || !dur.data || row->dur_ns <= later)
        return 0;
    change_time(&out[!ts_is_first], ts, row->ts_ns + later);
    change_time(&out[ts_is_first], dur, row->dur_ns - later);
    return 2;
}

size_t sl_kineto_row_changes(struct sl_kineto_row *r, const struct sl_trace_item *item,
                             struct sl_kineto_change out[SL_KINETO_CHANGES])
{
    const struct sl_trace_row *row = &item->row;

    if (item->status)
        return 0;
    if ((row->has & SL_HAS_TS) && row->ts_ns >= 0) {
        if (!r->has_first)
            r->first_ns = row->ts_ns;
        r->has_first = 1;
        if (row->phase == 'X')
            r->last_ns = row->ts_ns;
    }
    if (is_fact(row))
        return change_fact(r, item, out);
    if (row->phase == 'X' && row->category == SL_CAT_USER_ANNOTATION && row->ts_ns > 0 &&
        sl_text_begins(row->name, "ProfilerStep#"))
        return change_step(r, item, out);
    return 0;
}
