/*
 * trace_file.c - reads a trace item by item.
 *
 * Threads: one owner; the helper threads belong to read_ahead.c and parse_ahead.c. Memory: see
 * trace_file.h.
 */
#include "read/trace_file.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/progress.h"
#include "read/et_file.h"
#include "read/file_kind.h"
#include "read/parse_ahead.h"
#include "read/read_ahead.h"

/* Events of a file that has no thread of its own for the parser. Many commands read only the
 * beginning of a file, and most files of tests are short. */
#define FEW_EVENTS 1000u

struct sl_trace {
    struct sl_input *input;
    struct sl_read_ahead *ahead;
    struct sl_split *split; /* not the owner's while there is a second parser */
    struct sl_json *json;
    struct sl_parse_ahead *parser; /* the second parser, or NULL */
    int is_decided;                /* 1: there is a second parser, or there will be none */
    struct sl_trace_item item;     /* the last item, without a second parser */
    uint64_t events, event_arrays, fields;
    struct sl_progress progress;
};

int sl_trace_open_reader(struct sl_trace **out, sl_split_read_fn read, void *user)
{
    struct sl_trace *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    if (sl_split_create(&t->split, read, user) != 0 || sl_json_create(&t->json) != 0) {
        sl_trace_close(t);
        return -ENOMEM;
    }
    t->is_decided = 1;
    *out = t;
    return 0;
}

/* Returns how many processors the process may use, at most 2. */
static int processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0) /* more processors than the set can hold */
        return 2;
    return CPU_COUNT(&set) < 2 ? CPU_COUNT(&set) : 2;
}

int sl_trace_open_input(struct sl_trace **out, struct sl_input *input)
{
    struct sl_read_ahead *ahead;
    struct sl_trace *t;
    int rc = sl_read_ahead_start(&ahead, input);

    if (rc)
        return rc;
    rc = sl_trace_open_reader(&t, sl_read_ahead_read, ahead);
    if (rc) {
        sl_read_ahead_stop(ahead);
        return rc;
    }
    t->input = input;
    t->ahead = ahead;
    t->is_decided = processors() < 2;
    *out = t;
    return 0;
}

int sl_trace_open(struct sl_trace **out, const char *path, char *why, size_t why_size)
{
    struct sl_input *input;
    int rc = sl_input_open(&input, path, why, why_size);

    if (rc)
        return rc;
    rc = sl_trace_open_input(out, input);
    if (rc) {
        sl_input_close(input);
        snprintf(why, why_size, "cannot read %s: %s", path, strerror(-rc));
    }
    return rc;
}

void sl_trace_close(struct sl_trace *t)
{
    if (!t)
        return;
    sl_progress_end(&t->progress);
    sl_parse_ahead_stop(t->parser);
    sl_read_ahead_stop(t->ahead);
    sl_json_destroy(t->json);
    sl_split_destroy(t->split);
    sl_input_close(t->input);
    free(t);
}

void sl_trace_show(struct sl_trace *t, const char *what, const char *path)
{
    sl_progress_begin(&t->progress, what, path);
}

static void show_progress(struct sl_trace *t, const struct sl_span *span)
{
    struct sl_input_status status;

    if (span->kind >= SL_SPAN_END) {
        sl_progress_end(&t->progress);
    } else if (sl_progress_is_due(&t->progress)) {
        sl_trace_get_status(t, &status);
        sl_progress_step(&t->progress, status.read_bytes, status.file_bytes);
    }
}

/* Reads and parses the next item. */
static int parse(struct sl_trace *t)
{
    struct sl_trace_item *item = &t->item;

    sl_split_next(t->split, &item->span);
    item->index = t->events;
    t->events += item->span.kind == SL_SPAN_EVENT;
    sl_item_parse(t->json, item);
    if (item->span.kind == SL_SPAN_EVENT && item->status) {
        sl_split_cut_event(t->split, &item->span, item->status == -EFBIG);
        if (item->status == -EFBIG && item->span.size <= SL_JSON_TEXT_MAX) /* it was cut */
            sl_item_parse(t->json, item);
    }
    return item->span.kind < SL_SPAN_END;
}

static void status_of_ahead(void *trace, struct sl_input_status *out)
{
    struct sl_trace *t = trace;

    sl_read_ahead_get_status(t->ahead, out);
}

/* Starts the second parser, unless the file may be short. */
static void start_parser(struct sl_trace *t)
{
    if (t->is_decided || t->events < FEW_EVENTS)
        return;
    t->is_decided = 1; /* even if this fails */
    (void)sl_parse_ahead_start(&t->parser, t->split, t->json, t->events, status_of_ahead, t);
}

/* Takes the next item from the second parser. Leaves it at an event that must be cut. */
static int take_parsed(struct sl_trace *t, struct sl_trace_item **item)
{
    int more = sl_parse_ahead_next(t->parser, item);

    if (more >= 0) {
        t->events += (*item)->span.kind == SL_SPAN_EVENT;
        return more;
    }
    sl_parse_ahead_leave(t->parser);
    t->parser = NULL;
    return parse(t);
}

int sl_trace_next(struct sl_trace *t, struct sl_trace_item **item)
{
    int more;

    start_parser(t);
    *item = &t->item;
    more = t->parser ? take_parsed(t, item) : parse(t);
    show_progress(t, &(*item)->span);
    t->event_arrays += (*item)->span.kind == SL_SPAN_EVENTS_OPEN;
    t->fields += (*item)->span.kind == SL_SPAN_FIELD;
    return more;
}

int sl_trace_visit(struct sl_trace *t, const struct sl_span *field, sl_json_visit_fn visit,
                   void *user, struct sl_json_error *error)
{
    char root[64];

    snprintf(root, sizeof(root), "%.*s", (int)(field->key_size < 63 ? field->key_size : 63),
             field->key);
    return sl_json_visit(t->json, root, field->text, field->size, visit, user, error);
}

void sl_trace_take_rank(struct sl_trace *t, const struct sl_trace_item *item,
                        struct sl_header *header)
{
    static const char name[] = "distributedInfo";
    struct sl_span row = item->span;
    struct sl_json_error error;

    /* In old files the row is a metadata event. */
    if (item->status || (item->row.phase != 'i' && item->row.phase != 'M') ||
        !sl_text_is(item->row.name, name))
        return;
    row.key = name;
    row.key_size = sizeof(name) - 1;
    sl_trace_visit(t, &row, sl_header_value, header, &error);
}

const char *sl_trace_not_one(const struct sl_trace *t, const struct sl_span *last,
                             const struct sl_input_status *input)
{
    if (input->end != SL_INPUT_WHOLE && input->text_bytes == 0)
        return input->what;
    if (last->kind == SL_SPAN_BAD && t->fields == 0 && t->event_arrays == 0) {
        const char *text = last->text - last->lead;
        size_t size = last->size + last->lead;
        const char *what = sl_file_kind(text, size);

        if (sl_et_looks_like(text, size))
            return "it is a Chakra execution trace, which only `syncline check` reads";
        return what ? what : last->why;
    }
    if (last->kind == SL_SPAN_END && t->event_arrays == 0)
        return "it is JSON without traceEvents (an execution trace of PyTorch belongs to `convert "
               "--et`)";
    return NULL;
}

void sl_trace_get_status(struct sl_trace *t, struct sl_input_status *out)
{
    if (t->parser)
        sl_parse_ahead_get_status(t->parser, out);
    else if (t->ahead)
        sl_read_ahead_get_status(t->ahead, out);
    else
        *out = (struct sl_input_status){.end = SL_INPUT_WHOLE};
}
