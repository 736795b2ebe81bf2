/*
 * record.c - writes all reports that CUPTI gets to the file SIMGPU_RECORD, in the format of a
 * replay stream (tests/replay/README.md). The run can then be replayed to another CUPTI client,
 * which may enable other record kinds than this client.
 *
 * A probe between the core and the CUPTI stand-in writes each report as a line and passes it on.
 * Threads: see probe.h. Each line is formatted under the lock of the sink (sink.h). Times are
 * CLOCK_REALTIME in ns. The line of an operation is written when the operation has ended. The line
 * states the time at which CUPTI reserved the operation's record in a buffer. Lines are therefore
 * not in order, and the replaying program sorts them. An operation still pending at exit has no
 * line.
 */
#include <string.h>
#include <unistd.h>

#include "core/sim.h"
#include "core/sink.h"

typedef unsigned long long ull;

static struct sim_sink record = SIM_SINK_INIT;
bool sim_record_on;

/* Passes the report to CUPTI, if a CUPTI is loaded. */
#define PASS_ON(call)                                                                              \
    do {                                                                                           \
        const struct sim_probe *cupti = sim_probe_registered();                                    \
        if (cupti) {                                                                               \
            cupti->call;                                                                           \
        }                                                                                          \
    } while (0)

/* Begins a line with its type (`word`) and the fields that all lines have. The sink stays locked
 * until close_line(). */
static void open_line(const char *word, uint64_t at, uint32_t thread, uint32_t correlation)
{
    sim_sink_begin(&record);
    sim_sink_add(&record, "%s at=%llu pid=%d tid=%u corr=%u", word, (ull)at, (int)getpid(), thread,
                 correlation);
}

static void add_name(const char *name)
{
    sim_sink_add(&record, " name=");
    while (*name) {
        size_t plain = strcspn(name, "\\\n");

        sim_sink_add(&record, "%.*s", (int)plain, name);
        name += plain;
        if (*name) {
            sim_sink_add(&record, *name++ == '\n' ? "\\n" : "\\\\");
        }
    }
}

static void api_enter(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t now_ns)
{
    PASS_ON(api_enter(domain, cbid, correlation, now_ns));
}

static void api_exit(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t start_ns,
                     uint64_t end_ns, int result)
{
    open_line(domain == SIM_RUNTIME ? "runtime" : "driver", end_ns, sim_thread_self()->tid,
              correlation);
    sim_sink_add(&record, " cbid=%u start=%llu end=%llu result=%d", cbid, (ull)start_ns,
                 (ull)end_ns, result);
    sim_sink_end(&record);
    PASS_ON(api_exit(domain, cbid, correlation, start_ns, end_ns, result));
}

static void op_enqueued(struct sim_op *op)
{
    PASS_ON(op_enqueued(op));
}

static void add_kernel(const struct sim_op *op)
{
    sim_sink_add(&record,
                 " grid=%u,%u,%u block=%u,%u,%u cluster=%u,%u,%u regs=%u static=%u dynamic=%u "
                 "local=%u queued=%llu submitted=%llu",
                 op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1], op->block[2],
                 op->cluster[0], op->cluster[1], op->cluster[2], op->registers, op->static_shared,
                 op->dynamic_shared, op->local_per_thread, (ull)op->queued_ns,
                 (ull)op->submitted_ns);
    add_name(op->name);
}

static void add_copy(const struct sim_op *op)
{
    sim_sink_add(&record, " bytes=%llu kind=%u src=%u dst=%u flags=%u", (ull)op->bytes,
                 op->copy_kind, op->src_memory, op->dst_memory, op->flags);
    if (op->is_peer) {
        sim_sink_add(&record, " from=%u,%u to=%u,%u", op->src_device, op->src_context,
                     op->dst_device, op->dst_context);
    }
}

static void write_op(const struct sim_op *op)
{
    static const char *const words[] = {
        [SIM_OP_KERNEL] = "kernel", [SIM_OP_MEMCPY] = "memcpy", [SIM_OP_MEMSET] = "memset"};

    open_line(words[op->kind], op->queued_ns, op->thread, op->correlation);
    sim_sink_add(&record,
                 " start=%llu end=%llu device=%u context=%u stream=%u graph=%u node=%llu "
                 "priority=%d channel=%u,%u",
                 (ull)op->start_ns, (ull)op->end_ns, op->device, op->context, op->stream, op->graph,
                 (ull)op->graph_node, op->priority, op->channel, op->channel_type);
    if (op->kind == SIM_OP_KERNEL) {
        add_kernel(op);
    } else if (op->kind == SIM_OP_MEMCPY) {
        add_copy(op);
    } else {
        sim_sink_add(&record, " bytes=%llu value=%u memory=%u flags=%u", (ull)op->bytes, op->value,
                     op->dst_memory, op->flags);
    }
    sim_sink_end(&record);
}

static void op_done(struct sim_op *op)
{
    if (op->kind != SIM_OP_HOST) {
        write_op(op);
    }
    PASS_ON(op_done(op));
}

static void synchronized(const struct sim_sync *s)
{
    open_line("sync", sim_now_ns(), sim_thread_self()->tid, s->correlation);
    sim_sink_add(&record,
                 " type=%u context=%u stream=%u event=%u sync_id=%llu start=%llu end=%llu "
                 "result=%u",
                 s->type, s->context, s->stream, s->event_id, (ull)s->event_sync_id,
                 (ull)s->start_ns, (ull)s->end_ns, s->result);
    sim_sink_end(&record);
    PASS_ON(synchronized(s));
}

static void event_recorded(const struct sim_event_record *e)
{
    open_line("event", sim_now_ns(), sim_thread_self()->tid, e->correlation);
    sim_sink_add(&record, " context=%u stream=%u event=%u sync_id=%llu device_ns=%llu", e->context,
                 e->stream, e->event_id, (ull)e->event_sync_id, (ull)e->device_ns);
    sim_sink_end(&record);
    PASS_ON(event_recorded(e));
}

static void object(const struct sim_object *o)
{
    if (o->created && o->kind != SIM_OBJ_DEVICE) { /* devices: see write_devices() */
        open_line(o->kind == SIM_OBJ_CONTEXT ? "context" : "stream", sim_now_ns(),
                  sim_thread_self()->tid, o->correlation);
        sim_sink_add(&record, " context=%u", o->context);
        if (o->kind == SIM_OBJ_CONTEXT) {
            sim_sink_add(&record, " device=%u null_stream=%u", o->device, o->null_stream);
        } else {
            sim_sink_add(&record, " stream=%u priority=%d flags=%u", o->stream, o->priority,
                         o->flags);
        }
        sim_sink_end(&record);
    }
    PASS_ON(object(o));
}

/* The recording contains the operations of a graph, but no report about the graph itself. */
static void graph(const struct sim_graph_fact *fact)
{
    PASS_ON(graph(fact));
}

/* ---- opening and flushing the file ---- */

static void write_devices(void)
{
    for (uint32_t i = 0; i < sim_device_count(); i++) {
        const struct sim_device_info *d = sim_device_info(i);

        sim_sink_begin(&record);
        sim_sink_add(&record,
                     "device device=%u capability=%u,%u sms=%u warp=%u threads=%u,%u blocks=%u "
                     "registers=%u,%u shared=%u,%u clock=%u bytes=%llu bandwidth=%llu",
                     i, d->major, d->minor, d->multiprocessors, d->warp_size,
                     d->max_threads_per_block, d->max_threads_per_sm, d->max_blocks_per_sm,
                     d->max_registers_per_block, d->max_registers_per_sm, d->max_shared_per_block,
                     d->max_shared_per_sm, d->core_clock_khz, (ull)d->memory_bytes,
                     (ull)d->memory_bandwidth_kbps);
        add_name(d->name);
        sim_sink_end(&record);
    }
}

/* The functions for the reports of an ordinary process. The other functions of probe.h are only for
 * a replaying process. */
const struct sim_probe sim_record_probe = {
    .api_enter = api_enter,
    .api_exit = api_exit,
    .op_enqueued = op_enqueued,
    .op_done = op_done,
    .synchronized = synchronized,
    .event_recorded = event_recorded,
    .object = object,
    .graph = graph,
};

void sim_record_open(void)
{
    const char *path = sim_option("RECORD");

    if (!path) {
        return;
    }
    sim_sink_open(&record, path);
    sim_sink_begin(&record);
    sim_sink_add(&record, "syncline-replay 1");
    sim_sink_end(&record);
    write_devices();
    sim_record_on = record.fd >= 0;
}

void sim_record_flush(void)
{
    sim_sink_flush(&record);
}
