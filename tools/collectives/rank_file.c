/*
 * rank_file.c - turns the kernels of communication of one file into parts.
 *
 * Threads, memory: see ranks.h.
 */
#include "collectives/rank_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "event/message.h"
#include "read/grow.h"
#include "read/number.h"
#include "read/trace_file.h"
#include "read/work.h"

#define LAUNCH_BYTES (64u << 20)

static uint32_t put_name(struct sl_rank_reading *r, struct sl_text text)
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

/* Returns the root in the job; if only its place in the group is known, -2 less that; else -1. */
static int32_t root_of(const struct sl_trace_row *row)
{
    uint64_t root;

    if (number_of(row->root_rank, &root) == 0 && root < SL_RANK_GROUPS_MOST)
        return (int32_t)root;
    return row->group_rank >= 0 && row->group_rank < SL_RANK_GROUPS_MOST
               ? -2 - (int32_t)row->group_rank
               : -1;
}

static uint64_t device_of(const struct sl_trace_row *row)
{
    return row->has & SL_HAS_DEVICE && row->device >= 0 && row->device < UINT8_MAX
               ? (uint64_t)row->device
               : UINT8_MAX;
}

static int is_replay(const struct sl_trace_row *row)
{
    return row->has & SL_HAS_GRAPH && row->graph > 0;
}

static int32_t rank_of(const struct sl_trace_row *row, uint32_t bit, int64_t rank)
{
    return row->has & bit && rank >= 0 && rank < SL_RANK_GROUPS_MOST ? (int32_t)rank : -1;
}

/* Sets the other ranks of a kernel of messages. */
static void set_peers(struct sl_rank_part *part, const struct sl_trace_row *row)
{
    if (part->type == SL_COLLECTIVE_BATCH) {
        part->to = rank_of(row, SL_HAS_DST_RANK, row->dst_rank);
        part->from = rank_of(row, SL_HAS_SRC_RANK, row->src_rank);
        part->peer = part->to == part->from ? part->to : -1;
        return;
    }
    part->to = part->type == SL_COLLECTIVE_SEND ? part->peer : -1;
    part->from = part->type == SL_COLLECTIVE_RECV ? part->peer : -1;
}

/* Returns the call. A batch in one direction does the same as its calls, so it has their name. */
static uint32_t call_of(struct sl_rank_reading *r, const struct sl_trace_row *row,
                        enum sl_collective_type type)
{
    const char *name =
        sl_collective_call((struct sl_collective_text){row->collective.data, row->collective.size});
    int is_batch = sl_text_is(row->call, sl_message_name(SL_COLLECTIVE_BATCH));

    if (row->call.size && !(is_batch && type != SL_COLLECTIVE_BATCH))
        return put_name(r, row->call);
    return sl_intern_put(r->all->names, name, strlen(name));
}

/* Sets what every description of a row has. */
static void complete(struct sl_rank_reading *r, const struct sl_trace_row *row,
                     struct sl_rank_part *part)
{
    part->start_ns = row->ts_ns;
    part->end_ns = row->ts_ns + row->dur_ns;
    /* Until the end of the file: the correlation id. The row of the launch may come later. */
    part->launch_ns = row->has & SL_HAS_CORRELATION ? row->correlation : 0;
    part->kernel_ns = (uint64_t)row->dur_ns;
    part->line = put_name(r, row->source);
    part->kernels = 1;
    part->device = (uint8_t)device_of(row);
    set_peers(part, row);
    r->out->has_replays |= is_replay(row);
    r->out->has_nccl |= part->is_nccl;
}

static void add_part(struct sl_rank_reading *r, const struct sl_rank_part *about,
                     const struct sl_rank_group *key)
{
    struct sl_rank_file *out = r->out;
    int64_t group = sl_rank_groups_put(r, key);
    struct sl_rank_part *part;

    part = group >= 0 ? sl_grow((void **)&out->part, &out->parts, &r->part_slots, sizeof(*part))
                      : NULL;
    if (!part) {
        r->failed = -ENOMEM;
        return;
    }
    *part = *about;
    part->group = (uint32_t)group;
}

static struct sl_rank_part describe(struct sl_rank_reading *r, const struct sl_trace_row *row,
                                    const struct sl_collective *coll)
{
    return (struct sl_rank_part){
        .size = coll->message_bytes >= 0 ? (uint64_t)coll->message_bytes : SL_MESSAGE_UNKNOWN,
        .call = call_of(r, row, coll->type),
        .calls = row->calls > 0 && row->calls < SL_RANK_GROUPS_MOST ? (uint32_t)row->calls : 1,
        .peer = coll->peer,
        .root = root_of(row),
        .type = (uint8_t)coll->type,
        .dtype = coll->dtype,
        .is_shared = coll->is_shared};
}

static struct sl_rank_group group_of(struct sl_rank_reading *r, const struct sl_trace_row *row,
                                     const struct sl_collective *coll)
{
    return (struct sl_rank_group){.number = coll->group,
                                  .description = put_name(r, row->group_description)};
}

static void take_part(struct sl_rank_reading *r, const struct sl_trace_row *row,
                      const struct sl_collective *coll)
{
    struct sl_rank_group group = group_of(r, row, coll);
    struct sl_rank_part part = describe(r, row, coll);

    /* A replay of a CUDA graph has the numbers of the capture, each time. */
    if (!(row->has & SL_HAS_GRAPH) && !sl_message_is_p2p(coll->type) &&
        number_of(row->seq, &part.number) == 0)
        part.numbered = SL_NUMBERED_BY_SEQ;
    sl_rank_nccl_add(row, &part);
    complete(r, row, &part);
    add_part(r, &part, &group);
}

/* Reads a kernel or launch that NCCL describes. Returns 1 if it does. */
static int read_nccl(struct sl_rank_reading *r, const struct sl_trace_row *row,
                     struct sl_rank_part *part, struct sl_rank_group *group)
{
    const char *name;
    char text[32];

    if (!row->nccl_call.size || sl_rank_nccl_read(row, part, group) != 0)
        return 0;
    name = sl_message_name(part->type);
    part->call = sl_intern_put(r->all->names, name, strlen(name));
    snprintf(text, sizeof(text), "comm %.*s", (int)row->comm.size, row->comm.data);
    group->description = row->comm_name.size ? put_name(r, row->comm_name)
                                             : sl_intern_put(r->all->names, text, strlen(text));
    complete(r, row, part);
    return 1;
}

/* Takes a row of the track `NCCL`. The rows of its channels and messages have no `Comm ranks`. */
static void take_nccl_launch(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    struct sl_rank_launch launch, *at;

    if (r->kernels || !read_nccl(r, row, &launch.part, &launch.group))
        return;
    launch.part.is_launch = 1;
    launch.part.kernel_ns = launch.part.kernels = 0;
    launch.part.end_ns = launch.part.start_ns;
    at = sl_grow((void **)&r->launched, &r->launches, &r->launched_slots, sizeof(*at));
    if (at)
        *at = launch;
    else
        r->failed = -ENOMEM;
}

static void take_kernel(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    struct sl_rank_interval *at;
    struct sl_rank_group group;
    struct sl_collective coll;
    struct sl_rank_part part;
    uint32_t number;

    r->kernels++;
    number = row->collective.data ? sl_row_collectives_row(r->collectives, row) : 0;
    if (number && sl_row_collectives_get(r->collectives, number, &coll)) {
        take_part(r, row, &coll);
        return;
    }
    if (read_nccl(r, row, &part, &group)) {
        add_part(r, &part, &group);
        return;
    }
    if (sl_work_of_kernel(row->name.data, row->name.size) == SL_WORK_COMMUNICATION) {
        r->out->undescribed++;
        r->out->undescribed_ns += (uint64_t)row->dur_ns;
        if (is_replay(row)) {
            r->out->replays++;
            r->out->replays_ns += (uint64_t)row->dur_ns;
        }
        return;
    }
    at = sl_grow((void **)&r->compute, &r->computes, &r->compute_slots, sizeof(*at));
    if (!at)
        r->failed = -ENOMEM;
    else
        *at = (struct sl_rank_interval){row->ts_ns, row->ts_ns + row->dur_ns,
                                        (uint8_t)device_of(row)};
}

/* Takes a call of PyTorch. A collective that hangs has no kernel in the file, but it has its call.
 */
static void take_call(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    struct sl_rank_file *out = r->out;
    struct sl_collective coll;
    struct sl_rank_group group;
    struct sl_rank_part *call;
    int64_t place;

    if (!row->collective.data || !sl_text_is(row->name, "record_param_comms") ||
        !sl_row_collectives_get(r->collectives, sl_row_collectives_row(r->collectives, row),
                                &coll) ||
        sl_message_is_p2p(coll.type) || coll.type == SL_COLLECTIVE_BATCH)
        return;
    group = group_of(r, row, &coll);
    place = sl_rank_groups_put(r, &group);
    call = place >= 0 ? sl_grow((void **)&out->call, &out->calls, &r->call_slots, sizeof(*call))
                      : NULL;
    if (!call) {
        r->failed = -ENOMEM;
        return;
    }
    *call = describe(r, row, &coll);
    call->numbered = SL_NUMBERED_BY_ORDER;
    call->start_ns = call->end_ns = call->launch_ns = row->ts_ns;
    call->group = (uint32_t)place;
    call->line = put_name(r, row->source);
}

static void take_launch(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    uint64_t *value;

    if (!(row->has & SL_HAS_CORRELATION) || row->correlation <= 0 || !row->name.data ||
        !memmem(row->name.data, row->name.size, "Launch", 6))
        return;
    value = sl_map_put(&r->launch, (uint64_t)row->correlation);
    if (value && !*value) /* past the memory limit the start of the kernel is used instead */
        *value = (uint64_t)row->ts_ns + 1;
}

static void take_step(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    static const char name[] = "ProfilerStep#";
    struct sl_rank_step *step;
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
        *step = (struct sl_rank_step){row->ts_ns, row->ts_ns + row->dur_ns, number};
}

static void take_row(struct sl_rank_reading *r, const struct sl_trace_row *row)
{
    if (row->phase != 'X' || !(row->has & SL_HAS_TS) || !(row->has & SL_HAS_DUR) || row->dur_ns < 0)
        return;
    if (row->ts_ns + row->dur_ns > r->end_ns)
        r->end_ns = row->ts_ns + row->dur_ns;
    if (row->category == SL_CAT_KERNEL && row->name.data)
        take_kernel(r, row);
    else if (row->category == SL_CAT_CPU_OP)
        take_call(r, row);
    else if (sl_row_is_call(row))
        take_launch(r, row);
    else if (row->category == SL_CAT_USER_ANNOTATION && row->nccl_call.size)
        take_nccl_launch(r, row);
    else if (row->category == SL_CAT_USER_ANNOTATION)
        take_step(r, row);
}

static void take_field(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct sl_rank_reading *r = user;

    sl_header_value(&r->out->header, path, type, value);
    sl_row_collectives_field(r->collectives, path, type, value);
}

static void take_item(struct sl_rank_reading *r, struct sl_trace *t, struct sl_trace_item *item)
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

/* ---- the file ---- */

static void tell_cut(struct sl_rank_reading *r, const struct sl_command *command,
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

static int read_file(struct sl_rank_reading *r, const struct sl_command *command)
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
        sl_args_complain(command,
                         strange == input.what
                             ? "%s is truncated or damaged: %s; nothing of it can be read"
                             : "%s is not a Kineto trace: %s",
                         r->out->path, strange);
    } else {
        for (size_t i = 0; i < r->launches && !r->kernels && !r->failed; i++)
            add_part(r, &r->launched[i].part, &r->launched[i].group);
        sl_rank_groups_end(r);
        if (!r->failed)
            sl_rank_parts_end(r);
        tell_cut(r, command, &item->span, &input);
        /* A file that its process completed has the loss counters at its end. */
        r->out->is_recovered =
            r->out->header.own_file && !r->out->header.counters && !r->out->is_cut;
    }
    sl_trace_close(t);
    if (r->failed)
        return sl_args_complain(command, "not enough memory to read %s", r->out->path);
    return strange ? SL_EXIT_USAGE : r->out->is_cut ? SL_EXIT_PROBLEM : SL_EXIT_OK;
}

int sl_ranks_read(struct sl_ranks *all, const struct sl_command *command, const char *path)
{
    struct sl_rank_file *out = &all->file[all->files];
    struct sl_rank_reading r = {.all = all, .out = out, .store.cap_bytes = LAUNCH_BYTES};
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
    free(r.launched);
    if (status == SL_EXIT_USAGE) {
        free(out->part);
        free(out->call);
    } else {
        all->files++;
    }
    return status;
}
