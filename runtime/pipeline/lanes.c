/*
 * lanes.c - what threads left in their lanes, on its way to those who make ranges and
 * operators of it.
 */
#include "collect/lane/lane_read.h"
#include "collect/nvtx/read.h"
#include "collect/torch/ops_read.h"
#include "pipeline/pipeline_state.h"

static void meet_thread(struct sl_pipeline *p, uint32_t thread)
{
    sl_decode_meet_thread(p->decode, p->opt.identity->pid, thread, sl_pipeline_decoded, p);
}

static void take_record(void *user, uint32_t thread, const struct sl_lane_record *record,
                        uint64_t ns)
{
    struct sl_pipeline *p = user;

    if (record->what == SL_LANE_THREAD_BEGIN)
        meet_thread(p, thread);
    if (p->ops_read)
        sl_torch_ops_read_record(p->ops_read, thread, record, ns);
    sl_nvtx_read_record(p->nvtx, thread, record, ns);
}

void sl_pipeline_lanes_read(struct sl_pipeline *p)
{
    if (!p->used || !p->nvtx)
        return;
    sl_nvtx_read_names(p->nvtx);
    sl_lane_reader_read(&p->lanes,
                        p->until_ns == SL_PIPELINE_NEVER ? p->seen_ns : SL_PIPELINE_NEVER);
    sl_nvtx_read_done(p->nvtx);
    if (p->ops_read)
        sl_torch_ops_read_done(p->ops_read);
    sl_pipeline_ops_begun(p);
    sl_pipeline_ranges_count(p);
    sl_pipeline_ops_count(p);
}

void sl_pipeline_lanes_look(struct sl_pipeline *p, const uint8_t *data, size_t valid)
{
    struct sl_decode_held held = {0};

    if (p->used || !p->nvtx)
        return;
    sl_decode_look(p->layout ? p->layout : sl_cupti_layout_find(p->opt.cupti->version), data, valid,
                   &held);
    if (held.of_use)
        sl_pipeline_use(p);
}

void sl_pipeline_lanes_create(struct sl_pipeline *p)
{
    const struct sl_lane_reader_options opt = {.user = p, .record = take_record};

    sl_lane_reader_init(&p->lanes, &opt);
}
