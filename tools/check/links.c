/*
 * links.c - checks correlation ids, flow ids and stream waits.
 *
 * Rows may be in any order, because CUPTI delivers records in any order. So only the end of the
 * file shows that a row has no partner. A small table holds waits that were read before the call
 * that recorded their event. A wait that is evicted from the table is counted as not checked.
 *
 * Threads, memory: see links.h.
 */
#include "check/links.h"

#include <errno.h>
#include <inttypes.h>

#define CALL_BYTES  (24u << 20)
#define ARROW_BYTES (24u << 20)
#define OTHER_BYTES (6u << 20)

int sl_links_init(struct sl_links *l, struct sl_findings *findings)
{
    l->findings = findings;
    return sl_id_flags_init(&l->calls, CALL_BYTES) || sl_id_flags_init(&l->arrows, ARROW_BYTES) ||
                   sl_id_flags_init(&l->others, OTHER_BYTES)
               ? -ENOMEM
               : 0;
}

void sl_links_free(struct sl_links *l)
{
    sl_id_flags_free(&l->calls);
    sl_id_flags_free(&l->arrows);
    sl_id_flags_free(&l->others);
}

static void check_order(struct sl_links *l, const struct sl_trace_row *row, uint64_t id,
                        int64_t call_ns, int64_t gpu_ns, uint64_t at)
{
    if (call_ns == SL_PAIR_NO_TIME || gpu_ns == SL_PAIR_NO_TIME || gpu_ns >= call_ns)
        return;
    sl_finding_add(l->findings, SL_FIND_GPU_BEFORE_CALL, 1, at,
                   "%.*s, correlation %" PRIu64 ", %" PRId64 " ns before its call",
                   SL_TEXT_ARGS(row->name, 60), id, call_ns - gpu_ns);
}

static void late_record(struct sl_links *l, uint64_t record, uint64_t at)
{
    sl_finding_add(l->findings, SL_FIND_WAIT_LATE_RECORD, 1, at,
                   "wait for record call %" PRIu64 " that is later", record);
}

static void see_call(struct sl_links *l, const struct sl_trace_row *row, uint64_t at)
{
    uint64_t id = (uint64_t)row->correlation;
    unsigned flags = SL_PAIR_FIRST;
    int before;

    if (sl_text_begins(row->name, "cudaEventRecord") ||
        sl_text_begins(row->name, "cuEventRecord")) {
        struct sl_links_wait *wait = &l->waiting[id % SL_LINKS_WAITS];

        flags |= SL_PAIR_MARK;
        if (wait->record == id) {
            if (row->ts_ns > wait->start_ns)
                late_record(l, id, wait->at);
            wait->record = 0;
        }
    }
    before = sl_id_flags_add(&l->calls, id, flags, row->ts_ns, at);
    if (before < 0)
        return;
    if (before & SL_PAIR_FIRST)
        sl_finding_add(l->findings, SL_FIND_CALL_TWICE, 1, at, "%.*s, correlation %" PRIu64,
                       SL_TEXT_ARGS(row->name, 60), id);
    else if (before & SL_PAIR_SECOND)
        check_order(l, row, id, row->ts_ns, sl_id_flags_second_ns(&l->calls, id), at);
}

static void see_gpu(struct sl_links *l, const struct sl_trace_row *row, uint64_t at)
{
    uint64_t id = (uint64_t)row->correlation;
    int before = sl_id_flags_add(&l->calls, id, SL_PAIR_SECOND, row->ts_ns, at);

    if (before > 0 && (before & SL_PAIR_FIRST))
        check_order(l, row, id, sl_id_flags_first_ns(&l->calls, id), row->ts_ns, at);
}

/* Checks waits on CUDA events by the rules of PyTorch's validator. */
static void see_wait(struct sl_links *l, const struct sl_trace_row *row, uint64_t at)
{
    int is_stream_wait = sl_text_begins(row->name, "Stream Wait Event");
    uint64_t record = (uint64_t)row->wait_record;
    struct sl_links_wait *slot;

    if (!is_stream_wait && !sl_text_begins(row->name, "Event Sync"))
        return;
    if (!(row->has & SL_HAS_WAIT_RECORD) || row->wait_record < 0) {
        sl_finding_add(l->findings, SL_FIND_WAIT_NO_RECORD, 1, at, "%.*s, correlation %" PRId64,
                       SL_TEXT_ARGS(row->name, 60), row->correlation);
        return;
    }
    if (!is_stream_wait || record == 0)
        return;
    if (sl_id_flags_flags(&l->calls, record) & SL_PAIR_MARK) {
        int64_t ns = sl_id_flags_first_ns(&l->calls, record);

        if (ns == SL_PAIR_NO_TIME)
            l->unchecked++;
        else if (ns > row->ts_ns)
            late_record(l, record, at);
        return;
    }
    slot = &l->waiting[record % SL_LINKS_WAITS];
    if (slot->record && slot->record != record)
        l->unchecked++;
    *slot = (struct sl_links_wait){record, row->ts_ns, at};
}

static void see_flow(struct sl_links *l, const struct sl_trace_row *row, uint64_t at)
{
    struct sl_id_flags *pairs = row->category == SL_CAT_AC2G ? &l->arrows : &l->others;
    unsigned flag = row->phase == 's' ? SL_PAIR_FIRST : SL_PAIR_SECOND;
    int before = sl_id_flags_add(pairs, (uint64_t)row->id, flag, row->ts_ns, at);

    if (before > 0 && flag == SL_PAIR_FIRST && (before & SL_PAIR_FIRST))
        sl_finding_add(l->findings, SL_FIND_FLOW_TWICE, 1, at, "%.*s, id %" PRId64,
                       SL_TEXT_ARGS(row->category_text, 40), row->id);
}

void sl_links_row(struct sl_links *l, const struct sl_trace_row *row, uint64_t at)
{
    if ((row->phase == 's' || row->phase == 'f') && (row->has & SL_HAS_ID)) {
        see_flow(l, row, at);
        return;
    }
    /* Correlation id 0 means none. */
    if (row->phase != 'X')
        return;
    if (row->category == SL_CAT_SYNC)
        see_wait(l, row, at);
    if (!(row->has & SL_HAS_CORRELATION) || row->correlation == 0)
        return;
    if (sl_row_is_call(row))
        see_call(l, row, at);
    else if (sl_row_is_gpu(row))
        see_gpu(l, row, at);
}

static void lonely(struct sl_links *l, const struct sl_id_flags *pairs, unsigned flags,
                   enum sl_finding_id id, const char *what)
{
    uint64_t first, at;
    uint64_t count = sl_id_flags_count(pairs, flags, &first, &at);

    if (count)
        sl_finding_add(l->findings, id, count, at, "%s %" PRIu64, what, first);
}

void sl_links_end(struct sl_links *l)
{
    lonely(l, &l->calls, SL_PAIR_SECOND, SL_FIND_GPU_WITHOUT_CALL, "correlation");
    lonely(l, &l->arrows, SL_PAIR_FIRST, SL_FIND_FLOW_NO_END, "ac2g, id");
    lonely(l, &l->arrows, SL_PAIR_SECOND, SL_FIND_FLOW_NO_START, "ac2g, id");
    lonely(l, &l->others, SL_PAIR_FIRST, SL_FIND_FLOW_NO_END, "id");
    lonely(l, &l->others, SL_PAIR_SECOND, SL_FIND_FLOW_NO_START, "id");
    for (unsigned i = 0; i < SL_LINKS_WAITS; i++) {
        if (l->waiting[i].record)
            sl_finding_add(l->findings, SL_FIND_WAIT_UNKNOWN_RECORD, 1, l->waiting[i].at,
                           "record call %" PRIu64, l->waiting[i].record);
    }
    l->unchecked += l->calls.unchecked + l->arrows.unchecked + l->others.unchecked;
    if (l->unchecked)
        sl_finding_add(l->findings, SL_FIND_NOT_CHECKED, l->unchecked, SL_FINDING_NO_PLACE,
                       "ids too scattered, or waits too long before their records");
}
