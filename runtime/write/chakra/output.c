/*
 * output.c - writes the Chakra file of each window.
 *
 * Threads, memory: see output.h.
 */
#include "write/chakra/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/pages.h"
#include "base/stats.h"
#include "write/chakra/et_comms.h"
#include "write/chakra/et_inputs.h"
#include "write/distributed.h"

/* Size of a row in the file, raw and compressed, rounded up. In a flood of kernels, rows had 110
 * and 18 bytes. */
#define ROW_BYTES            160
#define ROW_COMPRESSED_BYTES 32

struct chakra_output {
    struct sl_chakra *chakra;
    /* finds the collective of an operation; NULL if collectives are not known */
    struct sl_et_comms *comms;
    /* writes the inputs of operators; NULL if the inputs are not known */
    struct sl_et_inputs *inputs;
    struct sl_window_file *file; /* file of the open window */
    struct sl_chakra_counts counted;
    int has_groups;
    int is_compressed;
};

/* ---- counters ---- */

static uint64_t edges_left_out(const struct sl_chakra_counts *c)
{
    return c->edges_no_source + c->edges_no_destination + c->edges_late + c->edges_cycle +
           c->edges_full;
}

static uint64_t rows_left_out(const struct sl_chakra_counts *c)
{
    return c->rows_late + c->rows_full + c->rows_invalid;
}

static void count_nodes(struct chakra_output *o)
{
    const struct sl_chakra_counts was = o->counted;
    struct sl_chakra_counts now;

    sl_chakra_get_counts(o->chakra, &now);
    sl_stats_add(SL_STAT_CHAKRA_NODES, now.nodes - was.nodes);
    sl_stats_add(SL_STAT_CHAKRA_EDGES, now.edges - was.edges);
    sl_stats_add(SL_STAT_CHAKRA_EDGES_LEFT_OUT, edges_left_out(&now) - edges_left_out(&was));
    sl_stats_add(SL_STAT_CHAKRA_ROWS_LEFT_OUT, rows_left_out(&now) - rows_left_out(&was));
    sl_stats_add(SL_STAT_CHAKRA_EDGES_LATE, now.edges_late - was.edges_late);
    sl_stats_add(SL_STAT_CHAKRA_ROWS_LATE, now.rows_late - was.rows_late);
    sl_stats_add(SL_STAT_CHAKRA_SEQUENCES_LATE, now.sequences_late - was.sequences_late);
    sl_stats_add(SL_STAT_CHAKRA_UNEXPLAINED, now.unexplained - was.unexplained);
    sl_stats_add(SL_STAT_CHAKRA_NO_LAUNCH, now.gpu_without_launch - was.gpu_without_launch);
    sl_stats_add(SL_STAT_CHAKRA_COMM_UNKNOWN, now.comm_unknown - was.comm_unknown);
    sl_stats_add(SL_STAT_CHAKRA_CALLERS_UNKNOWN, now.callers_unknown - was.callers_unknown);
    sl_stats_add(SL_STAT_CHAKRA_FORCED, now.forced - was.forced);
    sl_stats_add(SL_STAT_CHAKRA_LANES_FORGOTTEN, now.lanes_forgotten - was.lanes_forgotten);
    o->counted = now;
}

/* ---- groups of ranks ---- */

static void see_collectives(struct chakra_output *o, const struct sl_event *ev, size_t events)
{
    int rank, world_size;

    if (o->comms && sl_distributed_rank(&rank, &world_size))
        sl_et_comms_world(o->comms, (uint32_t)world_size);
    for (size_t i = 0; o->comms && i < events; i++)
        if (ev[i].kind == SL_EV_RUNTIME || ev[i].kind == SL_EV_DRIVER)
            o->has_groups |= sl_et_comms_call(o->comms, &ev[i]);
}

struct group_file {
    struct sl_sink *sink;
    int error, groups;
};

static void put(struct group_file *f, const char *text, int length)
{
    if (!f->error)
        f->error = f->sink->write(f->sink, text, (size_t)length);
}

/* Writes one group, such as {"5": [0, 1]. The file is an object with a member for each group. */
static void put_group(void *file, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct group_file *f = file;
    char text[48];

    put(f, text, snprintf(text, sizeof(text), "%s\"%u\": [", f->groups++ ? ", " : "{", number));
    for (size_t i = 0; i < ranks; i++)
        put(f, text, snprintf(text, sizeof(text), i ? ", %u" : "%u", rank[i]));
    put(f, "]", 1);
}

/* Writes the comm-group file that ASTRA-sim needs beside the traces. Returns 0 or -errno. */
static int write_groups(const struct chakra_output *o)
{
    struct group_file f = {0};
    const struct sl_window_file *file = o->file;
    char name[NAME_MAX + 1];
    int error, closed;

    if (!o->has_groups)
        return 0;
    snprintf(name, sizeof(name), "%.*s.comm_groups.json",
             (int)(file->path + file->stem - file->name), file->name);
    error = sl_sink_file_open(&f.sink, file->folder, name);
    if (error)
        return error;
    sl_et_comms_groups(o->comms, put_group, &f);
    put(&f, "}\n", 2);
    closed = f.sink->close(f.sink, f.error == 0);
    if (!f.error && !closed)
        sl_disk_add(file->disk, file->window, name);
    return f.error ? f.error : closed;
}

/* ---- events and edges ---- */

static int open_window(void *output, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    struct chakra_output *o = output;

    o->file = file;
    if (o->comms && meta->world_size > 0)
        sl_et_comms_world(o->comms, (uint32_t)meta->world_size);
    memset(&o->counted, 0, sizeof(o->counted));
    return sl_chakra_begin(o->chakra, file->sink, meta);
}

static int take_events(void *output, const struct sl_event *ev, size_t count)
{
    struct chakra_output *o = output;

    see_collectives(o, ev, count);
    return sl_chakra_events(o->chakra, ev, count);
}

static int take_edges(void *output, const struct sl_output_edges *edges)
{
    return sl_chakra_edges(((struct chakra_output *)output)->chakra, edges->edge, edges->count);
}

static int complete(void *output, const struct sl_output_progress *progress)
{
    struct chakra_output *o = output;
    uint64_t until_ns = progress->rows_ns;
    int error;

    if (!until_ns)
        return 0;
    if (progress->edges_ns < until_ns)
        until_ns = progress->edges_ns;
    error = sl_chakra_advance(o->chakra, until_ns - 1);
    count_nodes(o);
    return error;
}

static int sync_file(void *output)
{
    struct chakra_output *o = output;
    int error = sl_chakra_flush(o->chakra);

    return error ? error : o->file->sink->sync(o->file->sink);
}

static int close_window(void *output, uint64_t closed_ns)
{
    struct chakra_output *o = output;
    int error = sl_chakra_end(o->chakra), closed, groups;

    (void)closed_ns;
    count_nodes(o);
    closed = sl_window_file_close(o->file, error == 0);
    groups = write_groups(o);
    return error ? error : closed ? closed : groups;
}

static uint64_t held_bytes(const void *output)
{
    const struct chakra_output *o = output;

    return (uint64_t)sl_chakra_held(o->chakra) *
           (o->is_compressed ? ROW_COMPRESSED_BYTES : ROW_BYTES);
}

static void fail(void *output)
{
    struct chakra_output *o = output;

    sl_stats_add(SL_STAT_CHAKRA_FAILED, 1);
    sl_chakra_end(o->chakra);
}

static void destroy(void *output)
{
    struct chakra_output *o = output;

    sl_chakra_destroy(o->chakra);
    sl_et_comms_destroy(o->comms);
    sl_et_inputs_destroy(o->inputs);
    sl_pages_unmap(o, sizeof(*o));
}

static const struct sl_output_functions functions = {
    .lost = "'s execution trace",
    .remedy = ", or SYNCLINE_CHAKRA to off",
    .wants_begins = 1,
    .open = open_window,
    .events = take_events,
    .edges = take_edges,
    .complete = complete,
    .sync = sync_file,
    .close = close_window,
    .held_bytes = held_bytes,
    .fail = fail,
    .destroy = destroy,
};

int sl_chakra_output_create(struct sl_output *out, const struct sl_chakra_output_options *opt)
{
    struct chakra_output *o = sl_pages_map(sizeof(*o));
    struct sl_chakra_options chakra = opt->chakra;
    int error;

    if (!o)
        return -ENOMEM;
    /* If there is no memory for collectives or inputs, the trace is written without them. */
    if (opt->details && sl_et_comms_create(&o->comms, chakra.intern, opt->details) == 0) {
        chakra.collective = sl_et_comms_find;
        chakra.collective_user = o->comms;
    }
    if (opt->details && sl_et_inputs_create(&o->inputs, opt->details) == 0) {
        chakra.more = sl_et_inputs_find;
        chakra.more_user = o->inputs;
    }
    error = sl_chakra_create(&o->chakra, &chakra);
    if (error) {
        destroy(o);
        return error;
    }
    o->is_compressed = opt->file.compression != SL_COMPRESS_NONE;
    *out = (struct sl_output){&functions, o, opt->file};
    out->file.has_rank = 1;
    strcpy(out->file.ending, ".et");
    return 0;
}
