/*
 * truth.c - writes the truth (all calls, operations and waits of a run) as JSON lines to the file
 * SIMGPU_TRUTH. Also writes the log (SIMGPU_LOG): the records that the simulation dropped or
 * delivered to a second client, and the calls that it made fail.
 *
 * Threads: any. Each line is formatted under the lock of its sink. Correlation ids have 64 bits
 * (CUPTI ids are the low 32 bits). Times are CLOCK_REALTIME in ns. `id` numbers operations in order
 * of enqueue. Each line has its type in "t":
 * - process: pid, first correlation id, seed, scale
 * - call: every API call: domain, name, cbid, corr, thread, start, end, result
 * - op: every operation, written at its end, or at exit with finished:false: properties, times,
 *   free (the time from which the operation was enqueued and its stream was idle), and `after`.
 *   `after` lists the predecessors with via = stream | stream_wait | legacy_default | graph, the
 *   end of each predecessor, and for a stream wait the correlation id of the stream-wait call
 * - wait: every call that waits or queries: kind, all sources (the awaited operations), and
 *   `released`. `released` is the source that ended last, or 0 if the call did not have to wait
 * - event: every call that records an event: corr, event, sync, and the operations after which the
 *   event is complete
 * - follow: every stream that was made to wait for an event: corr, stream, event
 * - object: devices, contexts and streams that were created or destroyed
 * - nccl: every kernel of the NCCL stand-in: its first collective or message, and the number of
 * them
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/sim.h"
#include "core/sink.h"

static struct sim_sink truth = SIM_SINK_INIT, log_sink = SIM_SINK_INIT;
bool sim_truth_on;

void sim_truth_open(void)
{
    const char *path = sim_option("TRUTH"), *log_path = sim_option("LOG");

    if (log_path) {
        sim_sink_open(&log_sink, log_path);
    }
    if (path) {
        sim_sink_open(&truth, path);
        sim_truth_on = truth.fd >= 0;
    }
    if (sim_truth_on) {
        sim_sink_begin(&truth);
        sim_sink_add(&truth,
                     "{\"t\":\"process\",\"pid\":%d,\"corr\":%llu,\"seed\":%llu,\"scale\":%g}",
                     (int)getpid(), (unsigned long long)sim_correlation_now(),
                     (unsigned long long)sim_option_u64("SEED", 1), sim_option_double("SCALE", 1));
        sim_sink_end(&truth);
    }
}

void sim_truth_line(const char *format, ...)
{
    va_list args;

    if (!sim_truth_on) {
        return;
    }
    sim_sink_begin(&truth);
    va_start(args, format);
    sim_sink_addv(&truth, format, args);
    va_end(args);
    sim_sink_end(&truth);
}

void sim_log(const char *format, ...)
{
    va_list args;

    if (log_sink.fd < 0) {
        return;
    }
    sim_sink_begin(&log_sink);
    va_start(args, format);
    sim_sink_addv(&log_sink, format, args);
    va_end(args);
    sim_sink_end(&log_sink);
}

void sim_truth_call(const struct sim_call *call, uint64_t end_ns, int result)
{
    sim_sink_begin(&truth);
    sim_sink_add(&truth,
                 "{\"t\":\"call\",\"domain\":\"%s\",\"name\":\"%s\",\"cbid\":%u,\"corr\":%llu,"
                 "\"thread\":%u,\"start\":%llu,\"end\":%llu,\"result\":%d}",
                 call->domain == SIM_RUNTIME ? "runtime" : "driver", call->name, call->cbid,
                 (unsigned long long)call->correlation, sim_thread_self()->tid,
                 (unsigned long long)call->start_ns, (unsigned long long)end_ns, result);
    sim_sink_end(&truth);
}

/* Returns the link of the set to the operation that ends last, which is the operation that ends a
 * wait for the set. */
static const struct sim_link *longest(const struct sim_set *set)
{
    const struct sim_link *best = NULL;

    for (int i = 0; i < set->n; i++) {
        if (!best || set->link[i].op->pub.end_ns > best->op->pub.end_ns) {
            best = &set->link[i];
        }
    }
    return best;
}

static void add_links(const struct sim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        const struct sim_link *link = &set->link[i];

        sim_sink_add(&truth,
                     "%s{\"op\":%llu,\"corr\":%llu,\"stream\":%u,\"end\":%llu,\"via\":\"%s\","
                     "\"call\":%llu}",
                     i ? "," : "", (unsigned long long)link->op->pub.id,
                     (unsigned long long)link->op->pub.correlation_wide, link->op->pub.stream,
                     (unsigned long long)link->op->pub.end_ns, sim_via_name(link->via),
                     (unsigned long long)link->call);
    }
}

static void add_facts(const struct sim_op *op)
{
    switch (op->kind) {
    case SIM_OP_KERNEL:
        sim_sink_add(&truth, ",\"name\":");
        sim_sink_quote(&truth, op->name);
        sim_sink_add(&truth,
                     ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"registers\":%u,"
                     "\"static_shared\":%u,\"dynamic_shared\":%u",
                     op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1],
                     op->block[2], op->registers, op->static_shared, op->dynamic_shared);
        break;
    case SIM_OP_MEMCPY:
        sim_sink_add(&truth,
                     ",\"bytes\":%llu,\"copy_kind\":%u,\"src\":%u,\"dst\":%u,\"async\":%u,"
                     "\"peer\":%d,\"src_device\":%u,\"dst_device\":%u",
                     (unsigned long long)op->bytes, op->copy_kind, op->src_memory, op->dst_memory,
                     op->flags & 1, op->is_peer, op->src_device, op->dst_device);
        break;
    case SIM_OP_MEMSET:
        sim_sink_add(&truth, ",\"bytes\":%llu,\"value\":%u,\"dst\":%u,\"async\":%u",
                     (unsigned long long)op->bytes, op->value, op->dst_memory, op->flags & 1);
        break;
    case SIM_OP_HOST:
    case SIM_OP_MARKER:
        break;
    }
}

void sim_truth_op(const struct op *op, bool finished)
{
    static const char *const kinds[] = {"", "kernel", "memcpy", "memset", "host", "marker"};
    const struct sim_op *pub = &op->pub;
    const struct sim_link *last = longest(&op->behind);

    sim_sink_begin(&truth);
    sim_sink_add(&truth,
                 "{\"t\":\"op\",\"id\":%llu,\"kind\":\"%s\",\"corr\":%llu,\"thread\":%u,"
                 "\"device\":%u,\"context\":%u,\"stream\":%u,\"priority\":%d,\"graph\":%u,"
                 "\"node\":%llu,\"queued\":%llu,\"free\":%llu,\"start\":%llu,\"end\":%llu,"
                 "\"finished\":%s",
                 (unsigned long long)pub->id, kinds[pub->kind],
                 (unsigned long long)pub->correlation_wide, pub->thread, pub->device, pub->context,
                 pub->stream, pub->priority, pub->graph, (unsigned long long)pub->graph_node,
                 (unsigned long long)pub->queued_ns, (unsigned long long)op->free_ns,
                 (unsigned long long)pub->start_ns, (unsigned long long)pub->end_ns,
                 finished ? "true" : "false");
    add_facts(pub);
    sim_sink_add(&truth, ",\"released\":%llu,\"after\":[",
                 last && last->via != SIM_VIA_STREAM && last->op->pub.end_ns > op->free_ns
                     ? (unsigned long long)last->op->pub.id
                     : 0);
    add_links(&op->behind);
    sim_sink_add(&truth, "]}");
    sim_sink_end(&truth);
}

void sim_truth_wait(const struct sim_truth_wait *wait)
{
    const struct sim_link *last = longest(wait->set);
    bool waited = last && wait->result == 0 && last->op->pub.end_ns > wait->start_ns &&
                  last->op->pub.end_ns <= wait->end_ns;

    sim_sink_begin(&truth);
    sim_sink_add(
        &truth,
        "{\"t\":\"wait\",\"kind\":\"%s\",\"corr\":%llu,\"thread\":%u,\"context\":%u,"
        "\"stream\":%u,\"event\":%u,\"sync\":%llu,\"start\":%llu,\"end\":%llu,\"result\":%d,"
        "\"released\":%llu,\"sources\":[",
        wait->kind, (unsigned long long)sim_call_correlation(), sim_thread_self()->tid,
        wait->context, wait->stream, wait->event, (unsigned long long)wait->sync_id,
        (unsigned long long)wait->start_ns, (unsigned long long)wait->end_ns, wait->result,
        waited ? (unsigned long long)last->op->pub.id : 0);
    add_links(wait->set);
    sim_sink_add(&truth, "]}");
    sim_sink_end(&truth);
}

void sim_truth_event(const struct sim_event_record *ev, const struct sim_set *set)
{
    sim_sink_begin(&truth);
    sim_sink_add(&truth,
                 "{\"t\":\"event\",\"corr\":%llu,\"context\":%u,\"stream\":%u,\"event\":%u,"
                 "\"sync\":%llu,\"ops\":[",
                 (unsigned long long)sim_call_correlation(), ev->context, ev->stream, ev->event_id,
                 (unsigned long long)ev->event_sync_id);
    add_links(set);
    sim_sink_add(&truth, "]}");
    sim_sink_end(&truth);
}

void sim_truth_follow(const struct sim_truth_wait *wait)
{
    sim_sink_begin(&truth);
    sim_sink_add(&truth,
                 "{\"t\":\"follow\",\"corr\":%llu,\"context\":%u,\"stream\":%u,\"event\":%u,"
                 "\"sync\":%llu,\"start\":%llu,\"end\":%llu}",
                 (unsigned long long)sim_call_correlation(), wait->context, wait->stream,
                 wait->event, (unsigned long long)wait->sync_id, (unsigned long long)wait->start_ns,
                 (unsigned long long)wait->end_ns);
    sim_sink_end(&truth);
}

void sim_truth_object(const struct sim_object *object)
{
    static const char *const kinds[] = {"device", "context", "stream"};

    sim_sink_begin(&truth);
    sim_sink_add(&truth,
                 "{\"t\":\"object\",\"kind\":\"%s\",\"created\":%s,\"device\":%u,\"context\":%u,"
                 "\"stream\":%u,\"flags\":%u,\"priority\":%d,\"corr\":%llu}",
                 kinds[object->kind], object->created ? "true" : "false", object->device,
                 object->context, object->stream, object->flags, object->priority,
                 (unsigned long long)sim_call_correlation());
    sim_sink_end(&truth);
}

void sim_truth_flush(void)
{
    sim_sink_flush(&truth);
    sim_sink_flush(&log_sink);
}
