/*
 * assemble.c - puts the records of one process together.
 *
 * What is known of a correlation id stands in its slot (event/correlation.h). A GPU operation and
 * its call may come in either order: whoever comes second makes the arrow. See assemble_impl.h for
 * which file does what.
 *
 * Threads: one owner. Memory: one mapping of cap_bytes, touched as it is used.
 */
#include "event/assemble.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pages.h"
#include "event/assemble_impl.h"

#define DEFAULT_CAP_BYTES (16u << 20)
#define DEFAULT_HOLD_NS   300000000u

/* The 64-bit id nearest to the newest one: right for whatever comes less than 2^31 ids late or
 * early. Ids from before the first wrap that come after it would be negative; they keep their 32
 * bits, which no other id of the first 2^31 has. */
static uint64_t widen(struct sl_assemble *a, uint32_t id)
{
    uint64_t wide;

    if (!a->any) {
        a->any = 1;
        a->newest = id;
        return id;
    }
    wide = a->newest + (uint64_t)(int64_t)(int32_t)(id - (uint32_t)a->newest);
    if ((int64_t)wide < 0)
        return id;
    if (wide > a->newest) {
        if (wide >> 32 != a->newest >> 32)
            a->counts.wraps++;
        a->newest = wide;
    }
    return wide;
}

static void forget_page(void *user, struct sl_corr_page *page)
{
    struct sl_assemble *a = user;
    unsigned i;

    if (page->waiting == 0)
        return;
    for (i = 0; i < SL_CORR_PAGE_IDS; i++) {
        struct sl_corr_slot *slot = &page->slot[i];

        if (slot->state & CALL_WAITS) {
            a->counts.call_without_gpu++;
            a->calls_waiting--;
        }
        while (slot->extra) {
            uint32_t index = slot->extra;

            slot->extra = a->extra[index].next;
            a->extra[index].next = a->extra_free;
            a->extra_free = index;
        }
    }
}

int sl_assemble_create(struct sl_assemble **out, const struct sl_assemble_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES;
    size_t recent_bytes = SL_ASSEMBLE_RECENT * sizeof(uint64_t);
    size_t held_bytes = cap / 4, op_bytes = cap / 8, extra_bytes = cap / 16, pages_bytes;
    struct sl_assemble *a;
    char *memory;
    int error = -ENOMEM;

    if (!opt->sink || cap < 4 * recent_bytes)
        return -EINVAL;
    a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    memory = sl_pages_map(cap);
    if (!memory)
        goto fail_map;
    a->memory = memory;
    a->opt = *opt;
    a->opt.cap_bytes = cap;
    if (!a->opt.driver_hold_ns)
        a->opt.driver_hold_ns = DEFAULT_HOLD_NS;
    held_bytes -= held_bytes % 64;
    op_bytes -= op_bytes % 64;
    extra_bytes -= extra_bytes % 64;
    pages_bytes = cap - recent_bytes - held_bytes - op_bytes - extra_bytes;
    a->recent = (uint64_t *)memory;
    a->held = (struct held_row *)(memory + recent_bytes);
    a->held_slots = held_bytes / sizeof(struct held_row);
    a->op = (struct held_row *)(memory + recent_bytes + held_bytes);
    a->op_slots = op_bytes / sizeof(struct held_row);
    a->extra = (struct extra_op *)(memory + recent_bytes + held_bytes + op_bytes);
    a->extras = (uint32_t)(extra_bytes / sizeof(struct extra_op));
    a->extra_used = 1;
    error = sl_corr_init(&a->table, (char *)a->extra + extra_bytes, pages_bytes, forget_page, a);
    if (error)
        goto fail_table;
    *out = a;
    return 0;

fail_table:
    sl_pages_unmap(memory, cap);
fail_map:
    free(a);
    return error;
}

void sl_assemble_destroy(struct sl_assemble *a)
{
    if (!a)
        return;
    sl_pages_unmap(a->memory, a->opt.cap_bytes);
    free(a);
}

void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct sl_event wide;

    if (ev->correlation == 0) {
        if (ev->kind == SL_EV_OVERHEAD && sl_assemble_seen(a, ev))
            a->counts.duplicates++;
        else
            sl_assemble_emit(a, ev);
        return;
    }
    wide = *ev;
    wide.correlation = widen(a, (uint32_t)ev->correlation);
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
        sl_assemble_operation_row(a, &wide, now_ns);
        break;
    case SL_EV_RUNTIME:
        sl_assemble_runtime_row(a, &wide);
        break;
    case SL_EV_DRIVER:
        sl_assemble_driver_row(a, &wide, now_ns);
        break;
    case SL_EV_SYNC:
    case SL_EV_CUDA_EVENT:
        if (sl_assemble_seen(a, &wide))
            a->counts.duplicates++;
        else if (wide.flags & SL_EVF_NO_RESULT)
            sl_assemble_wait_row(a, &wide, now_ns);
        else
            sl_assemble_emit(a, &wide);
        break;
    default:
        sl_assemble_emit(a, &wide);
        break;
    }
}

void sl_assemble_hold_operations(struct sl_assemble *a)
{
    a->holds_operations = 1;
}

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out)
{
    *out = a->counts;
}

uint64_t sl_assemble_waiting(const struct sl_assemble *a)
{
    return a->calls_waiting;
}
