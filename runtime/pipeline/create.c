/*
 * create.c - creates the pipeline's modules in the order in which events pass them, each with its
 * share of the memory.
 *
 * Threads: the recorder thread. Memory is freed only if the creation fails, because CUPTI may call
 * back until the process ends.
 */
#include "pipeline/pipeline.h"

#include <errno.h>

#include "base/log.h"
#include "collect/cupti/cuda_facts.h"
#include "collect/cupti/decode.h"
#include "event/call_name.h"
#include "pipeline/pipeline_state.h"
#include "syncline/syncline.h"
#include "write/chakra/output.h"
#include "write/kineto/output.h"
#include "write/monitor/output.h"

/* This fraction (one in HELD_SHARE) of the memory for sync edges holds events until their edges are
 * known. A small part is enough, because few calls wait, and because an event is held only about as
 * long as the edge engine holds the event's record. */
#define HELD_SHARE 8

/* The pointer is static, so that leak checkers see that the memory is reachable. */
static struct sl_pipeline the_pipeline;

/* The ring rounds its size up to a power of two. So this function rounds down, and the ring stays
 * within its share. */
static size_t ring_slots(size_t bytes)
{
    size_t slots = 1;

    while (slots * 2 * sizeof(struct sl_event) <= bytes)
        slots *= 2;
    return slots;
}

static int start_writer(struct sl_pipeline *p)
{
    const struct sl_identity *who = p->opt.identity;
    struct sl_writer_options opt = {
        .ring = p->ring,
        .outputs = &p->outputs,
        .edges = p->edges,
        .meta =
            {
                .pid = who->pid,
                .rank = who->rank,
                .world_size = who->world_size,
                .rank_may_change = who->rank_may_change,
                .host = who->host,
                .job = who->job,
                .local_ranks = who->is_one_machine ? 0 : who->local_ranks,
                .gpu_serial = who->gpu_serial,
                .vm_id = who->vm_id,
                .run = who->run,
                .run_start_ns = who->run_start_ns,
                .process_name = who->process_name,
                .syncline_version = SYNCLINE_VERSION,
                .nccl_sample = p->opt.config->nccl_sample,
                .cupti_version = p->opt.cupti->version,
            },
    };

    sl_cuda_facts_versions(&opt.meta.cuda_driver_version, &opt.meta.cuda_runtime_version);
    return sl_writer_start(&p->writer, &opt);
}

/* ---- outputs ---- */

static int create_kineto(struct sl_pipeline *p, struct sl_output *out)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_window_file_options file = {
        .folder = &p->folder,
        .compression = config->compression,
        .level = config->level,
        .disk = p->disk,
    };
    const struct sl_kineto_options opt = {
        .detail = config->detail,
        .intern = p->intern,
        .details = p->details,
        .shapes = p->shapes,
        .devices = &p->devices,
        .cap_bytes = sl_pipeline_share(config, SL_SHARE_TEXT),
        .held_bytes = sl_pipeline_share(config, SL_SHARE_EDGES) / HELD_SHARE,
        .api_name = sl_call_name,
    };

    return sl_kineto_output_create(out, &opt, file);
}

/* If the creation fails, the job is recorded without execution traces. No execution trace is
 * written without edges, because it would be useless. zstd's level -3 takes 70 % of the time of
 * level 1 for 28 % more bytes (docs/measurements/chakra.md). */
static int create_chakra(struct sl_pipeline *p, struct sl_output *out)
{
    static const struct {
        enum sl_compression kind;
        int level;
    } compression[] = {[SL_CHAKRA_RAW] = {SL_COMPRESS_NONE, 0},
                       [SL_CHAKRA_GZIP] = {SL_COMPRESS_GZIP, 1},
                       [SL_CHAKRA_ZSTD] = {SL_COMPRESS_ZSTD, -3}};
    const struct sl_config *config = p->opt.config;
    const struct sl_chakra_output_options opt = {
        .chakra =
            {
                .intern = p->intern,
                .shapes = p->shapes,
                .cap_bytes = sl_pipeline_share(config, SL_SHARE_CHAKRA),
                .api_name = sl_call_name,
            },
        .file =
            {
                .folder = &p->folder,
                .compression = compression[config->chakra].kind,
                .level = compression[config->chakra].level,
                .disk = p->disk,
            },
        .details = p->details,
    };
    int error;

    if (config->chakra == SL_CHAKRA_OFF || !p->edges)
        return 0;
    error = sl_chakra_output_create(out, &opt);
    if (error == -EINVAL)
        sl_log(SL_LOG_WARN,
               "%llu MiB of SYNCLINE_MEMORY are too small for Chakra execution traces: none are "
               "written; %s, or set SYNCLINE_CHAKRA=off",
               (unsigned long long)(config->memory_bytes >> 20),
               config->is_memory_lowered
                   ? "raise the host's memory limit, which has lowered SYNCLINE_MEMORY"
                   : "set it to 64MiB or more");
    else if (error)
        sl_log(SL_LOG_WARN, "not enough memory for Chakra execution traces: none are written; "
                            "lower SYNCLINE_MEMORY, or set SYNCLINE_CHAKRA=off");
    return 0;
}

/* If there is no memory, the job is recorded without printing. */
static int create_monitor(struct sl_pipeline *p, struct sl_output *out)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_monitor_options opt = {
        .intern = p->intern,
        .details = p->details,
        .is_crossnode = config->collectives == SL_COLLECTIVES_CROSSNODE,
    };

    if (!config->collectives_print || config->collectives == SL_COLLECTIVES_NONE)
        return 0;
    if (config->ops == SL_TORCH_OPS_OFF)
        sl_log(SL_LOG_WARN, "SYNCLINE_COLLECTIVES_PRINT prints nothing, because SYNCLINE_OPS=off "
                            "leaves out PyTorch operators; set SYNCLINE_OPS to lean");
    else if (!p->details || sl_monitor_output_create(out, &opt) != 0)
        sl_log(SL_LOG_WARN, "not enough memory to print calls of torch.distributed; lower "
                            "SYNCLINE_MEMORY");
    return 0;
}

/* The outputs to which each window is written. Status and log lines name the file of the first
 * output (write/outputs.h). `create` may return 0 and leave *out empty if its output is not
 * wanted. */
static const struct {
    int (*create)(struct sl_pipeline *p, struct sl_output *out);
    enum sl_pipeline_share share; /* the output's share of the memory */
} outputs[] = {
    {create_kineto, SL_SHARE_TEXT},
    {create_chakra, SL_SHARE_CHAKRA},
    {create_monitor, SL_SHARE_NONE},
};

static int create_outputs(struct sl_pipeline *p)
{
    const struct sl_disk_options disk = {
        .folder = &p->folder,
        .limit_bytes = p->opt.config->disk_bytes,
        .keeps_all = p->opt.config->window_mode == SL_WINDOW_RUN,
    };

    p->folder = p->opt.identity->folder;
    if (sl_disk_create(&p->disk, &disk) != 0)
        p->disk = NULL;
    p->outputs.folder = &p->folder;
    p->outputs.disk = p->disk;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        struct sl_output output = {.functions = NULL};
        int error = outputs[i].create(p, &output);

        if (error) {
            sl_outputs_destroy(&p->outputs);
            sl_disk_destroy(p->disk);
            return error;
        }
        if (!output.functions)
            continue;
        sl_outputs_add(&p->outputs, &output);
        p->outputs_bytes += sl_pipeline_share(p->opt.config, outputs[i].share);
    }
    return 0;
}

/* If the creation of the edge engine fails, the job is recorded without edges. */
static void create_edges(struct sl_pipeline *p)
{
    size_t share = sl_pipeline_share(p->opt.config, SL_SHARE_EDGES);
    const struct sl_edge_rows_options opt = {
        .cap_bytes = share - share / HELD_SHARE,
        .shapes = p->shapes,
        .outputs = &p->outputs,
    };

    if (sl_edge_rows_create(&p->edges, &opt) != 0) {
        p->edges = NULL;
        sl_log(SL_LOG_WARN, "not enough memory for sync edges: the trace will not show what each "
                            "wait waited for; lower SYNCLINE_MEMORY");
    } else if (p->opt.config->kinds & ~(uint32_t)SL_KIND_COLLECTIVES &&
               !(p->opt.config->kinds & SL_CUPTI_SYNC)) {
        sl_log(SL_LOG_INFO, "SYNCLINE_KINDS leaves out synchronization: the trace has sync edges "
                            "only for copies and frees; add sync to have all");
    }
}

/* NCCL launches its kernels by calls of the driver, and describes these calls. */
static void tell_no_launches(const struct sl_config *config)
{
    uint32_t both = SL_KIND_COLLECTIVES | SL_CUPTI_KERNEL;

    if (config->nccl != SL_NCCL_OFF && (config->kinds & (both | SL_CUPTI_DRIVER)) == both)
        sl_log(SL_LOG_INFO, "SYNCLINE_KINDS leaves out driver: NCCL's kernels will not say which "
                            "collective they run, because the driver calls that launch them are "
                            "not recorded; add driver");
}

static int create_decode(struct sl_pipeline *p)
{
    const struct sl_decode_options opt = {
        .version = p->opt.cupti->version,
        .get_next_record = p->opt.cupti->fn.ActivityGetNextRecord,
        .filter_api = p->opt.filter_api,
        .intern = p->intern,
        .shapes = p->shapes,
        .devices = &p->devices,
        .query_device = sl_cuda_facts_device,
    };

    return sl_decode_create(&p->decode, &opt);
}

static int create_assemble(struct sl_pipeline *p)
{
    const struct sl_assemble_options opt = {
        .cap_bytes = sl_pipeline_share(p->opt.config, SL_SHARE_ASSEMBLE),
        .flows = p->opt.config->detail != SL_DETAIL_LEAN,
        .sink = sl_pipeline_assembled,
        .sink_user = p,
    };

    return sl_assemble_create(&p->assemble, &opt);
}

/* If there is no memory, operators are recorded without their inputs. */
static void create_details(struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;

    if (config->ops != SL_TORCH_OPS_OFF &&
        sl_intern_create(&p->details, (size_t)config->ops_memory_bytes / SL_PIPELINE_DETAIL_SHARE))
        p->details = NULL;
}

int sl_pipeline_create(struct sl_pipeline **out, const struct sl_pipeline_options *opt)
{
    struct sl_pipeline *p = &the_pipeline;
    int err;

    p->opt = *opt;
    p->decoded = sl_pipeline_decoded;
    p->from_ns = p->until_ns = p->seen_ns = SL_PIPELINE_NEVER;
    err = sl_intern_create(&p->intern, sl_pipeline_share(opt->config, SL_SHARE_INTERN));
    if (err)
        goto fail_intern;
    err = sl_shape_create(&p->shapes, sl_pipeline_share(opt->config, SL_SHARE_SHAPE));
    if (err)
        goto fail_shapes;
    err = create_decode(p);
    if (err)
        goto fail_decode;
    err = create_assemble(p);
    if (err)
        goto fail_assemble;
    err = sl_ring_create(&p->ring, ring_slots(sl_pipeline_share(opt->config, SL_SHARE_RING)));
    if (err)
        goto fail_ring;
    create_details(p);
    create_edges(p);
    tell_no_launches(opt->config);
    err = create_outputs(p);
    if (err)
        goto fail_outputs;
    sl_pipeline_ranges_create(p);
    sl_pipeline_ops_create(p);
    sl_pipeline_launches_create(p);
    sl_pipeline_lanes_create(p);
    err = start_writer(p);
    if (err)
        goto fail_writer;
    *out = p;
    return 0;

fail_writer:
    sl_source_readers_destroy(p->readers);
    sl_launches_destroy(p->launches);
    sl_ops_destroy(p->ops);
    sl_ranges_destroy(p->ranges);
    sl_outputs_destroy(&p->outputs);
    sl_disk_destroy(p->disk);
fail_outputs:
    sl_edge_rows_destroy(p->edges);
    sl_intern_destroy(p->details);
    sl_ring_destroy(p->ring);
fail_ring:
    sl_assemble_destroy(p->assemble);
fail_assemble:
    sl_decode_destroy(p->decode);
fail_decode:
    sl_shape_destroy(p->shapes);
fail_shapes:
    sl_intern_destroy(p->intern);
fail_intern:
    return err;
}

const struct sl_device_table *sl_pipeline_devices(const struct sl_pipeline *p)
{
    return &p->devices;
}

size_t sl_pipeline_bytes(const struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;

    return sl_ring_slots(p->ring) * sizeof(struct sl_event) + sl_intern_bytes(p->intern) +
           sl_pipeline_share(config, SL_SHARE_ASSEMBLE) +
           sl_pipeline_share(config, SL_SHARE_SHAPE) + p->outputs_bytes +
           (p->edges ? sl_pipeline_share(config, SL_SHARE_EDGES) : 0);
}
int sl_pipeline_stop(struct sl_pipeline *p, uint64_t timeout_ns)
{
    return sl_writer_stop(p->writer, timeout_ns);
}
