/*
 * check.c - runs all checks in one pass over a trace.
 *
 * Threads, memory: see check.h.
 */
#include "check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/broken_row.h"
#include "read/et_text.h"
#include "read/row_usable.h"
#include "sync/edge.h"

/* Times in a file are normally relative to a base that is at most three months older (7889238 s in
 * Kineto's files). Times since the epoch are several decades. So a time above ten years is treated
 * as a time since the epoch. */
#define ABSOLUTE_NS (315360000ll * 1000000000)

int sl_check_create(struct sl_check **out)
{
    struct sl_check *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    sl_tally_init(&c->tally);
    c->overlap.findings = c->edges.findings = &c->findings;
    if (sl_links_init(&c->links, &c->findings) != 0) {
        sl_check_destroy(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void sl_check_destroy(struct sl_check *c)
{
    if (!c)
        return;
    sl_overlap_free(&c->overlap);
    sl_links_free(&c->links);
    free(c);
}

static void add_row(struct sl_check *c, enum sl_finding_id id, const struct sl_trace_row *row,
                    uint64_t at)
{
    sl_finding_add(&c->findings, id, 1, at, "%.*s", SL_TEXT_ARGS(row->name, 80));
}

/* Checks the members that every reader needs. Returns 1 if further checks are possible. */
static int check_members(struct sl_check *c, const struct sl_trace_row *row, uint64_t at)
{
    const char *missing = NULL;

    if (!row->phase)
        missing = "ph";
    else if (!row->name.data)
        missing = "name";
    else if (row->phase != 'M' && !(row->has & SL_HAS_TS))
        missing = "ts";
    else if (row->phase == 'X' && !(row->has & SL_HAS_DUR))
        missing = "dur";
    else if ((row->phase == 's' || row->phase == 'f') && !(row->has & SL_HAS_ID))
        missing = "id";
    else if (!row->pid.text.data)
        missing = "pid";
    if (!missing)
        return 1;
    sl_finding_add(&c->findings, SL_FIND_MEMBER_MISSING, 1, at, "no \"%s\": %.*s", missing,
                   SL_TEXT_ARGS(row->name, 80));
    return 0;
}

static void check_times(struct sl_check *c, const struct sl_trace_row *row, uint64_t at)
{
    if (row->dur_ns < 0)
        sl_finding_add(&c->findings, SL_FIND_DURATION_NEGATIVE, 1, at, "%.*s: %" PRId64 " ns",
                       SL_TEXT_ARGS(row->name, 80), row->dur_ns);
    if (row->phase != 'M' && row->ts_ns > ABSOLUTE_NS)
        sl_finding_add(&c->findings, SL_FIND_TIME_ABSOLUTE, 1, at, "%.*s: ts %" PRId64 " us",
                       SL_TEXT_ARGS(row->name, 80), row->ts_ns / 1000);
}

static void check_gpu(struct sl_check *c, const struct sl_trace_row *row, uint64_t at)
{
    if (!(row->has & SL_HAS_STREAM) || !(row->has & SL_HAS_DEVICE)) {
        sl_finding_add(&c->findings, SL_FIND_MEMBER_MISSING, 1, at, "no device or stream: %.*s",
                       SL_TEXT_ARGS(row->name, 80));
        return;
    }
    if (row->stream == 0)
        add_row(c, SL_FIND_STREAM_ZERO, row, at);
    /* The CPU makes a copy within the host, and CUPTI's row begins while earlier work runs. */
    if (row->dur_ns >= 0 && !sl_text_begins(row->name, "Memcpy HtoH"))
        sl_overlap_row(&c->overlap, row, at);
}

/* Correlation ids of 64 bits are valid only in a syncline file. Some files are recognised as
 * syncline files only at their end, so rows with such ids are counted first and judged later. */
static void check_use(struct sl_check *c, const struct sl_trace_row *row, uint64_t at)
{
    const char *why = sl_row_unusable(row, 1);

    if (why)
        sl_finding_add(&c->findings, SL_FIND_ROW_UNUSABLE, 1, at, "%s: %.*s", why,
                       SL_TEXT_ARGS(row->name, 80));
    else if (sl_row_unusable(row, 0))
        sl_finding_add(&c->findings, SL_FIND_CORRELATION_LARGE, 1, at, "%" PRId64 ": %.*s",
                       row->correlation, SL_TEXT_ARGS(row->name, 80));
}

static void check_row(struct sl_check *c, const struct sl_trace_row *row, uint64_t at)
{
    int complete = check_members(c, row, at);

    sl_tally_row(&c->tally, row, at, &c->findings);
    sl_edge_check_row(&c->edges, row, at);
    check_use(c, row, at);
    if (!complete || row->phase == 'M')
        return;
    check_times(c, row, at);
    if (row->has & SL_HAS_STREAM && row->stream == UINT32_MAX)
        add_row(c, SL_FIND_STREAM_UNSIGNED, row, at);
    if (row->phase == 'X' && sl_row_is_gpu(row))
        check_gpu(c, row, at);
    sl_links_row(&c->links, row, at);
    sl_clocks_row(&c->clocks, row);
}

static void too_long(struct sl_check *c, const struct sl_span *span)
{
    sl_finding_add(&c->findings, SL_FIND_NOT_CHECKED, 1, span->offset,
                   "a value of %zu bytes: only its brackets were checked", span->size);
}

static void check_field(struct sl_check *c, struct sl_trace *t, const struct sl_trace_item *item)
{
    const struct sl_span *span = &item->span;
    struct sl_json_error error;

    sl_header_text(&c->header, (struct sl_text){span->key, span->key_size},
                   (struct sl_text){span->text, span->size});
    if (item->status == -EFBIG)
        too_long(c, span);
    else if (item->status)
        sl_finding_add(&c->findings, SL_FIND_JSON_INVALID, 1, span->offset + item->error.at,
                       "in \"%.*s\": %s", (int)(span->key_size < 40 ? span->key_size : 40),
                       span->key, item->error.what);
    else
        sl_trace_visit(t, span, sl_header_value, &c->header, &error);
}

void sl_check_item(struct sl_check *c, struct sl_trace *t, const struct sl_trace_item *item)
{
    const struct sl_span *span = &item->span;

    c->readable_end = span->offset + span->size;
    switch (span->kind) {
    case SL_SPAN_FIELD:
        check_field(c, t, item);
        break;
    case SL_SPAN_EVENTS_OPEN:
        if (c->event_arrays++ == 1)
            sl_finding_add(&c->findings, SL_FIND_EVENTS_TWICE, 1, span->offset, "traceEvents");
        break;
    case SL_SPAN_EVENT:
        if (item->status == -EBADMSG) {
            struct sl_text text = sl_broken_row_name(span->text, span->size);
            char name[SL_ET_TEXT_SHOWN];

            sl_et_text_show(name, text.data, text.size < 40 ? text.size : 40);
            sl_finding_add(&c->findings, SL_FIND_JSON_INVALID, 1, span->offset + item->error.at,
                           "event %" PRIu64 "%s%s: %s", item->index, name[0] ? ", " : "", name,
                           item->error.what);
        } else if (item->status == -EFBIG) {
            too_long(c, span);
        } else {
            c->events_valid++;
            check_row(c, &item->row, span->offset);
            sl_trace_take_rank(t, item, &c->header);
        }
        break;
    default:
        break;
    }
}

/* Reports how the text and its compression ended. */
static void check_ending(struct sl_check *c, const struct sl_span *last,
                         const struct sl_input_status *input)
{
    uint64_t end = last->offset + last->size;

    if (input->end == SL_INPUT_DAMAGED || input->end == SL_INPUT_FAILED)
        sl_finding_add(&c->findings, SL_FIND_DAMAGED, 1, end, "%s; %" PRIu64 " whole events before",
                       input->what, c->tally.events);
    else if (input->end == SL_INPUT_CUT)
        sl_finding_add(&c->findings, SL_FIND_TRUNCATED, 1, end, "%s; %" PRIu64 " whole events left",
                       input->what, c->tally.events);
    else if (last->kind == SL_SPAN_CUT)
        sl_finding_add(&c->findings, SL_FIND_TRUNCATED, 1, end,
                       "the text ends here; %" PRIu64 " whole events left", c->tally.events);
    if (last->kind == SL_SPAN_BAD)
        sl_finding_add(&c->findings, SL_FIND_JSON_INVALID, 1, last->offset,
                       "%s; what follows was not read", last->why);
}

/* The start and end of the recording window are at the end of the file, so the earliest and latest
 * rows are compared with the window after the last row. */
static void check_window(struct sl_check *c)
{
    const struct sl_header *h = &c->header;
    const struct sl_tally *t = &c->tally;
    int64_t opened, closed;

    if (!h->has_window || !h->has_base || t->first_ns > t->last_ns ||
        __builtin_sub_overflow(h->opened_ns, h->base_ns, &opened) ||
        __builtin_sub_overflow(h->closed_ns, h->base_ns, &closed))
        return;
    if (t->earliest_end_ns < opened)
        sl_finding_add(&c->findings, SL_FIND_OUTSIDE_WINDOW, 1, t->earliest_end_at,
                       "an event ends %" PRId64 " ns before the window opens",
                       opened - t->earliest_end_ns);
    if (t->latest_start_ns > closed)
        sl_finding_add(&c->findings, SL_FIND_OUTSIDE_WINDOW, 1, t->latest_start_at,
                       "an event begins %" PRId64 " ns after the window closes",
                       t->latest_start_ns - closed);
}

static void check_header(struct sl_check *c)
{
    const struct sl_header *h = &c->header;
    struct sl_findings *findings = &c->findings;

    /* A file that is not whole may have the rank only in a row. `syncline recover` completes it. */
    if (!h->has_rank)
        sl_finding_add(findings, SL_FIND_RANK_MISSING, 1, SL_FINDING_NO_PLACE,
                       c->whole ? "no distributedInfo.rank" : "not in the part that is left");
    else if (!h->rank_findable && c->whole)
        sl_finding_add(findings, SL_FIND_RANK_HIDDEN, 1, SL_FINDING_NO_PLACE,
                       "rank %" PRId64 " needs a space after the colon", h->rank);
    for (unsigned i = 0; i < h->counters; i++) {
        if (h->counter[i].value && sl_header_is_loss(h->counter[i].name))
            sl_finding_add(findings, SL_FIND_LOST, h->counter[i].value, SL_FINDING_NO_PLACE,
                           "counter %s is %" PRIu64, h->counter[i].name, h->counter[i].value);
    }
}

/* Adds one note for the cut. Calls and arrows that lost their partner at the cut are a part of it.
 */
static void add_recovered(struct sl_findings *findings)
{
    static const enum sl_finding_id at_cut[] = {SL_FIND_GPU_WITHOUT_CALL, SL_FIND_FLOW_NO_START,
                                                SL_FIND_FLOW_NO_END};
    char partners[120] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(at_cut) / sizeof(at_cut[0]); i++) {
        uint64_t *count = &findings->of[at_cut[i]].count;

        if (*count)
            used += (size_t)snprintf(partners + used, sizeof(partners) - used, ", %" PRIu64 " %s",
                                     *count, sl_finding_kind[at_cut[i]].name);
        *count = 0;
    }
    sl_finding_add(findings, SL_FIND_RECOVERED, 1, SL_FINDING_NO_PLACE, "it has no counters%s",
                   partners);
}

/* Returns the number of edges that the job left out. A file without counters does not say. */
static uint64_t edges_left_out(const struct sl_check *c)
{
    char name[64];
    uint64_t count = 0;

    if (c->header.own_file && !c->header.counters)
        return UINT64_MAX;
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++) {
        snprintf(name, sizeof(name), "edges_lost_%s", sl_edge_loss_name((enum sl_edge_loss)i));
        count += sl_header_counter(&c->header, name);
    }
    return count;
}

/* Adds a note that names the categories of another accelerator. */
static void add_no_gpu_work(struct sl_check *c)
{
    char others[120] = "";

    for (unsigned i = 0; i < c->tally.categories; i++) {
        const struct sl_tally_category *k = &c->tally.category[i];
        size_t used = strlen(others);

        if (k->is_other && used + strlen(k->name) + 3 < sizeof(others))
            snprintf(others + used, sizeof(others) - used, "%s%s", used ? ", " : "", k->name);
    }
    sl_finding_add(&c->findings, SL_FIND_NO_GPU_WORK, 1, SL_FINDING_NO_PLACE, "%s%s",
                   others[0] ? others : "only CPU events, or none",
                   others[0] ? ": not CUDA's" : "");
}

void sl_check_end(struct sl_check *c, const struct sl_span *last,
                  const struct sl_input_status *input)
{
    c->whole = last->kind == SL_SPAN_END && input->end == SL_INPUT_WHOLE;
    /* A file that its process completed has the loss counters at its end. */
    c->is_strict = c->header.own_file && (c->header.counters > 0 || !c->whole);
    check_ending(c, last, input);
    sl_overlap_end(&c->overlap);
    sl_edge_check_end(&c->edges, edges_left_out(c));
    sl_links_end(&c->links);
    sl_clocks_end(&c->clocks, &c->findings);
    check_window(c);
    check_header(c);
    if (c->header.own_file)
        c->findings.of[SL_FIND_CORRELATION_LARGE].count = 0;
    if (c->header.own_file && !c->is_strict)
        add_recovered(&c->findings);
    if (c->tally.gpu_operations == 0)
        add_no_gpu_work(c);
    if (c->tally.lanes_full)
        sl_finding_add(&c->findings, SL_FIND_NOT_CHECKED, 1, SL_FINDING_NO_PLACE,
                       "too many processes, threads and streams to count separately");
}
