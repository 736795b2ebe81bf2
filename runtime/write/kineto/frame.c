/*
 * frame.c - writes the header and the trailer of a file.
 *
 * The header is written together with the first row, because the devices are usually known by then.
 * A device that appears later is listed in the trailer's "syncline" object. The file of a killed
 * process has no trailer, so the job's name and the known versions are in the header, too.
 *
 * Threads: one owner. Memory: the writer's scratch buffer.
 */
#include <string.h>

#include "base/software.h"
#include "base/stats.h"
#include "write/distributed.h"
#include "write/kineto/kineto_internal.h"

#define PUT_FIELD(at, key, value) sl_json_u64(SL_JSON_LITERAL(at, "\"" key "\":"), (value))
#define PUT_STRING(at, key, value)                                                                 \
    sl_json_string(SL_JSON_LITERAL(at, "\"" key "\":"), (value) ? (value) : "")

static char *put_device(char *at, const struct sl_device *d)
{
    at = PUT_FIELD(SL_JSON_LITERAL(at, "{"), "id", d->id);
    at = SL_JSON_LITERAL(at, ",\"name\":\"");
    at = sl_json_escape(at, d->name, strnlen(d->name, sizeof(d->name)));
    at = PUT_FIELD(SL_JSON_LITERAL(at, "\","), "totalGlobalMem", d->memory_bytes);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "computeMajor", d->compute_major);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "computeMinor", d->compute_minor);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "maxThreadsPerBlock", d->max_threads_per_block);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "maxThreadsPerMultiprocessor", d->max_threads_per_sm);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "regsPerBlock", d->max_registers_per_block);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "regsPerMultiprocessor", d->max_registers_per_sm);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "warpSize", d->warp_size);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "sharedMemPerBlock", d->max_shared_per_block);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "sharedMemPerBlockOptin", d->max_shared_opted_in);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "sharedMemPerMultiprocessor", d->max_shared_per_sm);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "numSms", d->multiprocessors);
    return SL_JSON_LITERAL(at, "}");
}

/* Writes an entry for each device in `mask`, and adds these devices to devices_in_header. */
static char *put_devices(struct sl_kineto *k, char *at, uint64_t mask)
{
    uint32_t i;
    int any = 0;

    *at++ = '[';
    for (i = 0; i < SL_DEVICE_MAX; i++) {
        const struct sl_device *d = mask >> i & 1 ? sl_kineto_device(k, i) : NULL;

        if (!d)
            continue;
        at = any ? SL_JSON_LITERAL(at, ",\n") : SL_JSON_LITERAL(at, "\n");
        at = put_device(at, d);
        any = 1;
        k->devices_in_header |= 1ull << i;
    }
    *at++ = ']';
    return at;
}

/* Writes an id by which readers distinguish traces. The id of a file is computed from the file's
 * facts, so it never changes. */
static char *put_trace_id(char *at, const struct sl_trace_meta *m)
{
    static const char hex[] = "0123456789ABCDEF";
    uint64_t h[2] = {m->opened_ns, (uint64_t)m->pid << 32 | m->window};
    const char *c;
    int i;

    for (c = m->host ? m->host : ""; *c; c++)
        h[1] = (h[1] ^ (unsigned char)*c) * 0x100000001b3u;
    h[0] *= 0x9e3779b97f4a7c15u;
    *at++ = '"';
    for (i = 0; i < 32; i++)
        *at++ = hex[h[i / 16] >> (60 - i % 16 * 4) & 15];
    *at++ = '"';
    return at;
}

/* Writes the versions of Python and PyTorch if they are known already. */
static char *put_software(char *at)
{
    const char *python = sl_software_get(SL_SOFTWARE_PYTHON);
    const char *pytorch = sl_software_get(SL_SOFTWARE_PYTORCH);

    if (python)
        at = PUT_STRING(SL_JSON_LITERAL(at, ","), "python_version", python);
    if (pytorch)
        at = PUT_STRING(SL_JSON_LITERAL(at, ","), "pytorch_version", pytorch);
    return at;
}

static char *put_run(char *at, const struct sl_trace_meta *m)
{
    if (m->run && *m->run)
        at = PUT_STRING(SL_JSON_LITERAL(at, ",\n"), "run_id", m->run);
    if (m->run_start_ns)
        at = PUT_FIELD(SL_JSON_LITERAL(at, ",\n"), "run_start_ns", m->run_start_ns);
    return at;
}

/* Writes `distributedInfo`, after the text `before`. The object is the job's own description, or if
 * there is none, the values that the job's launcher set. The launcher sets no backend. PyTorch
 * writes "unknown" for an unknown version. HTA searches line by line for "rank":, at least one
 * space, and the number. */
static void put_distributed(struct sl_kineto *k, const char *before)
{
    size_t length;
    const char *said = sl_distributed_get(&length, &k->distributed);
    char *at = sl_json_raw(k->scratch, before, strlen(before));

    at = SL_JSON_LITERAL(at, "\"distributedInfo\": ");
    if (!said) {
        at = SL_JSON_LITERAL(at, "{\"backend\": \"unknown\", \"rank\": ");
        at = sl_json_i64(at, k->meta.rank);
        at = sl_json_i64(SL_JSON_LITERAL(at, ", \"world_size\": "), k->meta.world_size);
        at = SL_JSON_LITERAL(
            at, ", \"pg_count\": 0, \"pg_config\": [], \"nccl_version\": \"unknown\"}");
    }
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    if (said)
        sl_kineto_put(k, said, length);
}

/* Writes the process groups again if some groups were created after the header was written. In a
 * recording of a whole run, all groups are created after the header. */
static void put_late_groups(struct sl_kineto *k)
{
    uint32_t version;
    size_t length;

    if (!k->has_late_rank && sl_distributed_get(&length, &version) && version != k->distributed)
        put_distributed(k, ",\n");
}

void sl_kineto_put_rank(struct sl_kineto *k)
{
    uint32_t version;
    size_t length;

    if (!k->header_out || !k->has_late_rank)
        return;
    if (!sl_distributed_get(&length, &version) || version == k->distributed)
        return;
    k->distributed = version;
    sl_kineto_introduce_rank(k);
}

void sl_kineto_put_header(struct sl_kineto *k)
{
    const struct sl_trace_meta *m = &k->meta;
    const char *version = m->syncline_version ? m->syncline_version : "";
    char *at = k->scratch;
    size_t length;

    at = SL_JSON_LITERAL(at, "{\n\"schemaVersion\":1,\n\"deviceProperties\":");
    at = put_devices(k, at, UINT64_MAX);
    at = SL_JSON_LITERAL(at, ",\n");
    if (m->cupti_version)
        at = SL_JSON_LITERAL(PUT_FIELD(at, "cupti_version", m->cupti_version), ",\n");
    if (m->cuda_runtime_version)
        at = SL_JSON_LITERAL(PUT_FIELD(at, "cuda_runtime_version", m->cuda_runtime_version), ",\n");
    if (m->cuda_driver_version)
        at = SL_JSON_LITERAL(PUT_FIELD(at, "cuda_driver_version", m->cuda_driver_version), ",\n");
    at = SL_JSON_LITERAL(at, "\"generator\":\"syncline ");
    at = sl_json_escape(at, version, strlen(version));
    at = SL_JSON_LITERAL(at, "\",\n");
    if (m->has_edges)
        at = SL_JSON_LITERAL(at, "\"syncEdges\":1,\n");
    at = SL_JSON_LITERAL(PUT_STRING(at, "host_name", m->host), ",\n");
    if (m->local_ranks)
        at = SL_JSON_LITERAL(PUT_FIELD(at, "local_world_size", (uint64_t)m->local_ranks), ",\n");
    if (m->gpu_serial && *m->gpu_serial)
        at = SL_JSON_LITERAL(PUT_STRING(at, "gpu_serial", m->gpu_serial), ",\n");
    if (m->vm_id && *m->vm_id)
        at = SL_JSON_LITERAL(PUT_STRING(at, "vm_id", m->vm_id), ",\n");
    at = put_run(PUT_STRING(at, "job", m->job), m);
    at = put_software(at);
    at = put_trace_id(SL_JSON_LITERAL(at, ",\n\"trace_id\":"), m);
    at = SL_JSON_LITERAL(at, ",\n\"displayTimeUnit\":\"ms\",\n");
    at = SL_JSON_LITERAL(PUT_FIELD(at, "baseTimeNanoseconds", k->base_ns), ",\n");
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    /* A rank that is wrong here could not be corrected, because readers take the first. */
    k->has_late_rank = m->rank_may_change && !sl_distributed_get(&length, &k->distributed);
    if (!k->has_late_rank)
        put_distributed(k, "");
    at = k->has_late_rank ? k->scratch : SL_JSON_LITERAL(k->scratch, ",\n");
    at = SL_JSON_LITERAL(at, "\"traceEvents\":[\n");
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    sl_kineto_introduce_process(k);
    if (k->has_late_rank)
        sl_kineto_introduce_rank(k);
    sl_kineto_introduce_events(k);
}

static char *put_marker(struct sl_kineto *k, char *at, const char *name, uint64_t ns)
{
    at = PUT_STRING(SL_JSON_LITERAL(at, "{"), "name", name);
    at = SL_JSON_LITERAL(at, ",\"ph\":\"i\",\"s\":\"g\",\"pid\":\"\",\"tid\":\"\",\"ts\":");
    return SL_JSON_LITERAL(sl_kineto_time(k, at, ns), "}");
}

/* Writes one marker at the gap's begin and one at its end, so that the file of a killed process
 * also shows the gap. No marker is written before the first row, because the marker would make the
 * header be written before the devices are known. */
void sl_kineto_put_gap(struct sl_kineto *k, uint64_t from_ns, uint64_t until_ns)
{
    const char *name = until_ns ? "CUPTI taken back" : "CUPTI handed over";
    char *at;

    if (k->header_out) {
        at = put_marker(k, k->scratch, name, until_ns ? until_ns : from_ns);
        at = SL_JSON_LITERAL(at, ",\n");
        sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    }
    if (until_ns && k->gaps < SL_KINETO_GAPS) {
        k->gap[k->gaps][0] = from_ns;
        k->gap[k->gaps][1] = until_ns;
        k->gaps++;
    }
}

/* Writes the gaps in the window. A gap may begin while the window drains, after its end. */
static char *put_gaps(const struct sl_kineto *k, char *at, uint64_t closed_ns)
{
    const char *separator = "";

    at = SL_JSON_LITERAL(at, ",\"gaps\":[");
    for (unsigned i = 0; i < k->gaps; i++) {
        uint64_t end_ns = k->gap[i][1] < closed_ns ? k->gap[i][1] : closed_ns;

        if (k->gap[i][0] >= closed_ns)
            continue;
        at = sl_json_raw(at, separator, strlen(separator));
        at = sl_json_u64(SL_JSON_LITERAL(at, "["), k->gap[i][0]);
        at = SL_JSON_LITERAL(sl_json_u64(SL_JSON_LITERAL(at, ","), end_ns), "]");
        separator = ",";
    }
    return SL_JSON_LITERAL(at, "]");
}

static char *put_counters(struct sl_kineto *k, char *at)
{
    uint64_t now;
    int i;

    *at++ = '{';
    for (i = 0; i < SL_STAT_COUNT; i++) {
        if (i > 0)
            *at++ = ',';
        at = sl_json_string(at, sl_stats_name((enum sl_stat)i));
        *at++ = ':';
        now = sl_stats_get((enum sl_stat)i);
        /* A counter may decrease, for example when a launch arrives that was counted as missing. */
        at = sl_json_u64(at, now > k->counted[i] ? now - k->counted[i] : 0);
        /* A lost file cannot report its own loss, so each later file reports the number of all lost
         * files. */
        if (i != SL_STAT_FILES_LOST)
            k->counted[i] = now;
    }
    *at++ = '}';
    return at;
}

void sl_kineto_put_trailer(struct sl_kineto *k, uint64_t closed_ns)
{
    static const char *const details[] = {"lean", "default", "full"};
    const struct sl_trace_meta *m = &k->meta;
    uint64_t late = k->devices_seen & ~k->devices_in_header;
    char *at = k->scratch;

    at = put_marker(k, at, "Record Window End", closed_ns);
    at = PUT_STRING(SL_JSON_LITERAL(at, "\n],\n\"syncline\":{"), "version", m->syncline_version);
    at = PUT_STRING(SL_JSON_LITERAL(at, ","), "job", m->job);
    at = put_software(at);
    at = PUT_STRING(SL_JSON_LITERAL(at, ","), "detail", details[k->opt.detail]);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "window", m->window);
    if (m->step)
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "first_step", m->step);
    if (m->is_lead_in_short)
        at = PUT_STRING(SL_JSON_LITERAL(at, ","), "lead_in", "short");
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "opened_ns", m->opened_ns);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "closed_ns", closed_ns);
    at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "events", k->written);
    if (m->nccl_sample > 1)
        at = PUT_FIELD(SL_JSON_LITERAL(at, ","), "nccl_sample", m->nccl_sample);
    if (k->gaps)
        at = put_gaps(k, at, closed_ns);
    if (late)
        at = put_devices(k, SL_JSON_LITERAL(at, ",\"deviceProperties\":"), late);
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    put_late_groups(k);
    at = put_counters(k, SL_JSON_LITERAL(k->scratch, ",\n\"counters\":"));
    at = SL_JSON_LITERAL(at, "}");
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
    if (k->has_late_rank)
        put_distributed(k, ",\n");
    at = PUT_STRING(SL_JSON_LITERAL(k->scratch, ",\n"), "traceName", m->trace_name);
    at = SL_JSON_LITERAL(at, "\n}\n");
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
}
