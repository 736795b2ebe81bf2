/*
 * ops_read.c - turns the PyTorch records in the lanes (collect/lane/lane.h) into operators and user
 * ranges.
 *
 * Threads, memory: see ops_read.h.
 */
#include "collect/torch/ops_read.h"
#include "base/text_table.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/pages.h"
#include "collect/python/frames.h"
#include "collect/torch/batches.h"
#include "collect/torch/functions.h"
#include "collect/torch/ops_abi.h"
#include "event/collective_args.h"
#include "event/op_detail.h"
#include "event/pattern.h"

/* User scopes have a domain of their own, which is no NVTX domain, and are identified by their
 * handles. */
#define USER_DOMAIN 0x20000u
/* Flag in the ids of ranges that may end on any thread. Handles are so small that they never
 * contain this bit. */
#define USER_ID     (1ull << 62)
#define LINES       4096 /* number of cached lines; a power of two */
#define LATE        256
#define DETAIL_MOST (SL_OP_DETAIL_HEAD + PARTS_MOST)
/* Maximum size of JSON members and inputs, which is the most that a record can hold. The Python
 * line is added if there is room. */
#define PARTS_MOST  (SL_LANE_RECORD_WORDS * 8)
#define SOURCE_MORE 16 /* bytes of JSON that are written around the line */

_Static_assert(DETAIL_MOST <= SL_OP_DETAIL_MOST,
               "readers of a detail have buffers of SL_OP_DETAIL_MOST bytes");

struct sl_torch_ops_read {
    struct sl_torch_ops_read_options opt;
    struct sl_torch_ops_lost lost;
    size_t names_used;
    struct {
        uint32_t line, text;
    } line[LINES];
    struct {
        uint64_t handle, ns;
    } late[LATE]; /* ends of operators whose beginnings are in other lanes that were not read yet */
    unsigned lates;
    char detail[DETAIL_MOST];
    struct sl_torch_batches batches;
};

int sl_torch_ops_read_create(struct sl_torch_ops_read **out,
                             const struct sl_torch_ops_read_options *opt)
{
    struct sl_torch_ops_read *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->opt = *opt;
    *out = r;
    return 0;
}

void sl_torch_ops_read_destroy(struct sl_torch_ops_read *r)
{
    if (r)
        sl_pages_unmap(r, sizeof(*r));
}

void sl_torch_ops_read_get_lost(const struct sl_torch_ops_read *r, struct sl_torch_ops_lost *out)
{
    *out = r->lost;
}

/* ---- texts ---- */

static uint32_t text_of(struct sl_torch_ops_read *r, const char *text, size_t length)
{
    uint32_t id = sl_intern_find(r->opt.names, text, length);

    if (id)
        return id;
    if (r->names_used + length <= r->opt.names_bytes)
        id = sl_intern_put(r->opt.names, text, length);
    if (id)
        r->names_used += length;
    else
        r->lost.names++;
    return id;
}

static uint32_t line_of(struct sl_torch_ops_read *r, uint32_t line)
{
    unsigned slot = line & (LINES - 1);
    const char *text;
    size_t length;

    if (!line)
        return 0;
    if (r->line[slot].line != line) {
        text = sl_text_table_get(line, &length);
        r->line[slot].line = line;
        r->line[slot].text = text ? text_of(r, text, length) : 0;
    }
    return r->line[slot].text;
}

/* Copies the JSON members of a collective to `out`, and adds syncline's members and the Python line
 * as far as there is room. */
static void add_members(const struct sl_torch_ops_read *r, struct sl_op_detail *detail, char *out,
                        uint32_t line, const char *function)
{
    struct sl_collective_args told = sl_collective_args_of(detail);
    size_t used = detail->more_length + detail->inputs_length, length = 0;
    const char *text = sl_intern_get(r->opt.names, line, &length);
    char *at = out + detail->more_length;

    if (used + SL_COLLECTIVE_MEMBERS_MOST > PARTS_MOST)
        return;
    memcpy(out, detail->more, detail->more_length);
    at = sl_collective_put_members(at, &told, function);
    used = (size_t)(at - out) + detail->inputs_length;
    if (text && used + SL_JSON_ESCAPE_MAX * length + SOURCE_MORE <= PARTS_MOST) {
        at = SL_JSON_LITERAL(at, ",\"source\":\"");
        at = SL_JSON_LITERAL(sl_json_escape(at, text, length), "\"");
    }
    detail->more = out;
    detail->more_length = (size_t)(at - out);
}

/* Removes a number that is the first member. Returns the number, or `otherwise`. */
static uint32_t take_number(struct sl_op_detail *detail, const char *key, uint32_t otherwise)
{
    size_t length = strlen(key);
    const char *at = detail->more + length, *end = detail->more + detail->more_length;
    uint64_t number = 0;

    if (detail->more_length <= length || memcmp(detail->more, key, length) != 0)
        return otherwise;
    for (; at < end && *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (at == end || *at != ',')
        return otherwise;
    detail->more_length = (size_t)(end - at - 1);
    detail->more = at + 1;
    return number <= UINT32_MAX ? (uint32_t)number : otherwise;
}

/* Removes the device and the number of a collective, which the observer writes before all other
 * members. Details are interned, and the number would make each detail a text of its own. */
static void take_numbers(struct sl_op_detail *detail, struct sl_op *as)
{
    as->device = sl_event_device(take_number(detail, "\"Device\":", SL_DEVICE_NONE));
    as->seq = take_number(detail, "\"Seq\":", 0);
}

/* Interns the details of an operator. For a collective, also sets the members of *op for which the
 * details are needed. */
static uint32_t detail_of(struct sl_torch_ops_read *r, const struct sl_lane_op *from,
                          struct sl_op *as)
{
    const char *more = (const char *)(from + 1) + from->name_length;
    struct sl_op_detail detail = {more, from->more_length,
                                  (const uint8_t *)more + from->more_length, from->inputs_length,
                                  from->was_cut};
    char members[PARTS_MOST];
    uint32_t id;

    if (!from->more_length && !from->inputs_length && !from->was_cut)
        return 0;
    if (as->is_collective && from->more_length) {
        take_numbers(&detail, as);
        add_members(r, &detail, members, as->line, sl_torch_function_name(from->function));
    }
    r->lost.inputs += from->was_cut;
    id = sl_intern_put(r->opt.details, r->detail, sl_op_detail_pack(r->detail, &detail));
    r->lost.inputs += !id;
    return id;
}

/* ---- records ---- */

static void take_user(struct sl_torch_ops_read *r, uint32_t thread, const struct sl_lane_op *op,
                      uint64_t ns, int is_started)
{
    struct sl_range_look look = {.value = op->handle, .value_type = SL_NOTE_RECORD_FUNCTION};
    char pattern[SL_LANE_TEXT_MAX];
    uint32_t number[SL_PATTERN_NUMBERS];

    look.name = text_of(r, pattern,
                        sl_pattern_make(pattern, (const char *)(op + 1), op->name_length, number));
    look.numbers = sl_pattern_pack(number);
    if (op->more_length && op->more_length <= sizeof(pattern)) {
        look.payload = text_of(r, pattern,
                               sl_pattern_make(pattern, (const char *)(op + 1) + op->name_length,
                                               op->more_length, number));
        look.payload_numbers = sl_pattern_pack(number);
    }
    if (is_started)
        sl_ranges_start(r->opt.ranges, thread, USER_ID | op->handle, ns, thread, &look);
    else
        sl_ranges_push(r->opt.ranges, thread, USER_DOMAIN, ns, &look);
}

static int begins_with(const struct sl_lane_op *op, const char *name, size_t length)
{
    return op->name_length >= length && memcmp(op + 1, name, length) == 0;
}

#define BEGINS_WITH(op, name) begins_with((op), (name), sizeof(name) - 1)

/* Finds the batch of a collective that begins. */
static void take_collective(struct sl_torch_ops_read *r, uint32_t thread, struct sl_op *op)
{
    size_t length = 0;
    const char *text = sl_intern_get(r->opt.details, op->detail, &length);
    struct sl_op_detail detail;
    struct sl_collective_args told;

    if (sl_op_detail_unpack(&detail, text, length) != 0)
        return;
    told = sl_collective_args_of(&detail);
    if (!sl_collective_call(told.collective))
        op->seq = 0; /* "wait" has the number of the collective that it waits for */
    sl_torch_batches_call(&r->batches, thread, &told, op);
}

static void take_begin(struct sl_torch_ops_read *r, uint32_t thread, const struct sl_lane_op *from,
                       uint64_t ns, int is_started)
{
    struct sl_op op = {
        .handle = from->handle,
        .sequence = from->sequence,
        .number = from->thread,
        .forward_number = from->forward_thread,
        .caller = from->caller,
        .is_user = from->scope == SL_TORCH_SCOPE_USER,
        .is_site = from->scope == SL_TORCH_SCOPE_SITE,
        .is_backward = from->scope == SL_TORCH_SCOPE_BACKWARD,
    };

    if (op.is_user) {
        if (is_started && BEGINS_WITH(from, "nccl:"))
            sl_torch_batches_scope(
                &r->batches, r->opt.ops, r->opt.details, thread, ns, from->handle,
                (struct sl_collective_text){(const char *)(from + 1), from->name_length});
        take_user(r, thread, from, ns, is_started);
        if (!is_started)
            sl_ops_begin(r->opt.ops, thread, ns, &op);
        return;
    }
    op.line = line_of(r, from->record.aux);
    if (op.is_site) {
        sl_ops_begin(r->opt.ops, thread, ns, &op);
        return;
    }
    op.name = text_of(r, (const char *)(from + 1), from->name_length);
    op.is_collective = BEGINS_WITH(from, "record_param_comms");
    if (op.is_collective && !op.line)
        op.line = sl_ops_line(r->opt.ops, thread);
    op.detail = detail_of(r, from, &op);
    if (op.is_collective)
        take_collective(r, thread, &op);
    op.is_evaluation = from->scope == SL_TORCH_SCOPE_FUNCTION &&
                       BEGINS_WITH(from, "autograd::engine::evaluate_function: ");
    if (is_started)
        sl_ops_start(r->opt.ops, thread, ns, &op);
    else
        sl_ops_begin(r->opt.ops, thread, ns, &op);
}

/* Ends an operator on any thread. Returns 0, or -ENOENT if its beginning was not read. */
static int finish(struct sl_torch_ops_read *r, uint64_t handle, uint64_t ns)
{
    uint32_t thread;
    int is_user;

    if (sl_ranges_started(r->opt.ranges, USER_ID | handle, &thread)) {
        sl_ranges_end(r->opt.ranges, USER_ID | handle, ns);
        return 0;
    }
    if (sl_ops_finish(r->opt.ops, handle, ns) == 0)
        return 0;
    is_user = sl_ops_end_anywhere(r->opt.ops, handle, ns, &thread);
    if (is_user == 1)
        sl_ranges_pop_value(r->opt.ranges, thread, USER_DOMAIN, (uint32_t)handle, ns);
    return is_user < 0 ? is_user : 0;
}

/* Lanes are read one after the other. So the operator's beginning, in another lane, may be read
 * later. */
static void take_finish(struct sl_torch_ops_read *r, uint64_t handle, uint64_t ns)
{
    if (finish(r, handle, ns) == 0 || r->lates == LATE)
        return;
    r->late[r->lates].handle = handle;
    r->late[r->lates++].ns = ns;
}

void sl_torch_ops_read_done(struct sl_torch_ops_read *r)
{
    for (unsigned i = 0; i < r->lates; i++)
        finish(r, r->late[i].handle, r->late[i].ns);
    r->lates = 0;
}

void sl_torch_ops_read_record(struct sl_torch_ops_read *r, uint32_t thread,
                              const struct sl_lane_record *record, uint64_t ns)
{
    uint64_t word;

    switch (record->what) {
    case SL_LANE_OP_BEGIN:
    case SL_LANE_OP_START:
        sl_torch_batches_leave(&r->batches, r->opt.ops, thread, ns, 0);
        take_begin(r, thread, (const struct sl_lane_op *)record, ns,
                   record->what == SL_LANE_OP_START);
        break;
    case SL_LANE_OP_END:
        if (sl_ops_end(r->opt.ops, thread, record->aux, ns))
            sl_ranges_pop_value(r->opt.ranges, thread, USER_DOMAIN, record->aux, ns);
        break;
    case SL_LANE_OP_FINISH:
        memcpy(&word, record + 1, sizeof(word));
        sl_torch_batches_leave(&r->batches, r->opt.ops, thread, ns, word);
        take_finish(r, word, ns);
        break;
    case SL_LANE_OP_NODE:
        memcpy(&word, record + 1, sizeof(word));
        sl_ops_node(r->opt.ops, thread, word);
        break;
    case SL_LANE_THREAD_END:
        sl_ops_end_thread(r->opt.ops, thread, ns);
        break;
    default:
        break;
    }
}
