/*
 * decode_held.c - holds waits whose record gives the context but not the device.
 *
 * CUPTI fills one buffer per thread. A buffer with a wait may arrive before the buffer that
 * describes or uses the wait's context. Such a wait is held until a record or description of its
 * context arrives. If all records up to the wait's end have arrived and none names the context, the
 * wait is emitted with device 0.
 *
 * Threads: the recorder thread. Memory: the decoder's. If the table of held waits is full, the
 * oldest wait is emitted without its device.
 */
#include "collect/cupti/decode_impl.h"

static void put(struct sl_decode *d, struct sl_event *ev, uint32_t device)
{
    ev->device = sl_event_device(device);
    sl_cupti_objects_stream(d->seen, device, ev->context, ev->stream);
    sl_decode_emit(d, ev);
}

/* Emits waits whose context is known by now, and waits that ended at or before `complete_ns`. */
static void release(struct sl_decode *d, uint64_t complete_ns)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < d->held_count; i++) {
        struct sl_event *ev = &d->held[i];
        uint32_t device = 0;

        if (sl_cupti_objects_context_device(d->seen, ev->context, &device) == 0)
            put(d, ev, device);
        else if (ev->end_ns <= complete_ns)
            sl_decode_emit(d, ev);
        else
            d->held[kept++] = *ev;
    }
    d->held_count = kept;
}

void sl_decode_in_context(struct sl_decode *d, struct sl_event *ev)
{
    uint32_t device;

    if (sl_cupti_objects_context_device(d->seen, ev->context, &device) == 0) {
        put(d, ev, device);
        return;
    }
    if (ev->kind != SL_EV_SYNC) { /* a CUDA event record has no slice, and readers of the event need
                                   * only the context */
        sl_decode_emit(d, ev);
        return;
    }
    if (d->held_count == SL_DECODE_HELD)
        release(d, d->held[0].end_ns);
    d->held[d->held_count++] = *ev;
}

void sl_decode_release_known(struct sl_decode *d)
{
    if (d->held_count)
        release(d, 0);
}

void sl_decode_settle(struct sl_decode *d, uint64_t complete_ns, sl_decode_sink_fn sink, void *user)
{
    d->sink = sink;
    d->sink_user = user;
    if (d->held_count)
        release(d, complete_ns);
}
