/*
 * kineto.c - recompresses a Kineto trace and closes it properly.
 *
 * The text is copied byte for byte, but for the few events that other programs refuse
 * (kineto_row.h). Events and fields that are not valid JSON are left out. A truncated trace is
 * closed after its last complete event. Of some steps only their events are copied (cut.h).
 *
 * Threads: main; a helper thread decompresses. Memory: see trace_file.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/cut.h"
#include "convert/kineto_row.h"
#include "convert/output.h"
#include "convert/request.h"
#include "print/format.h"
#include "read/broken_row.h"
#include "read/et_text.h"
#include "read/trace_file.h"

#define NAMED 3 /* number of invalid events whose names are reported */

/* The result of the copy. */
struct outcome {
    struct sl_cut *cut; /* NULL: the whole trace is copied */
    uint64_t events;    /* number of events that were written */
    uint64_t invalid;   /* number of events and fields that are not JSON and were left out */
    char names[NAMED * (SL_ET_TEXT_SHOWN + 40)]; /* names and places of the first of them */
    enum sl_span_kind inside;                    /* kind of the last span that was written */
    int event_arrays;
    int has_distributed; /* 1: the text has the member distributedInfo */
    struct sl_kineto_row row;
    struct sl_header header; /* only the rank, from metadata events (sl_trace_take_rank()) */
    int64_t first_ns,
        last_ns;         /* first start and last end of the slices; first_ns > last_ns: none */
    uint64_t lost_bytes; /* number of bytes of text after the last complete span */
    struct sl_span last;
    struct sl_input_status input;
};

static void put_text(struct sl_output *o, const char *text)
{
    sl_output_write(o, text, strlen(text));
}

static void take_times(struct outcome *result, const struct sl_trace_row *row)
{
    if (row->ts_ns < result->first_ns)
        result->first_ns = row->ts_ns;
    if (row->ts_ns + row->dur_ns > result->last_ns)
        result->last_ns = row->ts_ns + row->dur_ns;
}

/* Of a part, adds a member that names the steps. */
static void put_steps(struct sl_output *o, const struct sl_convert_request *r)
{
    char text[96];

    snprintf(text, sizeof(text), ",\n\"cutSteps\": [%" PRId64 ", %" PRId64 "]", r->first_step,
             r->last_step);
    if (r->has_steps)
        put_text(o, text);
}

/* Returns whether a part leaves out the span. */
static int is_left_out(const struct outcome *result, const struct sl_trace_item *item)
{
    const struct sl_span *span = &item->span;

    if (!result->cut)
        return 0;
    if (span->kind == SL_SPAN_FIELD) /* the input was a part itself */
        return sl_text_is((struct sl_text){span->key, span->key_size}, "cutSteps");
    return span->kind == SL_SPAN_EVENT && !sl_cut_keeps(result->cut, item);
}

/* Writes the lead of a span. If the span is the first of an object or array because the spans
 * before it were left out, the comma before it is left out too. */
static void put_lead(struct sl_output *o, const struct outcome *result, const struct sl_span *span)
{
    const char *lead = span->text - span->lead;
    size_t space = 0;

    if ((result->cut || result->invalid) &&
        (result->inside == SL_SPAN_OPEN || result->inside == SL_SPAN_EVENTS_OPEN))
        while (space < span->lead && sl_text_is_space(lead[space]))
            space++;
    else
        space = span->lead;
    sl_output_write(o, lead, space);
    space += space < span->lead && lead[space] == ',';
    sl_output_write(o, lead + space, span->lead - space);
}

/* Writes a span and its lead, with the changes that an event needs. */
static void put_span(struct sl_output *o, struct outcome *result, const struct sl_trace_item *item)
{
    struct sl_kineto_change change[SL_KINETO_CHANGES];
    const char *from = item->span.text;
    size_t changes =
        item->span.kind == SL_SPAN_EVENT ? sl_kineto_row_changes(&result->row, item, change) : 0;

    put_lead(o, result, &item->span);
    for (size_t i = 0; i < changes; i++) {
        sl_output_write(o, from, (size_t)(change[i].from - from));
        put_text(o, change[i].text);
        from = change[i].to;
    }
    sl_output_write(o, from, (size_t)(item->span.text + item->span.size - from));
}

/* Counts an event or field that is left out, and keeps its name and place for the report. */
static void leave_out(struct outcome *result, const struct sl_trace_item *item)
{
    const struct sl_span *span = &item->span;
    struct sl_text text = {span->key, span->key_size};
    size_t used = strlen(result->names);
    char name[SL_ET_TEXT_SHOWN];

    if (result->invalid++ >= NAMED)
        return;
    if (span->kind == SL_SPAN_EVENT)
        text = sl_broken_row_name(span->text, span->size);
    sl_et_text_show(name, text.data, text.size);
    snprintf(result->names + used, sizeof(result->names) - used, "%s%s (byte %" PRIu64 ")",
             used ? ", " : "", name, span->offset + item->error.at);
}

/* Writes the further events that the caller has, after an event. */
static void put_more_events(struct sl_output *o, const struct sl_convert_request *r,
                            const struct outcome *result)
{
    int rc;

    if (!r->more_events || result->inside != SL_SPAN_EVENT || result->event_arrays > 1 || o->error)
        return;
    rc = r->more_events(r, o);
    o->error = o->error ? o->error : rc;
}

/* Copies complete spans until the text ends. */
static void copy_all(struct sl_trace *t, struct sl_output *o, const struct sl_convert_request *r,
                     struct outcome *result)
{
    struct sl_trace_item item;

    sl_trace_show(t, "converting", r->input);
    while (sl_trace_next(t, &item) && !o->error) {
        if (item.status == -EBADMSG) {
            leave_out(result, &item);
            continue;
        }
        if (is_left_out(result, &item))
            continue;
        if (item.span.kind == SL_SPAN_CLOSE)
            put_steps(o, r);
        if (item.span.kind == SL_SPAN_EVENTS_CLOSE)
            put_more_events(o, r, result);
        put_span(o, result, &item);
        result->inside = item.span.kind;
        result->event_arrays += item.span.kind == SL_SPAN_EVENTS_OPEN;
        result->events += item.span.kind == SL_SPAN_EVENT;
        result->has_distributed |=
            item.span.kind == SL_SPAN_FIELD &&
            sl_text_is((struct sl_text){item.span.key, item.span.key_size}, "distributedInfo");
        if (item.span.kind == SL_SPAN_EVENT && item.status == 0 && item.row.phase == 'X')
            take_times(result, &item.row);
        if (item.span.kind == SL_SPAN_EVENT)
            sl_trace_take_rank(t, &item, &result->header);
    }
    sl_trace_get_status(t, &result->input);
    result->last = item.span;
    result->lost_bytes = item.span.lead + item.span.size;
}

/* Adds the member distributedInfo, which a truncated trace lacks if the rank was not known at its
 * beginning. */
static void put_distributed(struct sl_output *o, const struct outcome *result)
{
    const struct sl_header *h = &result->header;
    char text[256];

    if (result->has_distributed || !h->has_rank)
        return;
    snprintf(text, sizeof(text),
             ",\n\"distributedInfo\": {\"backend\": \"unknown\", \"rank\": %" PRId64
             ", \"world_size\": %" PRId64
             ", \"pg_count\": 0, \"pg_config\": [], \"nccl_version\": \"unknown\"}",
             h->rank, h->world_size);
    put_text(o, text);
}

/* Writes the end of the trace: the rest of a complete trace, or a text that closes a truncated
 * trace. */
static void finish(struct sl_output *o, const struct sl_convert_request *r, struct outcome *result)
{
    const struct sl_span *last = &result->last;

    if (last->kind == SL_SPAN_END) {
        sl_output_write(o, last->text - last->lead, last->lead + last->size);
        return;
    }
    put_more_events(o, r, result);
    if (result->inside == SL_SPAN_EVENT || result->inside == SL_SPAN_EVENTS_OPEN)
        put_text(o, "\n]");
    else if (result->event_arrays == 0)
        put_text(o, result->inside == SL_SPAN_FIELD ? ",\n\"traceEvents\": []"
                                                    : "\"traceEvents\": []");
    if (result->inside == SL_SPAN_CLOSE)
        return;
    put_distributed(o, result);
    put_steps(o, r);
    put_text(o, "\n}\n");
}

/* Returns 1, with the reason in `why`, if the input has nothing from which a trace can be made. */
static int hopeless(const struct outcome *result, const char **why)
{
    const struct sl_span *last = &result->last;

    if (result->input.end != SL_INPUT_WHOLE && result->input.text_bytes == 0)
        *why = result->input.what;
    else if (result->event_arrays == 0 && last->kind == SL_SPAN_END)
        *why = "it is JSON without traceEvents (an execution trace of PyTorch belongs to `convert "
               "--et`)";
    else if (result->event_arrays == 0 && result->inside == SL_SPAN_OPEN)
        *why = last->kind == SL_SPAN_BAD ? last->why : "it ends before the first field";
    else
        return 0;
    return 1;
}

/* Reports what was lost. Returns the exit status. */
static int tell(const struct sl_convert_request *r, const struct outcome *result)
{
    const struct sl_span *last = &result->last;
    const char *what = result->input.what[0]       ? result->input.what
                       : last->kind == SL_SPAN_BAD ? last->why
                                                   : "the text ends too early";
    char events[SL_FORMAT_SIZE], until[64] = "";
    int status = SL_EXIT_OK;

    if (result->first_ns <= result->last_ns)
        snprintf(until, sizeof(until), ", up to %.3f s after the first",
                 (double)(result->last_ns - result->first_ns) / 1e9);

    if (last->kind != SL_SPAN_END || result->input.end != SL_INPUT_WHOLE)
        status =
            sl_args_problem(r->command,
                            "%s is truncated or damaged: %s, at byte %" PRIu64
                            " of the uncompressed text. Kept: %s whole events%s; lost: everything "
                            "after them (%" PRIu64 " bytes of an unfinished part); "
                            "%s is a valid trace",
                            r->input, what, last->offset, sl_format_count(events, result->events),
                            until, last->kind == SL_SPAN_END ? 0 : result->lost_bytes, r->output);
    if (result->invalid)
        status = sl_args_problem(r->command,
                                 "%s: left out: %s events or fields that are not valid JSON: %s%s",
                                 r->input, sl_format_count(events, result->invalid), result->names,
                                 result->invalid > NAMED ? ", ..." : "");
    return status;
}

int sl_convert_kineto(const struct sl_convert_request *r)
{
    static struct sl_output o;
    static struct outcome result;
    struct sl_cut *cut = NULL;
    struct sl_trace *t;
    const char *why;
    char line[512];
    int rc, status = sl_output_check(r->command, r->input, r->output, r->force);

    if (!status && r->has_steps)
        status = sl_cut_create(&cut, r);
    if (status)
        return status;
    if (sl_trace_open(&t, r->input, line, sizeof(line)) != 0) {
        sl_cut_destroy(cut);
        return sl_args_complain(r->command, "%s", line);
    }
    result = (struct outcome){
        .inside = SL_SPAN_OPEN, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .cut = cut};
    rc = sl_output_open(&o, r->output, r->compression, r->level);
    if (rc == 0) {
        copy_all(t, &o, r, &result);
        if (!o.error && hopeless(&result, &why)) {
            status = sl_args_complain(
                r->command, "%s is not a Kineto trace: %s; nothing was written", r->input, why);
            sl_output_drop(&o);
        } else {
            finish(&o, r, &result);
            rc = sl_output_keep(&o, r->output, r->force);
        }
    }
    sl_trace_close(t);
    sl_cut_destroy(cut);
    if (status)
        return status;
    return rc ? sl_output_complain(r->command, r->output, rc) : tell(r, &result);
}
