/*
 * kineto.c - recompresses a Kineto trace and closes it properly.
 *
 * The text is copied byte for byte, but for the few events that other programs refuse
 * (kineto_row.h). A truncated trace is closed after its last complete event.
 *
 * Threads: main; a helper thread decompresses. Memory: see trace_file.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/kineto_row.h"
#include "convert/output.h"
#include "convert/request.h"
#include "print/format.h"
#include "read/trace_file.h"

/* The result of the copy. */
struct outcome {
    uint64_t events;
    uint64_t invalid, invalid_at; /* number of events and fields that are not JSON, and the text
                                     offset of the first, in bytes */
    enum sl_span_kind inside;     /* kind of the last span that was written */
    int event_arrays;
    int has_distributed; /* 1: the text has the member distributedInfo */
    struct sl_kineto_row row;
    struct sl_header header; /* only the rank, from metadata events (sl_trace_take_rank()) */
    uint64_t lost_bytes;     /* number of bytes of text after the last complete span */
    struct sl_span last;
    struct sl_input_status input;
};

static void put_text(struct sl_output *o, const char *text)
{
    sl_output_write(o, text, strlen(text));
}

/* Copies a span, with the text before it and with the changes that an event needs. */
static void copy_span(struct sl_output *o, const struct sl_trace_item *item, struct outcome *result)
{
    struct sl_kineto_change change[SL_KINETO_CHANGES];
    const char *from = item->span.text - item->span.lead;
    size_t changes =
        item->span.kind == SL_SPAN_EVENT ? sl_kineto_row_changes(&result->row, item, change) : 0;

    for (size_t i = 0; i < changes; i++) {
        sl_output_write(o, from, (size_t)(change[i].from - from));
        put_text(o, change[i].text);
        from = change[i].to;
    }
    sl_output_write(o, from, (size_t)(item->span.text + item->span.size - from));
}

/* Copies complete spans until the text ends. */
static void copy_all(struct sl_trace *t, struct sl_output *o, const char *path,
                     struct outcome *result)
{
    struct sl_trace_item item;

    sl_trace_show(t, "converting", path);
    while (sl_trace_next(t, &item) && !o->error) {
        copy_span(o, &item, result);
        result->inside = item.span.kind;
        result->event_arrays += item.span.kind == SL_SPAN_EVENTS_OPEN;
        if (item.status == -EBADMSG && result->invalid++ == 0)
            result->invalid_at = item.span.offset + item.error.at;
        result->events += item.span.kind == SL_SPAN_EVENT;
        result->has_distributed |=
            item.span.kind == SL_SPAN_FIELD &&
            sl_text_is((struct sl_text){item.span.key, item.span.key_size}, "distributedInfo");
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
static void finish(struct sl_output *o, struct outcome *result)
{
    const struct sl_span *last = &result->last;

    if (last->kind == SL_SPAN_END) {
        sl_output_write(o, last->text - last->lead, last->lead + last->size);
        return;
    }
    if (result->inside == SL_SPAN_EVENT || result->inside == SL_SPAN_EVENTS_OPEN)
        put_text(o, "\n]");
    else if (result->event_arrays == 0)
        put_text(o, result->inside == SL_SPAN_FIELD ? ",\n\"traceEvents\": []"
                                                    : "\"traceEvents\": []");
    if (result->inside == SL_SPAN_CLOSE)
        return;
    put_distributed(o, result);
    put_text(o, "\n}\n");
}

/* Returns 1, with the reason in `why`, if the input has nothing from which a trace can be made. */
static int hopeless(const struct outcome *result, const char **why)
{
    const struct sl_span *last = &result->last;

    if (result->input.end != SL_INPUT_WHOLE && result->input.text_bytes == 0)
        *why = result->input.what;
    else if (result->event_arrays == 0 && last->kind == SL_SPAN_END)
        *why = "it is JSON without traceEvents";
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
    char events[SL_FORMAT_SIZE];
    int status = SL_EXIT_OK;

    if (last->kind != SL_SPAN_END || result->input.end != SL_INPUT_WHOLE)
        status =
            sl_args_problem(r->command,
                            "%s is truncated or damaged: %s, at byte %" PRIu64
                            " of the uncompressed text. Kept: %s whole events; lost: everything "
                            "after them (%" PRIu64 " bytes of an unfinished part); "
                            "%s is a valid trace",
                            r->input, what, last->offset, sl_format_count(events, result->events),
                            last->kind == SL_SPAN_END ? 0 : result->lost_bytes, r->output);
    if (result->invalid)
        status = sl_args_problem(
            r->command,
            "%" PRIu64 " events or fields are not valid JSON and were copied as they "
            "are (the first at byte %" PRIu64 "): `syncline check %s` shows more",
            result->invalid, result->invalid_at, r->output);
    return status;
}

int sl_convert_kineto(const struct sl_convert_request *r)
{
    static struct sl_output o;
    static struct outcome result;
    struct sl_trace *t;
    const char *why;
    char line[512];
    int rc, status = sl_output_check(r->command, r->input, r->output, r->force);

    if (status)
        return status;
    if (sl_trace_open(&t, r->input, line, sizeof(line)) != 0)
        return sl_args_complain(r->command, "%s", line);
    result = (struct outcome){.inside = SL_SPAN_OPEN};
    rc = sl_output_open(&o, r->output, r->compression, r->level);
    if (rc == 0) {
        copy_all(t, &o, r->input, &result);
        if (!o.error && hopeless(&result, &why)) {
            status = sl_args_complain(
                r->command, "%s is not a Kineto trace: %s; nothing was written", r->input, why);
            sl_output_drop(&o);
        } else {
            finish(&o, &result);
            rc = sl_output_keep(&o, r->output, r->force);
        }
    }
    sl_trace_close(t);
    if (status)
        return status;
    return rc ? sl_output_complain(r->command, r->output, rc) : tell(r, &result);
}
