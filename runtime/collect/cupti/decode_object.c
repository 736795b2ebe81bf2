/*
 * decode_object.c - decodes descriptions: context and stream records, and names given with
 * nvtxName*. This file also queries the driver for device facts, at the first event and again when
 * a record names an unknown device.
 *
 * Threads: the recorder thread. Memory: the decoder's. objects.c emits an SL_EV_META_* event for
 * each description. The facts of a device are stored in the device table before its event is
 * emitted, because readers of the event read the facts from the device table.
 */
#include <errno.h>

#include "base/stats.h"
#include "collect/cupti/decode_impl.h"

/* Stores a device's facts, then emits the event that announces them. Facts do not change, so the
 * writer thread may read them while the facts of other devices are stored. Returns 0 or -ENOENT. */
static int ask_about_device(struct sl_decode *d, uint32_t device)
{
    struct sl_device *facts = &d->opt.devices->device[device];

    if (!d->opt.query_device || d->opt.query_device(device, facts))
        return -ENOENT;
    /* No name is passed, because the facts contain the device's own name. Only the program gives
     * other names. */
    sl_cupti_objects_describe_device(d->seen, device, 0);
    return 0;
}

/* Queries all devices at once, because the trace's header, which lists them, is written with the
 * first event. */
static void ask_about_devices(struct sl_decode *d)
{
    for (uint32_t i = 0; i < SL_DEVICE_MAX; i++)
        if (sl_cupti_objects_is_new_device(d->seen, i) && ask_about_device(d, i))
            break;
}

void sl_decode_ask_early(struct sl_decode *d)
{
    d->asked_early = 1;
    ask_about_devices(d);
}

void sl_decode_new_device(struct sl_decode *d, uint32_t device)
{
    ask_about_devices(d);
    if (sl_cupti_objects_is_new_device(d->seen, device))
        sl_cupti_objects_describe_device(d->seen, device, 0);
}

int sl_decode_context(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_context_layout *at = d->layout->context;
    uint32_t context = sl_load32(record + at->context), device = sl_load32(record + at->device);
    uint32_t null_stream = sl_load16(record + at->null_stream);

    if (context == 0 || device > UINT16_MAX)
        return -1;
    /* The device is reported first, because the trace's header, which lists devices, is written
     * with the first event. */
    if (sl_cupti_objects_is_new_device(d->seen, device))
        sl_decode_new_device(d, device);
    sl_cupti_objects_describe_context(d->seen, device, context, 0);
    /* CUPTI gives no STREAM record for a default stream, so it is described here. A default stream
     * has the default priority. */
    sl_cupti_objects_describe_stream(d->seen, context, null_stream,
                                     SL_CUPTI_STREAM_CREATE_FLAG_NULL, 0, 0);
    return 0;
}

int sl_decode_stream(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_stream_layout *at = d->layout->stream;
    uint32_t context = sl_load32(record + at->context);

    if (context == 0)
        return -1;
    sl_cupti_objects_describe_stream(d->seen, context, sl_load32(record + at->stream),
                                     sl_load32(record + at->flag),
                                     (int32_t)sl_load32(record + at->priority), 0);
    return 0;
}

static void name_device(struct sl_decode *d, uint32_t device, uint32_t name)
{
    if (sl_cupti_objects_is_new_device(d->seen, device))
        sl_decode_new_device(d, device);
    sl_cupti_objects_describe_device(d->seen, device, name);
}

int sl_decode_name(struct sl_decode *d, const uint8_t *record)
{
    const struct sl_cupti_name_layout *at = d->layout->name;
    uint32_t context = sl_load32(record + at->context), name;

    if (sl_decode_text(d, record + at->name, &name) != 0)
        return -1;
    switch (sl_load32(record + at->object_kind)) {
    case SL_CUPTI_OBJECT_THREAD:
        sl_cupti_objects_describe_thread(d->seen, sl_load32(record + at->pid),
                                         sl_load32(record + at->thread), name);
        break;
    case SL_CUPTI_OBJECT_DEVICE:
        name_device(d, sl_load32(record + at->device), name);
        break;
    case SL_CUPTI_OBJECT_CONTEXT:
        if (context == 0)
            return -1;
        sl_cupti_objects_describe_context(d->seen, sl_load32(record + at->device), context, name);
        break;
    case SL_CUPTI_OBJECT_STREAM:
        if (context == 0)
            return -1;
        sl_cupti_objects_describe_stream(d->seen, context, sl_load32(record + at->stream), 0,
                                         SL_PRIORITY_UNKNOWN, name);
        break;
    default: /* the name of a process is not used */
        break;
    }
    return 0;
}

/* ---- facts from other sources ---- */

void sl_decode_meet_thread(struct sl_decode *d, uint32_t pid, uint32_t thread,
                           sl_decode_sink_fn sink, void *user)
{
    d->sink = sink;
    d->sink_user = user;
    if (!d->asked_early)
        sl_decode_ask_early(d); /* ranges of this thread may be the trace's first events */
    sl_cupti_objects_thread(d->seen, pid, thread);
}

void sl_decode_describe(struct sl_decode *d, const struct sl_named *what, uint32_t name,
                        sl_decode_sink_fn sink, void *user)
{
    uint32_t id = (uint32_t)what->key;

    d->sink = sink;
    d->sink_user = user;
    switch (what->what) {
    case SL_NAMED_THREAD:
        sl_cupti_objects_describe_thread(d->seen, 0, id, name);
        break;
    case SL_NAMED_DEVICE:
        name_device(d, id, name);
        break;
    case SL_NAMED_CONTEXT:
        sl_cupti_objects_describe_context(d->seen, what->within, id, name);
        break;
    case SL_NAMED_STREAM:
        sl_cupti_objects_describe_stream(d->seen, what->within, id, 0, SL_PRIORITY_UNKNOWN, name);
        break;
    default:
        break;
    }
}
