/*
 * clocks.c - keeps the rows of the highest correlation ids, and compares their times.
 *
 * Threads, memory: see clocks.h.
 */
#include "check/clocks.h"

#include "print/format.h"
#include "read/row_usable.h"

/* Returns the entry for an id, or NULL if a higher id has taken its place. */
static struct sl_clocks_rows *entry(struct sl_clocks *c, int64_t id)
{
    struct sl_clocks_rows *rows = &c->rows[(uint64_t)id % SL_CLOCKS_IDS];

    if (rows->id > (uint64_t)id)
        return NULL;
    if (rows->id < (uint64_t)id)
        *rows = (struct sl_clocks_rows){.id = (uint64_t)id};
    if (c->highest < (uint64_t)id)
        c->highest = (uint64_t)id;
    return rows;
}

static struct sl_event event_of(const struct sl_trace_row *row, enum sl_event_kind kind)
{
    return (struct sl_event){.kind = (uint8_t)kind,
                             .correlation = (uint64_t)row->correlation,
                             .start_ns = (uint64_t)row->ts_ns,
                             .end_ns = (uint64_t)(row->ts_ns + row->dur_ns)};
}

/* A call inside a call with the same id is left out. */
static void take_call(struct sl_clocks_rows *rows, const struct sl_trace_row *row)
{
    if (rows->call.kind != SL_EV_NONE && rows->call.start_ns <= (uint64_t)row->ts_ns)
        return;
    rows->call = event_of(row, row->category == SL_CAT_DRIVER ? SL_EV_DRIVER : SL_EV_RUNTIME);
    rows->call.thread = (uint32_t)row->tid.number;
    rows->call.u.call.cbid = row->has & SL_HAS_CBID ? (uint32_t)row->cbid : 0;
    rows->call.u.call.result = row->has & SL_HAS_RESULT && row->result != 0;
}

static void take_wait(struct sl_clocks *c, struct sl_clocks_rows *rows,
                      const struct sl_trace_row *row)
{
    struct sl_clocks_rows *record;

    rows->sync = event_of(row, SL_EV_SYNC);
    rows->sync.context = row->has & SL_HAS_CONTEXT ? (uint32_t)row->context : 0;
    rows->sync.stream = row->has & SL_HAS_STREAM ? (uint32_t)row->stream : SL_STREAM_NONE;
    if (!(row->has & SL_HAS_WAIT_RECORD) || !(row->has & SL_HAS_WAIT_STREAM) ||
        row->wait_record <= 0)
        return;
    rows->sync.u.sync.event_sync_id = (uint64_t)row->wait_record;
    record = entry(c, row->wait_record);
    if (record)
        record->record_stream = (uint32_t)row->wait_stream;
}

/* Of the operations of a graph, the first is kept. */
static void take_operation(struct sl_clocks *c, struct sl_clocks_rows *rows,
                           const struct sl_trace_row *row)
{
    uint32_t context = row->has & SL_HAS_CONTEXT ? (uint32_t)row->context : 0;

    c->several |= c->context && c->context != context;
    c->context = context;
    if (rows->operation.kind != SL_EV_NONE && rows->operation.start_ns <= (uint64_t)row->ts_ns)
        return;
    rows->operation = event_of(row, row->category == SL_CAT_MEMCPY ? SL_EV_MEMCPY : SL_EV_KERNEL);
    rows->operation.context = context;
    rows->operation.stream = (uint32_t)row->stream;
    rows->own = sl_text_is(row->name, "Memcpy DtoH (Device -> Pageable)") ? SL_CLOCK_OWN_ANY
                : sl_text_begins(row->name, "Memcpy DtoH")                ? SL_CLOCK_OWN_BLOCKING
                                                                          : SL_CLOCK_OWN_NONE;
}

void sl_clocks_row(struct sl_clocks *c, const struct sl_trace_row *row)
{
    int is_call = sl_row_is_call(row), is_wait = row->category == SL_CAT_SYNC;
    struct sl_clocks_rows *rows;

    if (row->phase != 'X' || !(is_call || is_wait || sl_row_is_gpu(row)) || row->dur_ns < 0 ||
        row->ts_ns > INT64_MAX - row->dur_ns || sl_row_unusable(row, 1))
        return;
    rows = entry(c, row->correlation);
    if (!rows)
        return;
    if (is_call)
        take_call(rows, row);
    else if (is_wait)
        take_wait(c, rows, row);
    else
        take_operation(c, rows, row);
}

static void compare(struct sl_clocks *c, const struct sl_clocks_rows *rows)
{
    const struct sl_event record = {.kind = SL_EV_CUDA_EVENT,
                                    .correlation = rows->id,
                                    .context = c->context,
                                    .stream = rows->record_stream};

    if (rows->call.kind != SL_EV_NONE)
        sl_clock_fit_event(&c->fit, &rows->call, SL_CLOCK_OWN_NONE);
    if (rows->record_stream)
        sl_clock_fit_event(&c->fit, &record, SL_CLOCK_OWN_NONE);
    if (rows->sync.kind != SL_EV_NONE)
        sl_clock_fit_event(&c->fit, &rows->sync, SL_CLOCK_OWN_NONE);
    if (rows->operation.kind != SL_EV_NONE)
        sl_clock_fit_event(&c->fit, &rows->operation, rows->own);
}

void sl_clocks_end(struct sl_clocks *c, struct sl_findings *findings)
{
    char text[160], span[SL_FORMAT_SIZE];

    sl_clock_fit_init(&c->fit, c->several ? SL_CLOCK_FIT_CONTEXTS : c->context);
    /* In this order, the ids grow. A lower id that no higher id has replaced is not compared. */
    for (uint64_t id = c->highest > SL_CLOCKS_IDS ? c->highest - SL_CLOCKS_IDS + 1 : 1;
         id <= c->highest; id++)
        if (c->rows[id % SL_CLOCKS_IDS].id == id)
            compare(c, &c->rows[id % SL_CLOCKS_IDS]);
    sl_clock_fit_end(&c->fit);
    if (sl_clock_fit_is_apart(&c->fit))
        sl_finding_add(findings, SL_FIND_CLOCKS, 1, SL_FINDING_NO_PLACE, "%s",
                       sl_clock_fit_text(&c->fit, text, sizeof(text)));
    else if (c->fit.late)
        sl_finding_add(findings, SL_FIND_GPU_AFTER_WAIT, c->fit.late, SL_FINDING_NO_PLACE,
                       "by up to %s", sl_format_span(span, (uint64_t)-c->fit.highest_ns));
}
