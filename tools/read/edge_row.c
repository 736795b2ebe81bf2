/*
 * edge_row.c - reads the edges in a row that syncline wrote.
 *
 * Threads, memory: see edge_row.h.
 */
#include "read/edge_row.h"

#include <errno.h>

#define NUMBERS_BYTES (4u << 20)

/* Returns the enum sl_edge_kind of a name, or -1 for an unknown name. */
static int kind_of(struct sl_text text)
{
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        if (sl_text_is(text, sl_edge_kind_name((enum sl_edge_kind)i)))
            return i;
    return -1;
}

static int basis_of(struct sl_text text)
{
    for (int i = 0; i <= SL_BASIS_INFERRED; i++)
        if (sl_text_is(text, sl_edge_basis_name((enum sl_edge_basis)i)))
            return i;
    return -1;
}

static int number(const struct sl_row_edge *e, enum sl_row_edge_number which, uint64_t most,
                  uint64_t *out)
{
    if (!(e->has >> which & 1) || e->number[which] < 0 || (uint64_t)e->number[which] > most)
        return -EINVAL;
    *out = (uint64_t)e->number[which];
    return 0;
}

/* Returns a number of the edge, or a default value if the member is null or missing. */
static uint64_t number_or(const struct sl_row_edge *e, enum sl_row_edge_number which, uint64_t most,
                          uint64_t fallback)
{
    uint64_t value;

    return number(e, which, most, &value) == 0 ? value : fallback;
}

static uint32_t name_of(struct sl_edge_names *n, const struct sl_row_edge *e, struct sl_text text,
                        enum sl_row_edge_number number_of_it)
{
    const uint64_t *name;
    uint64_t id;

    if (!n)
        return 0;
    if (text.data)
        return sl_intern_put(n->texts, text.data, text.size);
    if (number(e, number_of_it, UINT32_MAX, &id) != 0)
        return 0;
    name = sl_map_find(&n->by_number, id + 1);
    n->missing += !name;
    return name ? (uint32_t)*name : 0;
}

void sl_edge_names_init(struct sl_edge_names *n, struct sl_intern *texts)
{
    *n = (struct sl_edge_names){.texts = texts, .store = {.cap_bytes = NUMBERS_BYTES}};
    sl_map_init(&n->by_number, &n->store);
}

void sl_edge_names_free(struct sl_edge_names *n)
{
    sl_map_free(&n->by_number);
}

void sl_edge_names_row(struct sl_edge_names *n, const struct sl_trace_row *row)
{
    uint64_t *place;

    if (!(row->has & SL_HAS_ID) || row->id < 0 || row->id > UINT32_MAX || !row->args_name.data)
        return;
    place = sl_map_put(&n->by_number, (uint64_t)row->id + 1);
    if (place)
        *place = sl_intern_put(n->texts, row->args_name.data, row->args_name.size);
}

/* Returns the edge with the destination that its row has, if the row is a call. */
static struct sl_row_edge complete(const struct sl_trace_row *row, struct sl_row_edge e)
{
    if (!sl_row_is_call(row))
        return e;
    e.number[SL_ROW_EDGE_DST_CORRELATION] = row->correlation;
    e.number[SL_ROW_EDGE_DST_THREAD] = row->tid.number;
    e.has |= 1u << SL_ROW_EDGE_DST_CORRELATION | 1u << SL_ROW_EDGE_DST_THREAD;
    e.dst_name = row->name;
    e.dst_point = (struct sl_text){"end", 3};
    return e;
}

int sl_edge_row_read(const struct sl_trace_row *row, size_t i, struct sl_edge_names *names,
                     struct sl_edge *out)
{
    const struct sl_row_edge whole = complete(row, row->edge[i]), *e = &whole;
    int kind = kind_of(e->kind), basis = basis_of(e->basis),
        at_start = sl_text_is(e->dst_point, "start");
    struct sl_edge edge = {.at_start = (uint8_t)at_start, .released = (uint8_t)e->released};
    uint64_t device;

    if (kind < 0 || basis < 0 || (!at_start && !sl_text_is(e->dst_point, "end")) ||
        number(e, SL_ROW_EDGE_SRC_CORRELATION, UINT64_MAX, &edge.source.correlation) ||
        number(e, SL_ROW_EDGE_DST_CORRELATION, UINT64_MAX, &edge.dst_correlation) ||
        number(e, SL_ROW_EDGE_SRC_DEVICE, UINT16_MAX, &device) ||
        number(e, SL_ROW_EDGE_WAIT_NS, UINT64_MAX, &edge.wait_ns) ||
        number(e, SL_ROW_EDGE_WAKE_NS, UINT64_MAX, &edge.wake_ns))
        return -EINVAL;
    edge.kind = (uint8_t)kind;
    edge.basis = (uint8_t)basis;
    edge.source.device = sl_event_device(device);
    edge.source.stream = (uint32_t)number_or(e, SL_ROW_EDGE_SRC_STREAM, UINT32_MAX, SL_STREAM_NONE);
    edge.source.graph_node = number_or(e, SL_ROW_EDGE_SRC_NODE, UINT64_MAX, 0);
    edge.source.name = name_of(names, e, e->src_name, SL_ROW_EDGE_SRC_NAME);
    /* Syncline files have thread ids of the operating system, which thread_ids.h leaves
     * unchanged. */
    edge.dst_thread = (uint32_t)number_or(e, SL_ROW_EDGE_DST_THREAD, INT32_MAX, 0);
    if (at_start) {
        edge.dst_op.correlation = edge.dst_correlation;
        edge.dst_op.graph_node = number_or(e, SL_ROW_EDGE_DST_NODE, UINT64_MAX, 0);
        edge.dst_op.stream =
            (uint32_t)number_or(e, SL_ROW_EDGE_DST_STREAM, UINT32_MAX, SL_STREAM_NONE);
        edge.dst_op.name = name_of(names, e, e->dst_name, SL_ROW_EDGE_DST_NAME);
        /* The pid of the row is the device of the operation that waited, and its tid is the
         * stream. */
        if (row->pid.is_number && row->pid.number >= 0 && row->pid.number <= UINT16_MAX)
            edge.dst_op.device = sl_event_device((uint64_t)row->pid.number);
    } else {
        edge.dst_name = name_of(names, e, e->dst_name, SL_ROW_EDGE_DST_NAME);
    }
    *out = edge;
    return 0;
}
