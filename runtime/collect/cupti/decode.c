/*
 * decode.c - turns CUPTI records of any supported version into events. This file steps from record
 * to record in a buffer.
 *
 * Threads: the recorder thread. Memory: the decoder's own small state. Records are decoded by kind
 * in decode_gpu.c (operations), decode_cpu.c (calls, waits, overhead) and decode_object.c (devices,
 * contexts, streams, names).
 *
 * Nothing in a buffer is trusted, because CUPTI has been seen to deliver truncated buffers, and
 * another tool in the process can overwrite ours. Sizes are checked against the buffer's end, and
 * times against each other. The memory of a text is probed before the text is read for the first
 * time.
 */
#include "collect/cupti/decode.h"

#include <errno.h>

#include "base/pages.h"
#include "base/stats.h"
#include "collect/cupti/decode_impl.h"
#include "collect/cupti/foreign_text.h"
#include "collect/cupti/layout.h"
#include "event/call_name.h"

static void forward(void *user, const struct sl_event *ev)
{
    sl_decode_emit(user, ev);
}

int sl_decode_create(struct sl_decode **out, const struct sl_decode_options *opt)
{
    const struct sl_cupti_layout *layout = sl_cupti_layout_find(opt->version);
    struct sl_cupti_objects_options seen = {.intern = opt->intern, .sink = forward};
    struct sl_decode *d;

    if (!layout)
        return -ENOTSUP;
    d = sl_pages_map(sizeof *d);
    if (!d)
        return -ENOMEM;
    d->opt = *opt;
    if (!d->opt.can_read)
        d->opt.can_read = sl_foreign_text_can_read;
    d->layout = layout;
    seen.sink_user = d;
    if (sl_cupti_objects_create(&d->seen, &seen) != 0)
        goto fail_seen;
    *out = d;
    return 0;

fail_seen:
    sl_pages_unmap(d, sizeof *d);
    return -ENOMEM;
}

void sl_decode_destroy(struct sl_decode *d)
{
    if (!d)
        return;
    sl_cupti_objects_destroy(d->seen);
    sl_pages_unmap(d, sizeof *d);
}

static uint64_t kinds_without_family(const struct sl_cupti_layout *layout)
{
    uint64_t kinds = 0;

    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++) {
        const struct sl_cupti_selection *s = &sl_cupti_tables_selections[i];
        const uint16_t *family;

        memcpy(&family, (const char *)layout + s->family, sizeof(family));
        if (!family)
            kinds |= UINT64_C(1) << s->kind;
    }
    return kinds;
}

void sl_decode_set_layout(struct sl_decode *d, const struct sl_cupti_layout *layout)
{
    d->is_given = layout != NULL;
    d->layout = layout ? layout : sl_cupti_layout_find(d->opt.version);
    d->unreadable = layout ? kinds_without_family(layout) : 0;
}

/* Decodes one record that is wholly inside the buffer. Returns 0, or -1 if its values are
 * impossible. */
static int decode_record(struct sl_decode *d, const uint8_t *record, uint32_t kind)
{
    static int (*const decode[SL_CUPTI_KIND_COUNT])(struct sl_decode * d, const uint8_t *record) = {
        [SL_CUPTI_KIND_RUNTIME] = sl_decode_api,
        [SL_CUPTI_KIND_DRIVER] = sl_decode_api,
        [SL_CUPTI_KIND_CONCURRENT_KERNEL] = sl_decode_kernel,
        [SL_CUPTI_KIND_KERNEL] = sl_decode_kernel,
        [SL_CUPTI_KIND_MEMCPY] = sl_decode_memcpy,
        [SL_CUPTI_KIND_MEMCPY2] = sl_decode_memcpy_peer,
        [SL_CUPTI_KIND_MEMSET] = sl_decode_memset,
        [SL_CUPTI_KIND_GRAPH_TRACE] = sl_decode_graph,
        [SL_CUPTI_KIND_SYNCHRONIZATION] = sl_decode_sync,
        [SL_CUPTI_KIND_CUDA_EVENT] = sl_decode_cuda_event,
        [SL_CUPTI_KIND_OVERHEAD] = sl_decode_overhead,
        [SL_CUPTI_KIND_CONTEXT] = sl_decode_context,
        [SL_CUPTI_KIND_STREAM] = sl_decode_stream,
        [SL_CUPTI_KIND_NAME] = sl_decode_name,
    };

    if (decode[kind] && !(d->unreadable & UINT64_C(1) << kind))
        return decode[kind](d, record);
    sl_stats_add(SL_STAT_RECORDS_UNKNOWN, 1);
    return 0;
}

/* Calls the library's GetNextRecord. Returns the offset of the record after `last`, or of the first
 * record if `last` is NULL. Returns a negative value if there are no more records, and sets
 * *damaged unless the buffer has ended regularly. */
static ptrdiff_t next_by_library(const struct sl_decode *d, const uint8_t *buffer, size_t valid,
                                 const uint8_t *last, int *damaged)
{
    void *record = (void *)last;
    int result = d->opt.get_next_record((uint8_t *)buffer, valid, &record);
    uintptr_t at = (uintptr_t)record, begin = (uintptr_t)buffer;

    if (result == SL_CUPTI_ERROR_MAX_LIMIT_REACHED)
        return -1;
    if (result == SL_CUPTI_SUCCESS && at >= begin && at - begin < valid &&
        (!last || at > (uintptr_t)last))
        return (ptrdiff_t)(at - begin);
    *damaged = 1;
    return -1;
}

size_t sl_decode_buffer(struct sl_decode *d, const uint8_t *buffer, size_t valid,
                        sl_decode_sink_fn sink, void *user)
{
    int by_library = d->opt.get_next_record && !d->is_given;
    size_t count = 0, invalid = 0, at = 0, size = 0;
    const uint8_t *last = NULL;
    int damaged = 0;

    d->sink = sink;
    d->sink_user = user;
    for (;;) {
        uint32_t kind;

        if (by_library) {
            ptrdiff_t next = next_by_library(d, buffer, valid, last, &damaged);

            if (next < 0)
                break;
            at = (size_t)next;
        } else {
            at += size;
            if (at == valid)
                break;
        }
        if (valid - at < sizeof kind) {
            damaged = 1;
            break;
        }
        last = buffer + at;
        kind = sl_load32(last);
        size = sl_cupti_layout_size(d->layout, kind);
        if (size == 0 && by_library) { /* the record's kind is newer than the table of sizes */
            sl_stats_add(SL_STAT_RECORDS_UNKNOWN, 1);
            count++;
            continue;
        }
        if (size == 0 || size > valid - at) {
            damaged = 1;
            break;
        }
        count++;
        if (decode_record(d, last, kind) != 0)
            invalid++;
    }
    sl_decode_release_known(d);
    sl_stats_add(SL_STAT_RECORDS, count);
    if (invalid + (size_t)damaged > 0)
        sl_stats_add(SL_STAT_RECORDS_INVALID, invalid + (size_t)damaged);
    return count;
}

void sl_decode_without_library(struct sl_decode *d)
{
    d->opt.get_next_record = NULL;
}

/* Reads a word that CUPTI may be writing at this moment. The race is intended, because the word is
 * either still zero or complete. */
__attribute__((no_sanitize("thread"))) static uint32_t peek(const uint8_t *at)
{
    typedef uint32_t __attribute__((aligned(1), may_alias)) word;

    return *(const volatile word *)at;
}

/* Address of the record's end time; NULL if this layout lacks the record's family. */
#define END_OF(family, record) ((family) ? (record) + (family)->end : NULL)

/* Returns the address of the operation's end time, or NULL if the record is not a GPU operation. */
static const uint8_t *end_of(const struct sl_cupti_layout *layout, uint32_t kind,
                             const uint8_t *record)
{
    switch (kind) {
    case SL_CUPTI_KIND_CONCURRENT_KERNEL:
    case SL_CUPTI_KIND_KERNEL:
        return END_OF(layout->kernel, record);
    case SL_CUPTI_KIND_MEMCPY:
        return END_OF(layout->memcpy, record);
    case SL_CUPTI_KIND_MEMCPY2:
        return END_OF(layout->memcpy_peer, record);
    case SL_CUPTI_KIND_MEMSET:
        return END_OF(layout->memset, record);
    case SL_CUPTI_KIND_GRAPH_TRACE:
        return END_OF(layout->graph, record);
    default:
        return NULL;
    }
}

static int is_launch(const struct sl_cupti_layout *layout, uint32_t kind, const uint8_t *record)
{
    enum sl_event_kind domain = kind == SL_CUPTI_KIND_RUNTIME ? SL_EV_RUNTIME : SL_EV_DRIVER;

    return (kind == SL_CUPTI_KIND_RUNTIME || kind == SL_CUPTI_KIND_DRIVER) && layout->api &&
           sl_call_name_launches(domain, peek(record + layout->api->cbid));
}

void sl_decode_look(const struct sl_cupti_layout *layout, const uint8_t *buffer, size_t size,
                    struct sl_decode_held *add_to)
{
    size_t launches = 0, operations = 0, step = 1;

    for (size_t at = 0; step && size - at >= sizeof(uint32_t); at += step) {
        const uint8_t *record = buffer + at, *end;
        uint32_t kind = peek(record);

        step = sl_cupti_layout_size(layout, kind);
        if (kind == 0 || step > size - at)
            break;
        add_to->records++;
        add_to->of_use += kind != SL_CUPTI_KIND_DEVICE && kind != SL_CUPTI_KIND_NAME &&
                          kind != SL_CUPTI_KIND_OVERHEAD;
        end = end_of(layout, kind, record);
        operations += end != NULL;
        add_to->unfinished += end && !peek(end) && !peek(end + sizeof(uint32_t));
        launches += (size_t)is_launch(layout, kind, record);
    }
    if (launches > operations)
        add_to->unfinished += launches - operations;
}

int sl_decode_text(struct sl_decode *d, const uint8_t *at, uint32_t *id)
{
    const char *text = (const char *)(uintptr_t)sl_load64(at);
    uint64_t mixed = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    const char **known = &d->text_known[(mixed >> 40) % SL_DECODE_TEXTS_KNOWN];
    size_t length;

    if (!text) {
        *id = 0;
        return 0;
    }
    if (*known != text) {
        if (sl_foreign_text_measure(text, d->opt.can_read, &length))
            return -1;
        *known = text;
    }
    *id = sl_intern_put_hinted(d->opt.intern, text);
    if (*id == 0)
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return 0;
}

uint32_t sl_decode_own_text(struct sl_decode *d, const char *text, uint32_t *slot)
{
    if (*slot == 0) {
        *slot = sl_intern_put(d->opt.intern, text, strlen(text));
        if (*slot == 0)
            sl_stats_add(SL_STAT_NAMES_LOST, 1);
    }
    return *slot;
}

uint32_t sl_decode_shape(struct sl_decode *d, const struct sl_shape *shape)
{
    uint32_t id = sl_shape_put(d->opt.shapes, shape);

    if (id == 0)
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
    return id;
}
