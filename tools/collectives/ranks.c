/*
 * ranks.c - turns the kernels of communication of one file into parts.
 *
 * Threads, memory: see ranks.h.
 */
#include "collectives/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "align/clocks.h"
#include "base/store.h"
#include "event/message.h"
#include "read/grow.h"
#include "read/number.h"
#include "read/row_collectives.h"
#include "read/trace_file.h"
#include "read/work.h"

#define NAMES_BYTES  (64u << 20)
#define LAUNCH_BYTES (64u << 20)
#define GROUPS_MOST  (1 << 20)

struct interval {
    int64_t start_ns, end_ns;
    uint8_t device;
};

struct step {
    int64_t start_ns, end_ns;
    uint64_t number;
};

/* The state while one file is read. Its times are since the base of the file. */
struct reading {
    struct sl_ranks *all;
    struct sl_rank_file *out;
    struct sl_row_collectives *collectives;
    struct sl_store store;
    struct sl_map launch; /* time of the launch by correlation id, plus 1 */
    /* The groups of this file. Their numbers differ between files, if one states the number of
     * ranks of the job too late. Until the end of the file, sl_rank_part.group is an index in them.
     */
    struct sl_rank_group *group;
    struct interval *compute;
    struct step *step;
    size_t groups, group_slots, part_slots, computes, compute_slots, steps, step_slots;
    uint64_t invalid;
    int failed;
};

const char *sl_ranks_name(const struct sl_ranks *all, uint32_t id)
{
    const char *name = sl_intern_get(all->names, id, NULL);

    return name ? name : "";
}

static uint32_t put_name(struct reading *r, struct sl_text text)
{
    return text.data && text.size ? sl_intern_put(r->all->names, text.data, text.size) : 0;
}

/* Reads a whole number that is not negative. Returns 0, or -EINVAL and leaves *out. */
static int number_of(struct sl_text text, uint64_t *out)
{
    int64_t number;
    int exact;

    if (!text.data || sl_number_scaled(text.data, text.size, 0, &number, &exact) != 0 || !exact ||
        number < 0)
        return -EINVAL;
    *out = (uint64_t)number;
    return 0;
}

/* ---- groups ---- */

/* Returns the index of a group of the file, which is added if it is new, or -1 if there is no
 * memory. */
static int64_t put_group(struct reading *r, uint32_t number, uint32_t description)
{
    struct sl_rank_group *group;

    for (size_t i = 0; i < r->groups; i++)
        if (r->group[i].number == number && r->group[i].description == description)
            return (int64_t)i;
    if (r->groups == GROUPS_MOST)
        return -1;
    group = sl_grow((void **)&r->group, &r->groups, &r->group_slots, sizeof(*group));
    if (!group)
        return -1;
    group->number = number;
    group->description = description;
    return (int64_t)r->groups - 1;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Stores the ranks of a group with all its descriptions. `rank` NULL: the ranks are 0 and up. */
static void take_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct reading *r = user;

    for (size_t i = 0; i < r->groups; i++) {
        struct sl_rank_group *group = &r->group[i];

        if (group->number != number || group->ranks)
            continue;
        group->rank = calloc(ranks + 1, sizeof(*group->rank));
        if (!group->rank) {
            r->failed = -ENOMEM;
            return;
        }
        for (size_t k = 0; k < ranks; k++)
            group->rank[k] = rank ? rank[k] : (uint32_t)k;
        qsort(group->rank, ranks, sizeof(*group->rank), ascending);
        group->ranks = ranks;
    }
}

static int is_one_group(const struct sl_rank_group *a, const struct sl_rank_group *b)
{
    return a->description == b->description && a->ranks == b->ranks &&
           (a->ranks ? memcmp(a->rank, b->rank, a->ranks * sizeof(*a->rank)) == 0
                     : a->number == b->number);
}

/* Moves the groups of the file to those of all files, and sets the group of each part. */
static void join_groups(struct reading *r)
{
    struct sl_ranks *all = r->all;
    uint32_t *place = calloc(r->groups + 1, sizeof(*place));

    for (size_t i = 0; i < r->groups && place; i++) {
        struct sl_rank_group *group = NULL;
        size_t at = 0;

        while (at < all->groups && !is_one_group(&all->group[at], &r->group[i]))
            at++;
        place[i] = (uint32_t)at;
        if (at < all->groups)
            continue;
        if (at < GROUPS_MOST)
            group = sl_grow((void **)&all->group, &all->groups, &all->group_slots, sizeof(*group));
        if (!group) {
            r->failed = -ENOMEM;
            break;
        }
        *group = r->group[i];
        r->group[i].rank = NULL;
    }
    if (!place)
        r->failed = -ENOMEM;
    for (size_t i = 0; i < r->out->parts && !r->failed; i++)
        r->out->part[i].group = place[r->out->part[i].group];
    free(place);
}

/* ---- rows ---- */

/* Returns the root in the job; if only its place in the group is known, -2 less that; else -1. */
static int32_t root_of(const struct sl_trace_row *row)
{
    uint64_t root;

    if (number_of(row->root_rank, &root) == 0 && root < GROUPS_MOST)
        return (int32_t)root;
    return row->group_rank >= 0 && row->group_rank < GROUPS_MOST ? -2 - (int32_t)row->group_rank
                                                                 : -1;
}

static uint64_t device_of(const struct sl_trace_row *row)
{
    return row->has & SL_HAS_DEVICE && row->device >= 0 && row->device < UINT8_MAX
               ? (uint64_t)row->device
               : UINT8_MAX;
}

static void take_part(struct reading *r, const struct sl_trace_row *row,
                      const struct sl_collective *coll)
{
    struct sl_rank_file *out = r->out;
    int64_t group = put_group(r, coll->group, put_name(r, row->group_description));
    const char *name =
        sl_collective_call((struct sl_collective_text){row->collective.data, row->collective.size});
    struct sl_rank_part *part;

    part = group >= 0 ? sl_grow((void **)&out->part, &out->parts, &r->part_slots, sizeof(*part))
                      : NULL;
    if (!part) {
        r->failed = -ENOMEM;
        return;
    }
    part->start_ns = row->ts_ns;
    part->end_ns = row->ts_ns + row->dur_ns;
    /* Until the end of the file: the correlation id. The row of the launch may come later. */
    part->launch_ns = row->has & SL_HAS_CORRELATION ? row->correlation : 0;
    part->kernel_ns = (uint64_t)row->dur_ns;
    part->size = coll->message_bytes >= 0 ? (uint64_t)coll->message_bytes : SL_MESSAGE_UNKNOWN;
    part->group = (uint32_t)group;
    part->call =
        row->call.size ? put_name(r, row->call) : sl_intern_put(r->all->names, name, strlen(name));
    part->line = put_name(r, row->source);
    part->peer = coll->peer;
    part->root = root_of(row);
    part->kernels = 1;
    part->type = (uint8_t)coll->type;
    part->dtype = coll->dtype;
    part->device = (uint8_t)device_of(row);
    /* A replay of a CUDA graph has the numbers of the capture, each time. */
    part->has_number = !(row->has & SL_HAS_GRAPH) && !sl_message_is_p2p(coll->type) &&
                       number_of(row->seq, &part->number) == 0;
    part->is_shared = row->batch.size != 0 || coll->type == SL_COLLECTIVE_BATCH;
}

static void take_kernel(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_collective coll;
    uint32_t number;
    struct interval *at;

    number = row->collective.data ? sl_row_collectives_row(r->collectives, row) : 0;
    if (number && sl_row_collectives_get(r->collectives, number, &coll)) {
        take_part(r, row, &coll);
        return;
    }
    if (sl_work_of_kernel(row->name.data, row->name.size) == SL_WORK_COMMUNICATION) {
        r->out->undescribed++;
        r->out->undescribed_ns += (uint64_t)row->dur_ns;
        return;
    }
    at = sl_grow((void **)&r->compute, &r->computes, &r->compute_slots, sizeof(*at));
    if (!at)
        r->failed = -ENOMEM;
    else
        *at = (struct interval){row->ts_ns, row->ts_ns + row->dur_ns, (uint8_t)device_of(row)};
}

static void take_launch(struct reading *r, const struct sl_trace_row *row)
{
    uint64_t *value;

    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 || !row->name.data ||
        !memmem(row->name.data, row->name.size, "Launch", 6))
        return;
    value = sl_map_put(&r->launch, (uint64_t)row->correlation);
    if (value && !*value) /* past the memory limit the start of the kernel is used instead */
        *value = (uint64_t)row->ts_ns + 1;
}

static void take_step(struct reading *r, const struct sl_trace_row *row)
{
    static const char name[] = "ProfilerStep#";
    struct step *step;
    uint64_t number;

    if (!sl_text_begins(row->name, name) ||
        number_of((struct sl_text){row->name.data + sizeof(name) - 1,
                                   row->name.size - (sizeof(name) - 1)},
                  &number) != 0)
        return;
    step = sl_grow((void **)&r->step, &r->steps, &r->step_slots, sizeof(*step));
    if (!step)
        r->failed = -ENOMEM;
    else
        *step = (struct step){row->ts_ns, row->ts_ns + row->dur_ns, number};
}

static void take_row(struct reading *r, const struct sl_trace_row *row)
{
    if (row->phase != 'X' || !(row->has & SL_HAS_TS) || !(row->has & SL_HAS_DUR) || row->dur_ns < 0)
        return;
    if (row->category == SL_CAT_KERNEL && row->name.data)
        take_kernel(r, row);
    else if (sl_row_is_call(row))
        take_launch(r, row);
    else if (row->category == SL_CAT_USER_ANNOTATION)
        take_step(r, row);
}

static void take_field(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct reading *r = user;

    sl_header_value(&r->out->header, path, type, value);
    sl_row_collectives_field(r->collectives, path, type, value);
}

static void take_item(struct reading *r, struct sl_trace *t, struct sl_trace_item *item)
{
    if (item->status) {
        r->invalid++;
        return;
    }
    if (item->span.kind == SL_SPAN_FIELD)
        sl_trace_visit(t, &item->span, take_field, r, &item->error);
    if (item->span.kind != SL_SPAN_EVENT)
        return;
    sl_trace_take_rank(t, item, &r->out->header);
    take_row(r, &item->row);
}

/* ---- the end of a file ---- */

static int by_device(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Sorts the compute kernels, and joins those that overlap. */
static void join_compute(struct reading *r)
{
    size_t kept = 0;

    if (r->computes)
        qsort(r->compute, r->computes, sizeof(*r->compute), by_device);
    for (size_t i = 1; i < r->computes; i++) {
        struct interval *last = &r->compute[kept], *next = &r->compute[i];

        if (next->device != last->device || next->start_ns > last->end_ns)
            r->compute[++kept] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    r->computes = r->computes ? kept + 1 : 0;
}

/* Returns the first interval of the device that ends after `ns`, or one of a later device. */
static size_t first_after(const struct reading *r, uint8_t device, int64_t ns)
{
    size_t low = 0, high = r->computes;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct interval *at = &r->compute[middle];

        if (at->device < device || (at->device == device && at->end_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t exposed_of(const struct reading *r, const struct sl_rank_part *part)
{
    uint64_t hidden_ns = 0;

    for (size_t i = first_after(r, part->device, part->start_ns); i < r->computes; i++) {
        const struct interval *at = &r->compute[i];
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
    const struct step *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Numbers a part by its step: 2 n + 1 in step n, 2 n between step n and the step before. */
static void find_step(const struct reading *r, struct sl_rank_part *part)
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

    if (x->has_number != y->has_number)
        return x->has_number - y->has_number;
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

        if (!next->has_number || !last->has_number || next->group != last->group ||
            next->number != last->number) {
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

/* Finishes the parts, when all rows and the header are known. Parts whose times do not fit are
 * left out. */
static void finish_parts(struct reading *r)
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

        part.launch_ns = launch ? (int64_t)(*launch - 1) : part.start_ns;
        part.exposed_ns = exposed_of(r, &part);
        if (part.root < -1) {
            const struct sl_rank_group *group = &r->all->group[part.group];
            size_t place = (size_t)(-2 - part.root);

            part.root = place < group->ranks ? (int32_t)group->rank[place] : -1;
        }
        if (!part.has_number)
            find_step(r, &part);
        if (__builtin_add_overflow(part.start_ns, out->header.base_ns, &part.start_ns) ||
            __builtin_add_overflow(part.end_ns, out->header.base_ns, &part.end_ns))
            continue;
        out->part[kept++] = part;
    }
    out->parts = kept;
    join_parts(out);
}

static void tell_cut(struct reading *r, const struct sl_command *command,
                     const struct sl_span *last, const struct sl_input_status *input)
{
    if (last->kind != SL_SPAN_END || input->end != SL_INPUT_WHOLE)
        r->out->is_cut = 1;
    if (r->out->is_cut)
        sl_args_problem(command,
                        "%s is truncated or damaged: %s, at byte %" PRIu64
                        " of the uncompressed text; only the part before is reported",
                        r->out->path,
                        input->what[0]              ? input->what
                        : last->kind == SL_SPAN_BAD ? last->why
                                                    : "the text ends too early",
                        last->offset);
    if (r->invalid)
        r->out->is_cut = sl_args_problem(command,
                                         "%s: left out: %" PRIu64
                                         " events that are too long or not valid JSON: `syncline "
                                         "check` shows more",
                                         r->out->path, r->invalid);
}

static int read_file(struct reading *r, const struct sl_command *command)
{
    struct sl_input_status input;
    struct sl_trace_item *item;
    const char *strange;
    struct sl_trace *t;
    char why[512];

    if (sl_trace_open(&t, r->out->path, why, sizeof(why)) != 0)
        return sl_args_complain(command, "%s", why);
    sl_trace_show(t, "reading", r->out->path);
    while (sl_trace_next(t, &item))
        take_item(r, t, item);
    sl_trace_get_status(t, &input);
    strange = sl_trace_not_one(t, &item->span, &input);
    if (strange) {
        sl_args_complain(command, "%s is not a Kineto trace: %s", r->out->path, strange);
    } else {
        sl_row_collectives_groups(r->collectives, take_group, r);
        if (r->out->header.has_world_size && r->out->header.world_size > 0 &&
            r->out->header.world_size <= GROUPS_MOST)
            take_group(r, 0, NULL, (size_t)r->out->header.world_size);
        join_groups(r);
        if (!r->failed)
            finish_parts(r);
        tell_cut(r, command, &item->span, &input);
    }
    sl_trace_close(t);
    if (r->failed)
        return sl_args_complain(command, "not enough memory to read %s", r->out->path);
    return strange ? SL_EXIT_USAGE : r->out->is_cut ? SL_EXIT_PROBLEM : SL_EXIT_OK;
}

int sl_ranks_read(struct sl_ranks *all, const struct sl_command *command, const char *path)
{
    struct sl_rank_file *out = &all->file[all->files];
    struct reading r = {.all = all, .out = out, .store.cap_bytes = LAUNCH_BYTES};
    int status;

    *out = (struct sl_rank_file){.path = path};
    sl_map_init(&r.launch, &r.store);
    status = sl_row_collectives_create(&r.collectives) == 0
                 ? read_file(&r, command)
                 : sl_args_complain(command, "not enough memory to read %s", path);
    sl_row_collectives_destroy(r.collectives);
    sl_map_free(&r.launch);
    for (size_t i = 0; i < r.groups; i++)
        free(r.group[i].rank);
    free(r.group);
    free(r.compute);
    free(r.step);
    if (status == SL_EXIT_USAGE)
        free(out->part);
    else
        all->files++;
    return status;
}

/* ---- all files ---- */

static int by_rank(const void *a, const void *b)
{
    const struct sl_rank *x = a, *y = b;

    /* -1 as the largest number */
    return ((uint64_t)x->number > (uint64_t)y->number) -
           ((uint64_t)x->number < (uint64_t)y->number);
}

static int64_t rank_of(const struct sl_rank_file *file)
{
    return file->header.has_rank && file->header.rank >= 0 ? file->header.rank : -1;
}

int sl_ranks_end(struct sl_ranks *all)
{
    size_t kept = 0;

    all->rank = calloc(all->files + 1, sizeof(*all->rank));
    if (!all->rank)
        return -ENOMEM;
    for (size_t i = 0; i < all->files; i++) {
        const struct sl_header *h = &all->file[i].header;
        uint32_t host = h->host[0] ? sl_intern_put(all->names, h->host, strlen(h->host)) : 0;

        all->rank[i] = (struct sl_rank){rank_of(&all->file[i]), host ? host : SL_CLOCKS_UNKNOWN};
        if (h->has_world_size && h->world_size > 0 && (uint64_t)h->world_size > all->world_size)
            all->world_size = (uint64_t)h->world_size;
    }
    if (all->files)
        qsort(all->rank, all->files, sizeof(*all->rank), by_rank);
    for (size_t i = 0; i < all->files; i++)
        if (!kept || all->rank[i].number < 0 || all->rank[i].number != all->rank[kept - 1].number)
            all->rank[kept++] = all->rank[i];
    all->ranks = kept;
    for (size_t i = 0, unnamed = 0; i < all->files; i++) {
        struct sl_rank_file *file = &all->file[i];
        int64_t number = rank_of(file);
        uint32_t at = 0;

        while (all->rank[at].number != number)
            at++;
        file->rank = number < 0 ? at + (uint32_t)unnamed++ : at;
    }
    return 0;
}

int sl_ranks_create(struct sl_ranks *all, size_t files)
{
    *all = (struct sl_ranks){.file = calloc(files + 1, sizeof(*all->file))};
    if (all->file && sl_intern_create(&all->names, NAMES_BYTES) == 0)
        return 0;
    free(all->file);
    return -ENOMEM;
}

void sl_ranks_free(struct sl_ranks *all)
{
    for (size_t i = 0; i < all->files; i++)
        free(all->file[i].part);
    for (size_t i = 0; i < all->groups; i++)
        free(all->group[i].rank);
    free(all->file);
    free(all->group);
    free(all->rank);
    sl_intern_destroy(all->names);
}
