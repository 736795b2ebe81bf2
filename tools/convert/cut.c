/*
 * cut.c - cuts the rows of some steps out of a Kineto trace.
 *
 * Rows may be in any order. So the first reading finds the times of the steps, the second the calls
 * between these times, and the third the GPU operations that these calls launched. The fourth finds
 * the arrows of sync edges that have both ends on a call or operation of the part. These lie
 * between the first and the last of their thread or stream, because they run in order there.
 *
 * Threads, memory: see cut.h.
 */
#include "convert/cut.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"

#define CAP_BYTES   (256u << 20)
#define STEP        "ProfilerStep#"
#define ARROW_START 1
#define ARROW_END   2

/* A thread or stream, with the time of its calls or operations in the part. */
struct lane {
    int64_t from_ns, to_ns;
    uint64_t is_used;
};

struct sl_cut {
    int64_t first, last;     /* steps */
    int64_t from_ns, to_ns;  /* of the steps, as the rows have it */
    int64_t lowest, highest; /* the steps that the trace has */
    int has_first, has_last; /* 1: the trace has this step */
    struct sl_store store;   /* caps all memory below */
    struct sl_map calls;     /* correlation ids of the calls in the part */
    struct sl_map arrows;    /* arrows with ARROW_* of their ends in the part */
    struct sl_map lanes;     /* struct lane by thread or stream */
    struct sl_pool lane_pool;
    int no_memory;
    int has_sync_arrows;
};

static int is_inside(const struct sl_cut *c, int64_t ns)
{
    return ns >= c->from_ns && ns < c->to_ns;
}

static void *made(struct sl_cut *c, void *found)
{
    c->no_memory |= !found;
    return found;
}

/* ---- threads and streams ---- */

/* Returns a key other than 0. */
static uint64_t lane_key(const struct sl_trace_row *row)
{
    uint64_t process = (uint64_t)row->pid.number, thread = (uint64_t)row->tid.number;

    return ((process * 0x9e3779b97f4a7c15u) ^ thread) | 1ull << 63;
}

static void widen_lane(struct sl_cut *c, const struct sl_trace_row *row)
{
    uint64_t key = lane_key(row);
    struct lane *l = sl_map_get(&c->lanes, key);
    int64_t end_ns = row->ts_ns + row->dur_ns;

    if (!l)
        l = made(c, sl_map_make(&c->lanes, &c->lane_pool, key));
    if (!l)
        return;
    if (!l->is_used || row->ts_ns < l->from_ns)
        l->from_ns = row->ts_ns;
    if (!l->is_used || end_ns > l->to_ns)
        l->to_ns = end_ns;
    l->is_used = 1;
}

/* Returns whether the time is that of a call or operation that is kept. */
static int is_on_lane(const struct sl_cut *c, const struct sl_trace_row *row, int64_t end_ns)
{
    const struct lane *l = sl_map_get(&c->lanes, lane_key(row));

    return l && row->ts_ns >= l->from_ns && end_ns <= l->to_ns;
}

/* ---- arrows ---- */

static int is_sync_arrow(const struct sl_trace_row *row)
{
    return (row->phase == 's' || row->phase == 'f') && sl_text_is(row->category_text, "sync");
}

/* Returns a key other than 0. Each kind of arrows counts its own ids. */
static uint64_t arrow_key(const struct sl_trace_row *row)
{
    return ((uint64_t)row->id << 1 | (row->category == SL_CAT_FWDBWD)) + 1;
}

static void add_arrow(struct sl_cut *c, const struct sl_trace_row *row)
{
    uint64_t *slot = arrow_key(row) ? made(c, sl_map_put(&c->arrows, arrow_key(row))) : NULL;

    if (slot)
        *slot |= row->phase == 's' ? ARROW_START : ARROW_END;
}

/* ---- readings ---- */

static int is_call_kept(const struct sl_cut *c, int64_t correlation)
{
    return correlation != 0 && sl_map_find(&c->calls, (uint64_t)correlation) != NULL;
}

/* Operations and CUPTI's synchronization rows belong to their calls. */
static int is_gpu_kept(const struct sl_cut *c, const struct sl_trace_row *row)
{
    if (row->has & SL_HAS_CORRELATION && row->correlation != 0)
        return is_call_kept(c, row->correlation);
    return is_inside(c, row->ts_ns);
}

static void find_steps(struct sl_cut *c, const struct sl_trace_row *row)
{
    char digits[24];
    int64_t step;

    if (row->phase != 'X' || row->category == SL_CAT_GPU_USER_ANNOTATION ||
        !sl_text_begins(row->name, STEP))
        return;
    snprintf(digits, sizeof(digits), "%.*s", (int)(row->name.size - strlen(STEP)),
             row->name.data + strlen(STEP));
    step = strtoll(digits, NULL, 10);
    if (step < c->lowest)
        c->lowest = step;
    if (step > c->highest)
        c->highest = step;
    c->has_first |= step == c->first;
    c->has_last |= step == c->last;
    if (step < c->first || step > c->last)
        return;
    if (row->ts_ns < c->from_ns)
        c->from_ns = row->ts_ns;
    if (row->ts_ns + row->dur_ns > c->to_ns)
        c->to_ns = row->ts_ns + row->dur_ns;
}

static void find_calls(struct sl_cut *c, const struct sl_trace_row *row)
{
    if (row->phase == 'X' && sl_row_is_call(row) && is_inside(c, row->ts_ns)) {
        if (row->correlation != 0)
            (void)made(c, sl_map_put(&c->calls, (uint64_t)row->correlation));
        widen_lane(c, row);
    } else if (row->category == SL_CAT_FWDBWD && is_inside(c, row->ts_ns)) {
        add_arrow(c, row);
    }
    c->has_sync_arrows |= is_sync_arrow(row);
}

static void find_operations(struct sl_cut *c, const struct sl_trace_row *row)
{
    if (row->phase == 'X' && sl_row_is_gpu(row) && is_gpu_kept(c, row))
        widen_lane(c, row);
}

static void find_sync_arrows(struct sl_cut *c, const struct sl_trace_row *row)
{
    if (is_sync_arrow(row) && is_on_lane(c, row, row->ts_ns))
        add_arrow(c, row);
}

/* Returns 0, or the exit status after a line on stderr. */
static int read_all(struct sl_cut *c, const struct sl_convert_request *r,
                    void (*see)(struct sl_cut *c, const struct sl_trace_row *row))
{
    struct sl_trace_item *item;
    struct sl_trace *t;
    char why[512];

    if (sl_trace_open(&t, r->input, why, sizeof(why)) != 0)
        return sl_args_complain(r->command, "%s", why);
    sl_trace_show(t, "looking for the steps", r->input);
    while (sl_trace_next(t, &item) && !c->no_memory)
        if (item->span.kind == SL_SPAN_EVENT && item->status == 0)
            see(c, &item->row);
    sl_trace_close(t);
    return c->no_memory ? sl_args_complain(r->command, "these steps are too long: name fewer") : 0;
}

int sl_cut_create(struct sl_cut **out, const struct sl_convert_request *r)
{
    struct sl_cut *c = calloc(1, sizeof(*c));
    int status;

    if (!c)
        return sl_args_complain(r->command, "not enough memory to convert %s", r->input);
    c->first = r->first_step;
    c->last = r->last_step;
    c->from_ns = c->lowest = INT64_MAX;
    c->to_ns = c->highest = INT64_MIN;
    c->store.cap_bytes = CAP_BYTES;
    sl_map_init(&c->calls, &c->store);
    sl_map_init(&c->arrows, &c->store);
    sl_map_init(&c->lanes, &c->store);
    sl_pool_init(&c->lane_pool, &c->store, sizeof(struct lane));
    if (strcmp(r->input, "-") == 0)
        status = sl_args_complain(r->command, "--steps reads the trace several times: name a file");
    else
        status = read_all(c, r, find_steps);
    if (!status && c->lowest > c->highest)
        status = sl_args_complain(r->command, "%s has no steps (" STEP "N)", r->input);
    else if (!status && !(c->has_first && c->has_last))
        status = sl_args_complain(r->command,
                                  "%s does not have all steps from %" PRId64 " to %" PRId64
                                  ": it has %" PRId64 " to %" PRId64,
                                  r->input, c->first, c->last, c->lowest, c->highest);
    if (!status)
        status = read_all(c, r, find_calls);
    if (!status)
        status = read_all(c, r, find_operations);
    if (!status && c->has_sync_arrows)
        status = read_all(c, r, find_sync_arrows);
    if (status)
        sl_cut_destroy(c);
    else
        *out = c;
    return status;
}

void sl_cut_destroy(struct sl_cut *c)
{
    if (!c)
        return;
    sl_map_free(&c->calls);
    sl_map_free(&c->arrows);
    sl_map_free(&c->lanes);
    sl_pool_free(&c->lane_pool);
    free(c);
}

/* ---- choice ---- */

/* A row that holds an edge belongs to the edge's destination. */
static int is_edge_kept(const struct sl_cut *c, const struct sl_row_edge *edge)
{
    return edge->has & 1u << SL_ROW_EDGE_DST_CORRELATION &&
           is_call_kept(c, edge->number[SL_ROW_EDGE_DST_CORRELATION]);
}

/* An arrow of another kind is left out, because its ends are not known. */
static int is_arrow_kept(const struct sl_cut *c, const struct sl_trace_row *row)
{
    const uint64_t *ends;

    if (row->category == SL_CAT_AC2G)
        return is_call_kept(c, row->id);
    if (row->category != SL_CAT_FWDBWD && !is_sync_arrow(row))
        return 0;
    ends = arrow_key(row) ? sl_map_find(&c->arrows, arrow_key(row)) : NULL;
    return ends && *ends == (ARROW_START | ARROW_END);
}

int sl_cut_keeps(const struct sl_cut *c, const struct sl_trace_item *item)
{
    const struct sl_trace_row *row = &item->row;

    if (item->status)
        return 0; /* it may be of any step */
    if (row->edge && row->phase != 'X')
        return is_edge_kept(c, row->edge);
    if (row->phase == 'M')
        return 1;
    if (row->phase == 's' || row->phase == 'f' || row->phase == 't')
        return is_arrow_kept(c, row);
    if (sl_row_is_gpu(row) || row->category == SL_CAT_SYNC)
        return is_gpu_kept(c, row);
    if (row->category == SL_CAT_GPU_USER_ANNOTATION)
        return is_on_lane(c, row, row->ts_ns + row->dur_ns);
    return is_inside(c, row->ts_ns);
}
