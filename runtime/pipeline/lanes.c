/*
 * lanes.c - reads the events that application threads have written to their lanes
 * (collect/lane/lane.h), before the CUPTI records of the same time are decoded.
 *
 * Threads: the recorder thread. Memory: only the readers' memory.
 */
#include "base/log.h"
#include "collect/source.h"
#include "pipeline/pipeline_state.h"

static void meet_thread(void *user, uint32_t thread)
{
    struct sl_pipeline *p = user;

    sl_decode_meet_thread(p->decode, p->opt.identity->pid, thread, p->decoded, p);
}

static void take_named(void *user, const struct sl_named *what, uint32_t name)
{
    const struct sl_event event = {
        .kind = SL_EV_META_EVENT, .event_handle = what->key, .name = name};
    struct sl_pipeline *p = user;

    if (what->what == SL_NAMED_EVENT)
        sl_outlet_meta(p, &event);
    else
        sl_decode_describe(p->decode, what, name, p->decoded, p);
}

void sl_pipeline_lanes_read(struct sl_pipeline *p)
{
    struct sl_source_lost lost;

    if (!p->used || !p->readers)
        return;
    sl_source_readers_read(p->readers,
                           p->until_ns == SL_PIPELINE_NEVER ? p->seen_ns : SL_PIPELINE_NEVER);
    sl_source_readers_count(p->readers, &lost);
    p->lost_by_sources = lost;
    if (p->ops)
        sl_ops_tell_begun(p->ops);
    sl_pipeline_ranges_count(p);
    sl_pipeline_ops_count(p);
}

void sl_pipeline_lanes_look(struct sl_pipeline *p, const uint8_t *data, size_t valid)
{
    struct sl_decode_held held = {0};

    if (p->used || !p->readers)
        return;
    sl_decode_look(p->layout ? p->layout : sl_cupti_layout_find(p->opt.cupti->version), data, valid,
                   &held);
    if (held.of_use)
        sl_pipeline_meet_use(p);
}

/* If there is no memory, the job is recorded without ranges and operators. */
void sl_pipeline_lanes_create(struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_source_reading reading = {
        .names = p->intern,
        .details = p->details,
        .ranges = p->ranges,
        .ops = p->ops,
        .launches = p->launches,
        .range_texts_bytes = sl_pipeline_share(config, SL_SHARE_INTERN) / 2,
        .op_names_bytes = sl_pipeline_share(config, SL_SHARE_INTERN) / 4,
        .only_collectives = config->kinds == SL_KIND_COLLECTIVES,
        .collectives = (config->kinds & SL_KIND_COLLECTIVES) != 0,
        .nccl_sample = config->nccl_sample,
        .launch_texts_bytes = sl_pipeline_share(config, SL_SHARE_INTERN) / 8,
        .user = p,
        .sink = sl_pipeline_ranges_take,
        .named = take_named,
        .thread = meet_thread,
    };

    if (!p->ranges)
        return;
    if (sl_source_readers_create(&p->readers, &reading) != 0)
        sl_log(SL_LOG_WARN, "not enough memory to read ranges and operators: the trace has none; "
                            "lower SYNCLINE_MEMORY");
}
