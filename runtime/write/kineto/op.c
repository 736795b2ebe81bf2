/*
 * op.c - writes the rows of PyTorch operators, and the members about operators in other rows.
 *
 * Operators with the same name and shapes share a cached text, which is followed by numbers. Calls
 * that were made inside operators are stored for a while. So the row of a GPU operation can name
 * the operator. The row of a collective's kernel can describe the collective, just like in
 * torch.profiler's files. A graph node is not launched by an operator, so its row names the
 * operator that created the node.
 *
 * Threads: one owner. Memory: the writer's block, text cache and table of calls
 * (kineto_internal.h).
 */
#include <string.h>

#include "event/collective_args.h"
#include "event/comms_id.h"
#include "event/launches.h"
#include "event/op_detail.h"
#include "event/ops.h"
#include "write/kineto/kineto_internal.h"
#include "write/op_inputs.h"

#define NAME_MOST 1024
#define LINE_MOST 1023
/* Longest text about a launch (collect/nccl/read.c). It fits into the varying part of a row. */
#define LAUNCHED_MOST 4096

_Static_assert(SL_OP_DETAIL_MOST *SL_OP_INPUTS_PER_BYTE + SL_OP_INPUTS_MORE +
                       NAME_MOST * SL_JSON_ESCAPE_MAX + 1024 <
                   SL_KINETO_SCRATCH,
               "an operator's text fits");

char *sl_kineto_put_detail(const struct sl_kineto *k, char *at, uint32_t detail, int inputs)
{
    struct sl_op_detail d;
    size_t length = 0;
    const char *text = k->opt.details ? sl_intern_get(k->opt.details, detail, &length) : NULL;
    char *from;

    if (length > SL_OP_DETAIL_MOST || sl_op_detail_unpack(&d, text, length))
        return at;
    if (d.more_length)
        at = SL_JSON_LITERAL(sl_json_raw(at, d.more, d.more_length), ",");
    if (!inputs)
        return at;
    from = at;
    at = sl_op_inputs_put(at, d.inputs, d.inputs_length);
    if (at != from)
        *at++ = ',';
    return d.was_cut ? SL_JSON_LITERAL(at, "\"inputs cut\":true,") : at;
}

char *sl_kineto_op_text(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    size_t length = 0;
    const char *name = k->opt.intern ? sl_intern_get(k->opt.intern, ev->name, &length) : NULL;

    at = SL_JSON_LITERAL(at, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"");
    at = name ? sl_json_escape(at, name, length < NAME_MOST ? length : NAME_MOST)
              : SL_JSON_LITERAL(at, "unknown");
    at = sl_json_u32(SL_JSON_LITERAL(at, "\",\"pid\":"), k->meta.pid);
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"tid\":"), ev->thread);
    at = SL_JSON_LITERAL(at, ",\"args\":{");
    at = sl_kineto_put_detail(k, at, ev->inputs, 1);
    return SL_JSON_LITERAL(at, "\"External id\":");
}

static uint64_t comms_id_of(const struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_op_detail d;
    size_t length = 0;
    const char *text =
        ev->comm.seq && k->opt.details ? sl_intern_get(k->opt.details, ev->inputs, &length) : NULL;
    struct sl_collective_args told;

    if (length > SL_OP_DETAIL_MOST || sl_op_detail_unpack(&d, text, length))
        return 0;
    told = sl_collective_args_of(&d);
    return sl_comms_id(&told, ev->comm.seq);
}

void sl_kineto_op(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_text *text = sl_kineto_text_for(k, (uint64_t)ev->name << 32 | ev->kind,
                                              (uint64_t)ev->inputs << 32 | ev->thread, ev);
    uint64_t id = ev->u.row.record_function;
    char *at = sl_kineto_row_begin(k, text);

    at = sl_kineto_u32(k, at, (uint32_t)id);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"Record function id\":"), id);
    if (ev->u.row.sequence >= 0) {
        at = SL_JSON_LITERAL(at, ",\"Fwd thread id\":");
        at = sl_json_u32(at, ev->forward_thread);
        at = SL_JSON_LITERAL(at, ",\"Sequence number\":");
        at = sl_kineto_field(k, at, sl_json_i64(at, ev->u.row.sequence));
    }
    if (ev->comm.seq || ev->comm.batch) {
        k->comm[id & (SL_KINETO_COMMS - 1)] =
            (struct sl_kineto_comm){(uint32_t)id, ev->comm.seq, ev->comm.batch, comms_id_of(k, ev)};
        at = sl_kineto_put_comm(k, at, (uint32_t)id);
    }
    if (ev->flags & SL_EVF_ASYNC)
        at = SL_JSON_LITERAL(at, ",\"async\":true");
    if (ev->flags & SL_EVF_CUT_START)
        at = SL_JSON_LITERAL(at, ",\"cut start\":true");
    if (ev->flags & SL_EVF_CUT_END)
        at = SL_JSON_LITERAL(at, ",\"cut end\":true");
    sl_kineto_row_end(k, sl_kineto_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

char *sl_kineto_put_comm(struct sl_kineto *k, char *at, uint32_t op)
{
    const struct sl_kineto_comm *comm = &k->comm[op & (SL_KINETO_COMMS - 1)];

    if (comm->op != op)
        return at;
    if (comm->seq)
        at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"Seq\":"), comm->seq);
    if (comm->comms_id)
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"Comms Id\":"), comm->comms_id);
    if (comm->batch)
        at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"Batch\":"), comm->batch);
    return at;
}

char *sl_kineto_put_external(struct sl_kineto *k, char *at, uint32_t op)
{
    return sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"External id\":"), op);
}

char *sl_kineto_put_node(struct sl_kineto *k, char *at, uint64_t node)
{
    const struct sl_capture *by = sl_captures_find(&k->captures, node);
    size_t length = 0;
    const char *name, *work;

    at = sl_json_u64(SL_JSON_LITERAL(at, ",\"graph node id\":"), node);
    work = by && by->work ? sl_intern_get(k->opt.intern, by->work, &length) : NULL;
    if (work && length <= LAUNCHED_MOST)
        at = sl_json_raw(at, work, length);
    name = by && by->name ? sl_intern_get(k->opt.intern, by->name, &length) : NULL;
    if (!name)
        return at;
    at = SL_JSON_LITERAL(at, ",\"captured_by\":\"");
    at = sl_json_escape(at, name, length < NAME_MOST ? length : NAME_MOST);
    at = SL_JSON_LITERAL(at, "\",\"captured_by_record_function_id\":");
    at = sl_json_u64(at, by->handle);
    if (by->sequence < 0)
        return at;
    at = SL_JSON_LITERAL(at, ",\"captured_by_sequence_number\":");
    return sl_json_i64(at, by->sequence);
}

/* Returns the place in the program from which a call was made. Only calls in a running job have a
 * place. */
static struct sl_op_place place_of(const struct sl_kineto *k, const struct sl_event *call)
{
    return sl_op_place_of(k->opt.details ? k->opt.intern : NULL, call);
}

void sl_kineto_expect(struct sl_kineto *k, const struct sl_event *call)
{
    struct sl_kineto_call *to = &k->call[call->correlation & (SL_KINETO_CALLS - 1)];

    if (!call->u.call.op)
        return;
    *to = (struct sl_kineto_call){call->correlation, call->u.call.op, place_of(k, call).collective};
}

char *sl_kineto_put_line(const struct sl_kineto *k, char *at, const struct sl_event *call)
{
    uint32_t line = place_of(k, call).line;
    size_t length = 0;
    const char *text = line ? sl_intern_get(k->opt.intern, line, &length) : NULL;

    if (!text || length > LINE_MOST)
        return at;
    at = SL_JSON_LITERAL(at, ",\"wait_at\":\"");
    return SL_JSON_LITERAL(sl_json_escape(at, text, length), "\"");
}

/* ---- collectives ---- */

void sl_kineto_launched(struct sl_kineto *k, const struct sl_event *ev)
{
    k->launched[ev->correlation & (SL_KINETO_COLLECTIVES - 1)] =
        (struct sl_kineto_collective){ev->correlation, ev->u.collective.number, ev->name,
                                      ev->u.collective.what, ev->u.collective.sizes};
}

/* Returns whether a call, or a GPU operation that the call has launched, does the work. */
static int does(const struct sl_kineto *k, const struct sl_kineto_collective *work,
                const struct sl_event *ev)
{
    const struct sl_shape *shape;
    const char *name;

    if (ev->kind == SL_EV_MEMCPY || ev->kind == SL_EV_MEMSET)
        return ev->kind == SL_EV_MEMCPY && work->what == SL_LAUNCH_COPIES;
    if (ev->kind != SL_EV_KERNEL)
        return 1;
    if (work->what != SL_LAUNCH_NCCL_KERNELS)
        return work->what == SL_LAUNCH_KERNELS;
    shape = k->opt.shapes ? sl_shape_get(k->opt.shapes, ev->shape) : NULL;
    name = shape ? sl_intern_get(k->opt.intern, shape->name, NULL) : NULL;
    return name && strstr(name, "nccl") && strstr(name, "Kernel");
}

char *sl_kineto_put_launched(const struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    const struct sl_kineto_collective *c =
        &k->launched[ev->correlation & (SL_KINETO_COLLECTIVES - 1)];
    size_t length = 0;
    const char *text;

    if (!ev->correlation || c->correlation != ev->correlation || !does(k, c, ev))
        return at;
    text = sl_intern_get(k->opt.intern, c->text, &length);
    if (!text || length > LAUNCHED_MOST)
        return at;
    /* The row of a kernel that PyTorch has launched tells the sizes in PyTorch's words. */
    if (ev->kind == SL_EV_KERNEL && k->collective && c->sizes <= length) {
        text += c->sizes;
        length -= c->sizes;
    }
    at = sl_json_raw(at, text, length);
    if (c->number == UINT64_MAX)
        return at;
    at = c->what == SL_LAUNCH_COPIES ? SL_JSON_LITERAL(at, ",\"NCCL CE number\":")
                                     : SL_JSON_LITERAL(at, ",\"NCCL number\":");
    return sl_json_u64(at, c->number);
}
