/*
 * mix_events.h - decodes and assembles the records of mix.h. The result is an array of events in
 * the order that they have in a running job.
 *
 *   struct mix_events in;
 *   mix_events_make(&in, START_NS, 12 << 20);
 *   in.event[0 ... in.count - 1], their names in in.intern, their shapes in in.shapes
 *   mix_events_free(&in);
 *
 * Threads: one. Memory: mix_events_free() frees the array and the tables. Only one file of a
 * program may include this header.
 */
#ifndef BENCH_MIX_EVENTS_H
#define BENCH_MIX_EVENTS_H

#include "collect/cupti/decode.h"
#include "event/assemble.h"
#include "mix.h"
#include "must.h"

enum {
    MIX_EVENTS_BUFFER = 1 << 20,
    MIX_EVENTS_SMALLEST = 24 /* smallest record in bytes; bounds the number of events */
};

struct mix_events {
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_assemble *assemble;
    struct sl_event *event;
    size_t count, room;
};

static void mix_events_assemble(void *user, const struct sl_event *ev)
{
    sl_assemble_event(((struct mix_events *)user)->assemble, ev, 0);
}

static int mix_events_keep(void *user, const struct sl_event *ev)
{
    struct mix_events *in = user;

    if (in->count < in->room)
        in->event[in->count++] = *ev;
    return 0;
}

/* Fills buffers of 1 MiB with `bytes` of records in total, and turns the records into events. */
static void mix_events_make(struct mix_events *in, uint64_t start_ns, size_t bytes)
{
    struct sl_decode_options decode = {.version = MIX_CUPTI_VERSION};
    struct sl_assemble_options assemble = {.sink = mix_events_keep, .sink_user = in};
    uint8_t *buffer = need(malloc(MIX_EVENTS_BUFFER));
    struct sl_decode *d;
    struct mix m;

    memset(in, 0, sizeof(*in));
    in->room = bytes / MIX_EVENTS_SMALLEST;
    in->event = need(malloc(in->room * sizeof(*in->event)));
    must(mix_init(&m, start_ns), "mix");
    must(sl_intern_create(&in->intern, 8 << 20), "names");
    must(sl_shape_create(&in->shapes, 4 << 20), "shapes");
    must(sl_assemble_create(&in->assemble, &assemble), "assemble");
    decode.intern = in->intern;
    decode.shapes = in->shapes;
    must(sl_decode_create(&d, &decode), "decode");
    for (size_t done = 0; done < bytes; done += MIX_EVENTS_BUFFER) {
        size_t valid = mix_fill(&m, buffer, MIX_EVENTS_BUFFER, NULL);

        sl_decode_buffer(d, buffer, valid, mix_events_assemble, in);
        /* The assembler keeps a driver call until it knows whether a runtime call encloses the
         * driver call. In the mix, no runtime call encloses a driver call. So the assembler is
         * flushed here and keeps none. */
        sl_assemble_flush(in->assemble);
    }
    sl_decode_destroy(d);
    mix_free(&m);
    free(buffer);
}

static void mix_events_free(struct mix_events *in)
{
    sl_assemble_destroy(in->assemble);
    sl_shape_destroy(in->shapes);
    sl_intern_destroy(in->intern);
    free(in->event);
}

#endif
