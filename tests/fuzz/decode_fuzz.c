/*
 * decode_fuzz.c - decodes CUPTI buffers with any content. The decoder must not crash, and every
 * resulting event must be valid.
 *
 * Input: one byte that chooses the CUPTI version (and whether records are filtered), then the
 * buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/cupti/decode.h"
#include "collect/cupti/tables.h"
#include "fuzz.h"
#include "mix.h"

static struct sl_intern *intern;
static struct sl_shape_table *shapes;
static struct sl_device_table devices;
static struct mix m; /* the memory of the names to which undamaged kernel records point */

/* A damaged address may point at existing memory that a sanitizer guards. Only our own names may be
 * read. */
static int can_read(uintptr_t address)
{
    uintptr_t first = (uintptr_t)m.name;

    return first && address >= first && address - first < MIX_NAMES * MIX_NAME_BYTES;
}

static void sink(void *user, const struct sl_event *ev)
{
    (void)user;
    if (ev->kind == SL_EV_NONE || ev->kind >= SL_EV_KIND_COUNT)
        abort();
    if (ev->end_ns < ev->start_ns && !(ev->flags & SL_EVF_STILL_RUNNING))
        abort();
    if (ev->name && !sl_intern_get(intern, ev->name, NULL))
        abort();
    if (ev->kind <= SL_EV_GRAPH && ev->shape && !sl_shape_get(shapes, ev->shape))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_decode_options opt = {.devices = &devices, .can_read = can_read};
    struct sl_decode *d;

    if (size == 0)
        return 0;
    opt.version = sl_cupti_tables_layouts[data[0] % sl_cupti_tables_layout_count].version;
    opt.filter_api = data[0] >> 7;
    if (sl_intern_create(&opt.intern, 1 << 20) || sl_shape_create(&opt.shapes, 1 << 20) ||
        sl_decode_create(&d, &opt))
        abort();
    intern = opt.intern;
    shapes = opt.shapes;
    sl_decode_buffer(d, data + 1, size - 1, sink, NULL);
    sl_decode_destroy(d);
    sl_shape_destroy(opt.shapes);
    sl_intern_destroy(opt.intern);
    return 0;
}

/* Even seeds: training records of 13.0. Odd seeds: one record of every kind of some version, all
 * zeros except the kind. */
size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    size_t used = 1;

    if (!m.name && mix_init(&m, 1700000000000000000u))
        abort();
    if (seed % 2 == 0) {
        for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++)
            if (sl_cupti_tables_layouts[i].version <= MIX_CUPTI_VERSION)
                data[0] = (uint8_t)i;
        return 1 + mix_fill(&m, data + 1, cap < 4097 ? cap - 1 : 4096, NULL);
    }
    data[0] = (uint8_t)seed;
    for (uint32_t kind = 1; kind < SL_CUPTI_KIND_COUNT; kind++) {
        unsigned row = data[0] % sl_cupti_tables_layout_count;
        size_t n = sl_cupti_tables_layouts[row].record_size[kind];

        if (used + n > cap)
            break;
        memset(data + used, 0, n);
        if (n)
            memcpy(data + used, &kind, sizeof kind);
        used += n;
    }
    return used;
}
