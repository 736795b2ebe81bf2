/*
 * cupti_decode_object.c - what describes: the records of contexts and streams, names given with
 * nvtxName*, and the driver's facts about a device that a row names for the first time.
 *
 * Entered by the collector. All give SL_EV_META_* events through cupti_seen.c; a device's facts go
 * into the device table first, so that a reader of the event finds them there.
 */
#include "base/stats.h"
#include "collect/cupti_decode_impl.h"

/* The device's facts are in the table before the row that needs them. They do not change, so the
 * writer may read them while later devices are filled in. */
void sl_decode_new_device(struct sl_decode *d, uint32_t device)
{
    struct sl_device *facts;
    uint32_t name = 0;

    if (device >= SL_DEVICE_MAX) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return;
    }
    facts = &d->opt.devices->device[device];
    if (d->opt.query_device && d->opt.query_device(device, facts) == 0 && facts->name[0]) {
        name = sl_intern_put(d->opt.intern, facts->name, strlen(facts->name));
        if (name == 0)
            sl_stats_add(SL_STAT_NAMES_LOST, 1);
    }
    sl_cupti_seen_describe_device(d->seen, device, name);
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
        if (sl_cupti_seen_is_new_device(d->seen, sl_load32(record + at->device)))
            sl_decode_new_device(d, sl_load32(record + at->device));
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
