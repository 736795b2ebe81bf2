/*
 * cupti_decode_object.c - records that describe: devices, contexts, streams, and names given with
 * nvtxName*.
 *
 * Entered by the collector. They give SL_EV_META_* events through cupti_seen.c; the device's facts
 * go into the device table first, so that a reader of the event finds them there.
 */
#include "base/stats.h"
#include "collect/cupti_decode_impl.h"

int sl_decode_device(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_device_layout *at = d->layout->device;
    uint32_t id = sl_load32(record + at->id), name;
    struct sl_device dev = {
        .id = id,
        .compute_major = sl_load32(record + at->major),
        .compute_minor = sl_load32(record + at->minor),
        .multiprocessors = sl_load32(record + at->multiprocessors),
        .max_threads_per_block = sl_load32(record + at->threads_per_block),
        .max_blocks_per_sm = sl_load32(record + at->blocks_per_sm),
        .max_warps_per_sm = sl_load32(record + at->warps_per_sm),
        .max_registers_per_block = sl_load32(record + at->registers_per_block),
        .max_registers_per_sm = sl_load32(record + at->registers_per_sm),
        .max_shared_per_block = sl_load32(record + at->shared_per_block),
        .max_shared_per_sm = sl_load32(record + at->shared_per_sm),
        .warp_size = sl_load32(record + at->warp_size),
        .core_clock_khz = sl_load32(record + at->core_clock),
        .memory_bytes = sl_load64(record + at->memory),
        .memory_bandwidth_kbps = sl_load64(record + at->bandwidth),
        .known = 1,
    };
    const char *text;

    if (sl_decode_text(d, record + at->name, &name) != 0)
        return -1;
    if (id >= SL_DEVICE_MAX) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return 0;
    }
    dev.max_threads_per_sm = dev.max_warps_per_sm * dev.warp_size;
    memcpy(dev.uuid, record + at->uuid, sizeof dev.uuid);
    text = sl_intern_get(d->opt.intern, name, NULL);
    if (text)
        strncpy(dev.name, text, sizeof dev.name - 1);
    /* Facts do not change: a repeated record (one comes with each enabling) is not written again
     * under the writer's eyes. */
    if (!d->opt.devices->device[id].known)
        d->opt.devices->device[id] = dev;
    sl_cupti_seen_describe_device(d->seen, id, name);
    return 0;
}

int sl_decode_context(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_context_layout *at = d->layout->context;
    uint32_t context = sl_load32(record + at->context), device = sl_load32(record + at->device);
    uint32_t null_stream = sl_load16(record + at->null_stream);

    if (context == 0 || device > UINT16_MAX)
        return -1;
    sl_cupti_seen_describe_context(d->seen, device, context, 0);
    sl_cupti_seen_describe_stream(d->seen, context, null_stream, SL_CUPTI_STREAM_CREATE_FLAG_NULL,
                                  INT32_MIN, 0);
    return 0;
}

int sl_decode_stream(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_stream_layout *at = d->layout->stream;
    uint32_t context = sl_load32(record + at->context);

    if (context == 0)
        return -1;
    sl_cupti_seen_describe_stream(d->seen, context, sl_load32(record + at->stream),
                                  sl_load32(record + at->flag),
                                  (int32_t)sl_load32(record + at->priority), 0);
    return 0;
}

int sl_decode_name(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_name_layout *at = d->layout->name;
    uint32_t context = sl_load32(record + at->context), name;

    if (sl_decode_text(d, record + at->name, &name) != 0)
        return -1;
    switch (sl_load32(record + at->object_kind)) {
    case SL_CUPTI_OBJECT_THREAD:
        sl_cupti_seen_describe_thread(d->seen, sl_load32(record + at->pid),
                                      sl_load32(record + at->thread), name);
        break;
    case SL_CUPTI_OBJECT_DEVICE:
        sl_cupti_seen_describe_device(d->seen, sl_load32(record + at->device), name);
        break;
    case SL_CUPTI_OBJECT_CONTEXT:
        if (context == 0)
            return -1;
        sl_cupti_seen_describe_context(d->seen, sl_load32(record + at->device), context, name);
        break;
    case SL_CUPTI_OBJECT_STREAM:
        if (context == 0)
            return -1;
        sl_cupti_seen_describe_stream(d->seen, context, sl_load32(record + at->stream), 0,
                                      INT32_MIN, name);
        break;
    default: /* a process's name is the job's own affair */
        break;
    }
    return 0;
}
