/*
 * rank_parts.c - finishes the parts of a file: how long each was exposed, in which step it lies,
 * and which kernels are one collective.
 *
 * Threads, memory: see ranks.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectives/rank_file.h"

static int by_device(const void *a, const void *b)
{
    const struct sl_rank_interval *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Sorts the compute kernels, and joins those that overlap. */
static void join_compute(struct sl_rank_reading *r)
{
    size_t kept = 0;

    if (r->computes)
        qsort(r->compute, r->computes, sizeof(*r->compute), by_device);
    for (size_t i = 1; i < r->computes; i++) {
        struct sl_rank_interval *last = &r->compute[kept], *next = &r->compute[i];

        if (next->device != last->device || next->start_ns > last->end_ns)
            r->compute[++kept] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    r->computes = r->computes ? kept + 1 : 0;
}

/* Returns the first interval of the device that ends after `ns`, or one of a later device. */
static size_t first_after(const struct sl_rank_reading *r, uint8_t device, int64_t ns)
{
    size_t low = 0, high = r->computes;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_rank_interval *at = &r->compute[middle];

        if (at->device < device || (at->device == device && at->end_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t exposed_of(const struct sl_rank_reading *r, const struct sl_rank_part *part)
{
    uint64_t hidden_ns = 0;

    for (size_t i = first_after(r, part->device, part->start_ns); i < r->computes; i++) {
        const struct sl_rank_interval *at = &r->compute[i];
        int64_t from = at->start_ns > part->start_ns ? at->start_ns : part->start_ns;
        int64_t to = at->end_ns < part->end_ns ? at->end_ns : part->end_ns;

        if (at->device != part->device || at->start_ns >= part->end_ns)
            break;
        hidden_ns += to > from ? (uint64_t)(to - from) : 0;
    }
    return part->kernel_ns - hidden_ns;
}

static int by_start(const void *a, const void *b)
{
    const struct sl_rank_step *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Numbers a part by its step: 2 n + 1 in step n, 2 n between step n and the step before. */
static void find_step(const struct sl_rank_reading *r, struct sl_rank_part *part)
{
    size_t low = 0, high = r->steps;

    if (!r->steps)
        return;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->step[middle].start_ns <= part->launch_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && part->launch_ns < r->step[low - 1].end_ns) {
        part->number = 2 * r->step[low - 1].number + 1;
        return;
    }
    part->is_loose = low == 0 || low == r->steps;
    part->number = part->is_loose ? 0 : 2 * r->step[low].number;
}

static int by_number(const void *a, const void *b)
{
    const struct sl_rank_part *x = a, *y = b;

    if (x->numbered != y->numbered)
        return x->numbered - y->numbered;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->launch_ns > y->launch_ns) - (x->launch_ns < y->launch_ns);
}

/* Joins the kernels of one collective: those with its sequence number. */
static void join_parts(struct sl_rank_file *out)
{
    size_t kept = 0;

    if (out->parts)
        qsort(out->part, out->parts, sizeof(*out->part), by_number);
    for (size_t i = 1; i < out->parts; i++) {
        struct sl_rank_part *last = &out->part[kept];
        const struct sl_rank_part *next = &out->part[i];

        if (next->numbered != SL_NUMBERED_BY_SEQ || last->numbered != SL_NUMBERED_BY_SEQ ||
            next->group != last->group || next->number != last->number) {
            out->part[++kept] = *next;
            continue;
        }
        last->end_ns = next->end_ns > last->end_ns ? next->end_ns : last->end_ns;
        last->kernel_ns += next->kernel_ns;
        last->exposed_ns += next->exposed_ns;
        last->kernels += next->kernels;
        last->is_shared |= next->is_shared || next->type != last->type;
    }
    out->parts = out->parts ? kept + 1 : 0;
}

/* Marks the calls that are open, and sets the times of all since the epoch. */
static void end_calls(struct sl_rank_reading *r)
{
    struct sl_rank_file *out = r->out;
    int64_t *last_ns = calloc(r->all->groups + 1, sizeof(*last_ns)), any_ns = INT64_MIN;
    size_t kept = 0;

    if (!last_ns) {
        r->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < r->all->groups; i++)
        last_ns[i] = INT64_MIN;
    for (size_t i = 0; i < out->parts; i++) {
        const struct sl_rank_part *part = &out->part[i];
        /* A kernel that only NCCL describes may be that of any group. */
        int64_t *at = part->is_nccl ? &any_ns : &last_ns[part->group];

        *at = part->launch_ns > *at ? part->launch_ns : *at;
    }
    for (size_t i = 0; i < out->calls; i++) {
        struct sl_rank_part call = out->call[i];

        call.is_open =
            !out->undescribed && call.launch_ns > any_ns && call.launch_ns > last_ns[call.group];
        if (__builtin_add_overflow(call.start_ns, out->header.base_ns, &call.start_ns))
            continue;
        call.end_ns = call.start_ns;
        out->call[kept++] = call;
    }
    out->calls = kept;
    free(last_ns);
    if (out->header.has_window)
        out->end_ns = out->header.closed_ns;
    else if (__builtin_add_overflow(r->end_ns, out->header.base_ns, &out->end_ns))
        out->end_ns = 0;
}

void sl_rank_parts_end(struct sl_rank_reading *r)
{
    struct sl_rank_file *out = r->out;
    size_t kept = 0;

    join_compute(r);
    if (r->steps)
        qsort(r->step, r->steps, sizeof(*r->step), by_start);
    for (size_t i = 0; i < out->parts; i++) {
        struct sl_rank_part part = out->part[i];
        const uint64_t *launch =
            part.launch_ns > 0 ? sl_map_find(&r->launch, (uint64_t)part.launch_ns) : NULL;

        part.has_launch = launch != NULL;
        part.launch_ns = launch ? (int64_t)(*launch - 1) : part.start_ns;
        part.exposed_ns = exposed_of(r, &part);
        if (part.root < -1) {
            const struct sl_rank_group *group = &r->all->group[part.group];
            size_t place = (size_t)(-2 - part.root);

            part.root = place < group->known ? (int32_t)group->rank[place] : -1;
        }
        if (part.numbered == SL_NUMBERED_BY_STEP)
            find_step(r, &part);
        if (__builtin_add_overflow(part.start_ns, out->header.base_ns, &part.start_ns) ||
            __builtin_add_overflow(part.end_ns, out->header.base_ns, &part.end_ns))
            continue;
        out->part[kept++] = part;
    }
    out->parts = kept;
    end_calls(r);
    join_parts(out);
}
